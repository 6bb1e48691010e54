"""Optimizers of one array or number, which Flax's TrainState does not take."""

from __future__ import annotations

import ast

from flaxoptim_compat.migrate.optimizers.hyper_params_in_code import assigned_once
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.values.known_names import RETURN_ARRAYS
from flaxoptim_compat.migrate.values.objects import External
from flaxoptim_compat.migrate.values.points_to import PointsTo


def moves_one_array(points_to: PointsTo, use: Use) -> bool:
    """Whether an optimizer is evidently created for one array or number.

    ``apply_gradients`` looks for a name in the gradients, which an array refuses.

    Args:
      points_to: what is known of the program.
      use: the call of ``create``.
    """
    create = use.node
    if not isinstance(create, ast.Call):
        return False
    targets = [*create.args[:1], *(each.value for each in create.keywords if each.arg == "target")]
    return any(_is_one(points_to, assigned_once(points_to, use, each)) for each in targets)


def _is_one(points_to: PointsTo, node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=int() | float()):
            return True
        case ast.UnaryOp(operand=inner):
            return _is_one(points_to, inner)
        case ast.Call():
            makers = [each for each in points_to.values(node.func) if isinstance(each, External)]
            return any(each.name in RETURN_ARRAYS for each in makers)
    return False
