"""FOC207: ``optimizer.replace(target=params)`` is ``state.replace(params=params)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit, Fragments
from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.editing.surroundings import surroundings_of
from flaxoptim_compat.migrate.optimizers.fragments import laid_out, replaced, span, value
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.rules.rule import Example, Rule

RULE = Rule(
    code="FOC207",
    name="replace",
    summary="an optimizer with other parameters or another step, `optimizer.replace(target=...)`",
    what="`--to optax` writes `.replace(params=...)`. Of Adam, AdaBelief, LAMB and "
    "Adafactor whose rate is built in, `.replace(state=optimizer.state.replace(step=n))` sets "
    "the step of the TrainState and the counts in the state of optax. Any other `state=` is "
    "replaced in the optimizer that the TrainState stands for: FOC213. `--to shim` leaves it.",
    why="Optax counts steps by itself, for the bias correction of Adam and for schedules. "
    "In flax.optim there was one step, so all of them have to follow.",
    refuses="Where what is replaced is not written out.",
    examples=(
        Example(
            before="""\
from flax import optim


def resume(params, pretrained, step):
    opt = optim.Adam(1e-3).create(params)
    opt = opt.replace(target=pretrained)
    return opt.replace(state=opt.state.replace(step=step))
""",
            optax="""\
import jax.numpy as jnp
import optax
from flax.training import train_state


def resume(params, pretrained, step):
    opt = train_state.TrainState.create(
        apply_fn=None,
        tx=optax.adam(1e-3),
        params=params,
    )
    opt = opt.replace(params=pretrained)
    return opt.replace(
        step=jnp.asarray(step, jnp.int32),
        opt_state=optax.tree_utils.tree_set(opt.opt_state, count=jnp.asarray(step, jnp.int32)),
    )
""",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Each call of ``replace``."""

    def edits_of(use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
        del unit
        call = use.node
        if not isinstance(call, ast.Call):
            return ()  # the inner one, of the state; the outer one speaks for it
        arguments: list[Fragments] = []
        for keyword in call.keywords:
            if keyword.arg == "target":
                arguments.append(("params=", *value(reading, keyword.value)))
            else:
                arguments += _step(reading, call, keyword.value, imports)
        if len(arguments) == len(call.keywords) == 1:
            start = reading.document.span(call.keywords[0])[0]
            return (Edit(start, start + len("target"), ("params",)),)
        text = laid_out(
            reading,
            surroundings_of(reading.document, call),
            (span(reading, call.func), "("),
            arguments,
            (")",),
        )
        return (replaced(reading, call, *text),)

    yield from findings(
        reading, RULE.code, "fields of an optimizer are replaced", ".replace(params=...)", edits_of
    )


def _step(
    reading: Reading, call: ast.Call, state: ast.expr, imports: ImportPlan
) -> list[Fragments]:
    """``step=n`` and the counts of optax in place of ``state=x.state.replace(step=n)``."""
    assert isinstance(call.func, ast.Attribute) and isinstance(state, ast.Call)
    optax = imports.name_of("optax", call)
    int32 = imports.name_of("jax.numpy:int32", call)
    asarray = imports.name_of("jax.numpy:asarray", call)
    step: Fragments = (f"{asarray}(", span(reading, state.keywords[0].value), f", {int32})")
    receiver = span(reading, call.func.value)
    setting = (f"opt_state={optax}.tree_utils.tree_set(", receiver, ".opt_state, count=")
    return [("step=", *step), (*setting, *step, ")")]
