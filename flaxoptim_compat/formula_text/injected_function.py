"""One function of optax with some of its hyper-parameters injected, which needs no lambda."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from flaxoptim_compat import syntax
from flaxoptim_compat.formula_text.stages import ParametersOf

# inject_hyperparams makes neither hyper-parameters nor schedules of these.
_LEFT_ALONE = (bool, str, type(None))


def injected_function(
    body: ast.expr,
    starts: Mapping[str, ast.expr],
    static: Mapping[str, ast.expr],
    parameters_of: ParametersOf,
) -> ast.expr | None:
    """``optax.inject_hyperparams(optax.adam, static_args=...)(...)`` for one call of optax.

    Whatever is not injected is a static argument, also where the call leaves it to its default: as
    an array it would have fewer digits, and ``1 - b2`` of a float32 array has lost four more.

    Args:
      body: the expression that is injected.
      starts: the hyper-parameters that are injected, and what they start with.
      static: other names in the expression, and what they stand for.
      parameters_of: the parameters of a function.

    Returns:
      None if the expression is something else than such a call, or if a hyper-parameter would have
      another name in ``opt_state.hyperparams`` than it has.
    """
    match body:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="optax"), attr=name)):
            defaults = parameters_of(f"optax.{name}")
        case _:
            return None
    given = dict(zip(defaults, body.args, strict=False))
    given |= {str(each.arg): each.value for each in body.keywords}
    values: dict[str, ast.expr] = {}
    for parameter, value in given.items():
        name_in_body = value.id if isinstance(value, ast.Name) else ""
        if (name_in_body in starts or parameter in starts) and name_in_body != parameter:
            return None
        if not name_in_body and syntax.names_in(value) & {*starts, *static}:
            return None
        values[parameter] = {**static, **starts}.get(name_in_body, value)
    if not starts.keys() <= values.keys():
        return None
    kept = [
        ast.Constant(each)
        for each, default in defaults.items()
        if each not in starts and not _is_left_alone(values.get(each, ast.Constant(default)))
    ]
    names: ast.expr = kept[0] if len(kept) == 1 else ast.Tuple([*kept])
    function = syntax.called(
        "optax.inject_hyperparams", body.func, **({"static_args": names} if kept else {})
    )
    return syntax.called(function, **values)


def _is_left_alone(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, _LEFT_ALONE)
