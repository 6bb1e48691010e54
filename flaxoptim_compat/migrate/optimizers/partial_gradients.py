"""Steps that are given gradients of those parameters alone that an optimizer moves.

A MultiOptimizer never looked at the others, and one with a ``focus`` is one. Optax wants a tree
like the parameters.
"""

from __future__ import annotations

import ast

from flaxoptim_compat.migrate.optimizers.hyper_params_in_code import assigned_once
from flaxoptim_compat.migrate.optimizers.targets import targets_of
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use, gradients_of
from flaxoptim_compat.migrate.values.points_to import PointsTo


def may_be_partial(points_to: PointsTo, unit: Unit, step: Use) -> bool:
    """Whether a step may be given gradients of some parameters only.

    Args:
      points_to: what is known of the program.
      unit: the optimizers that it may be a step of.
      step: the call of ``apply_gradient``.
    """
    call = step.node
    assert isinstance(call, ast.Call)
    given = gradients_of(call)
    if not given:
        return False
    grads = assigned_once(points_to, step.document, call, given[0])
    if isinstance(grads, ast.Dict):
        creates = [each for each in unit.uses if each.code == "FOC202"]
        targets = [
            assigned_once(points_to, each.document, each.node, target)
            for each in creates
            for target in targets_of(each)
        ]
        return not targets or not all(_has_all(grads, each) for each in targets)
    return any(map(_is_of_integers, ast.walk(grads)))


def _has_all(grads: ast.Dict, target: ast.expr) -> bool:
    """Whether gradients that are written out have the entries of parameters that are, too."""
    if not isinstance(target, ast.Dict):
        return False
    mine, its = _entries(grads), _entries(target)
    return mine.keys() == its.keys() and all(
        not (isinstance(each, ast.Constant) and each.value is None)
        and (not isinstance(each, ast.Dict) or _has_all(each, its[name]))
        for name, each in mine.items()
    )


def _entries(node: ast.Dict) -> dict[object, ast.expr]:
    keys = (each.value if isinstance(each, ast.Constant) else each for each in node.keys)
    return dict(zip(keys, node.values, strict=True))


def _is_of_integers(node: ast.AST) -> bool:
    """Whether it is ``jax.grad(..., allow_int=True)``, whose gradients of integers are float0."""
    return isinstance(node, ast.Call) and any(each.arg == "allow_int" for each in node.keywords)
