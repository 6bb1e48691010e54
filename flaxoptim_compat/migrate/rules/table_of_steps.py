"""FOC205 and FOC206: steps, ``apply_gradient(grads)``, with and without hyper-parameters."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from itertools import chain

from flaxoptim_compat.migrate.names.dotted import arguments_of
from flaxoptim_compat.migrate.optimizers.found_place import FoundPlace
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.recognition import Asked, Recognises
from flaxoptim_compat.migrate.optimizers.steps import step_edits
from flaxoptim_compat.migrate.optimizers.use import Use, gradients_of, is_simple, is_spelled_out
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.values.objects import Optimizer

RULES = (
    Rule("FOC205", "apply-gradient"),
    Rule("FOC206", "rate-of-a-step"),
)


def _use(asked: Asked) -> Use:
    call = asked.call
    if call is None:
        return asked.use("FOC205", NOT_CALLED.format(asked.node.attr))
    names = [each.arg for each in call.keywords]
    overrides = tuple(name for name in names if name not in (None, "grads"))
    problem = ""
    if not is_spelled_out(call):
        problem = "The arguments of the step are not written out one by one."
    elif len(call.args) + names.count("grads") != 1 or "hyper_params" in names:
        problem = "The step gets hyper-parameters as an object: give each by its name."
    elif overrides and not is_simple(asked.node.value):
        problem = NEEDED_TWICE
    elif overrides and _order_matters(asked, call):
        problem = (
            "The gradients may change the hyper-parameters of the step: name their values before."
        )
    code = "FOC206" if overrides or problem else "FOC205"
    return asked.use(code, problem, call, overrides=overrides, bridge="returns")


def _optimize(asked: Asked) -> Use:
    return asked.use("FOC205", _RETURNS_MORE, asked.call)


# Problems of other rules too, about methods of optimizers.
NOT_CALLED = "`{}` is not called where it stands: call the method there."
NEEDED_TWICE = "The optimizer has no name, and is needed twice: assign it to a variable before."
_RETURNS_MORE = (
    "`optimize` returns the loss as well: write `loss, grads = jax.value_and_grad(...)(...)` and"
    " `apply_gradient(grads)`."
)


def _order_matters(asked: Asked, step: ast.Call) -> bool:
    """True if computing the gradients may change hyper-parameters that optax gets earlier."""
    values = [each.value for each in step.keywords if each.arg != "grads"]
    inside = chain.from_iterable(map(ast.walk, gradients_of(step)))
    acts = any(isinstance(each, _ACT) and not _is_of_jax(asked, each) for each in inside)
    return acts and not all(_stays(asked.document, each) for each in values)


def _is_of_jax(asked: Asked, node: ast.AST) -> bool:
    """True for a call of a function of jax, such as ``pmean``, that is given no function."""
    if not isinstance(node, ast.Call):
        return False
    names = asked.points_to.package_names(node.func)
    calls = (each for each in arguments_of(node) if any(asked.points_to.functions(each)))
    return bool(names) and all(each.startswith("jax.") for each in names) and not any(calls)


_ACT = (ast.Await, ast.Call, ast.NamedExpr, ast.Yield, ast.YieldFrom)


def _stays(document: Document, node: ast.expr) -> bool:
    """True if an expression keeps its value, whatever is called before."""
    if not isinstance(node, ast.Name):
        return isinstance(node, ast.Constant)
    shared = [each.names for each in document.of_kind(ast.Global)]
    shared += [each.names for each in document.of_kind(ast.Nonlocal)]
    return not any(node.id in each for each in shared)


RECOGNISES = Recognises(
    {
        Optimizer: {
            "apply_gradient": _use,
            "optimize": _optimize,
        }
    }
)


# The name of the code in a sentence, and its replacement.
_TEXTS = {
    "FOC205": ("a step of an optimizer", ".apply_gradients(grads=...)"),
    "FOC206": (
        "a step with hyper-parameters of its own",
        "opt_state.hyperparams, set before the step",
    ),
}


def find(code: str, reading: Reading) -> Iterator[FoundPlace]:
    """Each step with gradients only, or each with hyper-parameters too."""
    yield from findings(reading, code, *_TEXTS[code], functools.partial(step_edits, reading))
