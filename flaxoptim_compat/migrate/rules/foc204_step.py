"""FOC204: ``optimizer.state.step`` is ``state.step``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit, Fragments
from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optimizers.fragments import owner, replaced
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.recognition import Asked, Recognises
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.values.objects import Optimizer

RULE = Rule(
    code="FOC204",
    name="step",
    summary="the number of steps done, `optimizer.state.step`, or `state[0].step` of several",
    what="`--to optax` writes `.step`, and `jnp.asarray(state.step, jnp.int32)` where the "
    "program asks the step for something, such as its dtype, or divides by it, which Python "
    "refuses for its own 0. `--to shim` leaves it.",
    why="Both count from 0, and one more with every step. A TrainState starts with a "
    "Python number; flax.optim had an int32 array.",
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
        apply_fn=None,
        tx=optax.sgd(0.1),
        params=params,
    )
    return int(optimizer.step)
""",
        ),
    ),
)


def _use(asked: Asked) -> Use | None:
    parents = asked.document.parents
    step = parents[asked.node]
    if isinstance(step, ast.Subscript) and _is_integer(step.slice):
        # Each part of a MultiOptimizer has a state, and all count alike.
        step = parents[step]
    match step:
        case ast.Attribute(attr="step", ctx=ast.Load()):
            is_shape = (
                isinstance(parents[step], ast.Attribute) and "eval_shape" in asked.document.text
            )
            return asked.use(RULE.code, _SHAPE if is_shape else "", step)
    return None


_SHAPE = "It may be asked of a shape, and a TrainState starts with a number: drop what asks."
RECOGNISES = Recognises({Optimizer: {"state": _use}})


def _needs_array(document: Document, step: ast.expr) -> bool:
    """Whether what is done with the step fails for the Python 0 that a TrainState starts with."""
    parent = document.parents[step]
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        name = parent.targets[0].id
        nodes = ast.walk(document.function(parent))
        loaded = (each for each in nodes if isinstance(each, ast.Name) and each.id == name)
        return any(_fails_for_0(document.parents[each], each) for each in loaded)
    return _fails_for_0(parent, step)


def _fails_for_0(parent: ast.AST, step: ast.AST) -> bool:
    match parent:
        case ast.Attribute():
            return True
        case ast.Subscript(value=array, slice=index):
            # What is replicated is an array by then.
            return array is step and not _is_integer(index)
        case ast.BinOp(op=ast.Pow(), left=base):
            return base is step
        case ast.BinOp(left=ast.Constant(value=str()) | ast.JoinedStr()):
            return False
        case ast.BinOp(op=ast.Div() | ast.FloorDiv() | ast.Mod(), right=divisor):
            return divisor is step
    return False


def _is_integer(index: ast.expr) -> bool:
    return isinstance(index, ast.Constant) and isinstance(index.value, int)


def find(reading: Reading) -> Iterator[Finding]:
    """Each place where the step is read."""

    def edits_of(use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
        del unit
        assert isinstance(use.node, ast.Attribute)
        state = part = use.node.value
        if isinstance(part, ast.Subscript):
            state = part.value
        assert isinstance(state, ast.Attribute)
        if _needs_array(reading.document, use.node):
            asarray = imports.name_of("jax.numpy:asarray", use.node)
            int32 = imports.name_of("jax.numpy:int32", use.node)
            step: Fragments = (*owner(reading, state.value), ".step")
            return (replaced(reading, use.node, f"{asarray}(", *step, f", {int32})"),)
        # What stands before `.state`, and around it, may have brackets, which belong to no node.
        text, end = reading.document.text, reading.document.span(state)[1]
        dropped = [Edit(text.rindex(".", 0, end - len("state")), end, ("",))]
        if part is not state:
            dropped.append(Edit(text.index("[", end), reading.document.span(part)[1], ("",)))
        return tuple(dropped)

    yield from findings(reading, RULE.code, "the step of an optimizer", ".step", edits_of)
