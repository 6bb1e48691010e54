"""FOC211: ``optimizer.replicate()`` and ``optimizer.unreplicate()``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit, Fragments
from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optimizers.fragments import replaced, span, value
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.recognition import Asked, Recognises
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.values.known_names import axis_of
from flaxoptim_compat.migrate.values.objects import Optimizer

RULE = Rule(
    code="FOC211",
    name="replicate-method",
    summary="an optimizer on every device by its own method, `optimizer.replicate()`",
    what="`--to optax` writes `flax.jax_utils.replicate(state)`, and `unreplicate` likewise. An "
    "optimizer that replicated itself averaged its gradients over the devices, which no TrainState "
    'does: its steps get `jax.lax.pmean(grads, "batch")`, with the axis that `replicate` was '
    "given. `--to shim` leaves both.",
    why="It is what flax.optim called itself. Without the mean the training would go on, with "
    "other numbers on each device.",
    refuses="Where the axis is not written out, and where a step is done by optimizers with and "
    "without copies: `optimizer = optimizer.replicate()` counts from there on, but not in a loop "
    "or `try`, nor for functions inside. Where copies are stored or restored: of an optimizer the "
    "first one was. `flax.jax_utils.replicate(optimizer)` has nothing to do with "
    "this rule: it averages nothing.",
    examples=(
        Example(
            before="""\
import jax
from flax import optim


def train_step(optimizer, batch):
    grads = jax.grad(lambda params: (params @ batch).sum())(optimizer.target)
    return optimizer.apply_gradient(grads)


def train(params, batches):
    optimizer = optim.Momentum(0.1).create(params)
    optimizer = optimizer.replicate()
    p_train_step = jax.pmap(train_step, axis_name="batch")
    for batch in batches:
        optimizer = p_train_step(optimizer, batch)
    return optimizer.unreplicate().target
""",
            optax="""\
import jax
import optax
from flax import jax_utils
from flax.training import train_state


def train_step(optimizer, batch):
    grads = jax.grad(lambda params: (params @ batch).sum())(optimizer.params)
    return optimizer.apply_gradients(grads=jax.lax.pmean(grads, "batch"))


def train(params, batches):
    optimizer = train_state.TrainState.create(
        apply_fn=None, tx=optax.sgd(0.1, momentum=0.9), params=params
    )
    optimizer = jax_utils.replicate(optimizer)
    p_train_step = jax.pmap(train_step, axis_name="batch")
    for batch in batches:
        optimizer = p_train_step(optimizer, batch)
    return jax_utils.unreplicate(optimizer).params
""",
        ),
    ),
)


def _use(asked: Asked) -> Use:
    call = asked.call
    if call is None:
        return asked.use(RULE.code, "The method is not called where it stands.")
    problem = ""
    if asked.node.attr == "replicate":
        problem = "" if axis_of(call) else "Its axis is not written out."
    elif call.args or call.keywords:
        problem = "Its arguments are not those of flax.optim."
    return asked.use(RULE.code, problem, call)


RECOGNISES = Recognises({Optimizer: {"replicate": _use, "unreplicate": _use}})


def find(reading: Reading) -> Iterator[Finding]:
    """Each call of one of the two."""

    def edits_of(use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
        del unit
        call = use.node
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        function = imports.name_of(f"flax.jax_utils:{call.func.attr}", call)
        by_name = [each.value for each in call.keywords if each.arg == "devices"]
        devices: Fragments = ()
        for given in [*call.args[:1], *by_name]:
            devices = (", devices=", *value(reading, given))
        receiver = span(reading, call.func.value)
        return (replaced(reading, call, f"{function}(", receiver, *devices, ")"),)

    what = "copies of an optimizer on every device"
    instead = "flax.jax_utils, and jax.lax.pmean in the steps"
    yield from findings(reading, RULE.code, what, instead, edits_of)
