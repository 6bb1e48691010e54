"""FOC204: ``optimizer.state.step`` is ``state.step``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.recognition import Asked, Recognises
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.values.objects import Optimizer

RULE = Rule(
    code="FOC204",
    name="step",
    summary="the number of steps done, `optimizer.state.step`, or `state[0].step` of several",
    what="`--to optax` writes `.step`. A TrainState starts with a number of Python, where "
    "flax.optim had an int32 array. Where the program does more with the step, outside of what jax "
    "compiles, than to show it, to ask whether it is large or to take its `int`, or takes the "
    "leaves of an optimizer, the TrainState is made with that array: "
    "`TrainState.create(...).replace(step=jnp.asarray(0, jnp.int32))`. `--to shim` leaves it.",
    why="Both count from 0, and one more with every step. But `0.1 * step**-0.5` is a float32 of "
    "an array, and another number, or an error, of Python's 0.",
    refuses="",
    examples=(
        Example(
            before="""\
from flax import optim


def steps_done(params):
    optimizer = optim.GradientDescent(0.1).create(params)
    return int(optimizer.state.step)
""",
            optax="""\
import optax
from flax.training import train_state


def steps_done(params):
    optimizer = train_state.TrainState.create(
        apply_fn=None, tx=optax.sgd(0.1), params=params
    )
    return int(optimizer.step)
""",
        ),
        Example(
            before="""\
from flax import optim


def train(params, batches, rate_of):
    optimizer = optim.GradientDescent().create(params)
    for grads in batches:
        rate = rate_of(optimizer.state.step + 1)
        optimizer = optimizer.apply_gradient(grads, learning_rate=rate)
    return optimizer.target
""",
            optax="""\
import jax.numpy as jnp
import optax
from flax.training import train_state


def train(params, batches, rate_of):
    optimizer = train_state.TrainState.create(
        apply_fn=None,
        tx=optax.inject_hyperparams(optax.sgd)(learning_rate=0.0),
        params=params,
    ).replace(step=jnp.asarray(0, jnp.int32))
    for grads in batches:
        rate = rate_of(optimizer.step + 1)
        optimizer = optimizer.replace(
            opt_state=optax.tree_utils.tree_set(optimizer.opt_state, learning_rate=rate)
        ).apply_gradients(grads=grads)
    return optimizer.params
""",
        ),
    ),
)


def _use(asked: Asked) -> Use | None:
    parents = asked.document.parents
    step = parents[asked.node]
    match step:
        case ast.Subscript(slice=ast.Constant(value=int())):
            # Each part of a MultiOptimizer has a state, and all count alike.
            step = parents[step]
    match step:
        case ast.Attribute(attr="step", ctx=ast.Load()):
            return asked.use(RULE.code, node=step)
    return None


RECOGNISES = Recognises({Optimizer: {"state": _use}})


def find(reading: Reading) -> Iterator[Finding]:
    """Each place where the step is read."""

    def edits_of(use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
        del unit, imports
        assert isinstance(use.node, ast.Attribute)
        state = part = use.node.value
        if isinstance(part, ast.Subscript):
            state = part.value
        assert isinstance(state, ast.Attribute)
        # What stands before `.state`, and around it, may have brackets, which belong to no node.
        text, end = reading.document.text, reading.document.span(state)[1]
        dropped = [Edit(text.rindex(".", 0, end - len("state")), end, ("",))]
        if part is not state:
            dropped.append(Edit(text.index("[", end), reading.document.span(part)[1], ("",)))
        return tuple(dropped)

    yield from findings(reading, RULE.code, "the step of an optimizer", ".step", edits_of)
