"""The parameters and gradients that Flax's TrainState does not take, or has elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from flaxoptim_compat.legacy.names.linen_instead_of_nn import LINEN_INSTEAD_OF_NN
from flaxoptim_compat.migrate.optimizers.use import Use, gradients_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.objects import External, Instance
from flaxoptim_compat.migrate.values.points_to import PointsTo
from flaxoptim_compat.observation.places import ARRAY, OBJECT, WHOLE


def why_refused(points_to: PointsTo, use: Use) -> str:
    """Why Flax's TrainState does not take what ``create`` is given, as far as is seen; or "".

    Args:
      points_to: what is known of the program.
      use: the call of ``create``.
    """
    if isinstance(use.node, ast.Call) and not _is_understood(use.node):
        return "The arguments of `create` are not written out."
    match use.node:
        case ast.Call(func=ast.Attribute(value=maker)) if points_to.is_unknown(maker):
            return "The text does not show each definition that `create` is called on."
    shown = points_to.evidence.kinds(use.sites)
    if shown is not None:
        found = {ARRAY: "single array", OBJECT: "object that does not know what `in` means"}
        return next((_REFUSED.format(found[each]) for each in found if each in shown), "")
    for each in targets_of(use):
        if points_to.may_be_one(each):
            return _REFUSED.format("single array")
        objects = points_to.values(each)
        for of in (one.of for one in objects if isinstance(one, Instance)):
            return _MAY_REFUSE.format(of.node.name)
    return ""


def _is_understood(create: ast.Call) -> bool:
    """True if a call of ``create`` shows which arguments are the parameters and the focus."""
    # By position they are the first ones of these.
    names = [*("target", "focus", "")[: len(create.args)], *(each.arg for each in create.keywords)]
    is_starred = any(isinstance(each, ast.Starred) for each in create.args)
    return not is_starred and sorted(map(str, names)) in (["target"], ["focus", "target"])


def has_whole_numbers(points_to: PointsTo, use: Use) -> bool:
    """True if an optimizer is created for whole numbers, seen in a run or written there."""
    shown = points_to.evidence.kinds(use.sites)
    if shown is not None:
        return WHOLE in shown
    return any(
        _is_whole(points_to, _assigned_once(points_to, use.document, use.node, each))
        for each in targets_of(use)
    )


WHOLE_NUMBERS = "A TrainState keeps whole numbers whole, and has some here: write 1.0 for 1."


def targets_of(use: Use) -> list[ast.expr]:
    """The parameters that a call of ``create`` is given: one expression, or none that is seen."""
    create = use.node
    if not isinstance(create, ast.Call):
        return []
    by_position = [each for each in create.args[:1] if not isinstance(each, ast.Starred)]
    return [*by_position, *(each.value for each in create.keywords if each.arg == "target")]


def _is_whole(points_to: PointsTo, node: ast.expr | None) -> bool:
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int) and not isinstance(value, bool)
        case ast.UnaryOp(operand=inner):
            return _is_whole(points_to, inner)
        case ast.Dict(values=entries) | ast.List(elts=entries) | ast.Tuple(elts=entries):
            return any(_is_whole(points_to, each) for each in entries)
        case ast.Call(args=[ast.List() | ast.Tuple() as given], keywords=[]):
            makers = points_to.package_names(node.func)
            return bool(makers & _ARRAYS) and _is_whole(points_to, given)
    return False


_ARRAYS = {f"{module}.{name}" for module in ("numpy", "jax.numpy") for name in ("array", "asarray")}


_REFUSED = "Flax's TrainState takes no {} as `params`; the one of `to_train_state` does."
_MAY_REFUSE = (
    "Flax's TrainState may take no object of `{}` as `params`; the one of `to_train_state` does."
)


# Flax's traversals went into such a model: `/dense/kernel`. The labels that optax is given name its
# field as well: `/params/dense/kernel`. With a dot behind, so that `flax.nnx` is none of them.
_MODULES = ("flax.nn.", "flax.deprecated.", "flaxoptim_compat.nn.")


def may_be_models(points_to: PointsTo, documents: Iterable[Document]) -> bool:
    """True if a file that can run with these files names what ``flax.nn`` makes models of.

    Args:
      points_to: what is known of the program.
      documents: the files that deal with the parameters.
    """
    together = map(points_to.processes.together_with, documents)
    return any(_names_flax_nn(points_to, each) for each in frozenset().union(*together))


def _names_flax_nn(points_to: PointsTo, document: Document) -> bool:
    for statement in document.imports:
        origin = statement.module or "" if isinstance(statement, ast.ImportFrom) else ""
        names = (f"{origin}.{alias.name}".lstrip(".") for alias in statement.names)
        if any(map(_is_of_models, names)):
            return True
    return any(
        isinstance(each, External) and _is_of_models(each.name)
        for node in document.of_kind(ast.Attribute)
        for each in points_to.values(node)
    )


def _is_of_models(name: str) -> bool:
    # The others, such as flax.nn.softmax, are functions of arrays.
    return name.startswith(_MODULES) and name.rpartition(".")[2] in {*LINEN_INSTEAD_OF_NN, "*"}


def may_be_partial(points_to: PointsTo, step: Use) -> bool:
    """True if a step is given a dict that is written out, which may lack some parameters.

    Args:
      points_to: what is known of the program.
      step: the call of ``apply_gradient``.
    """
    call = step.node
    assert isinstance(call, ast.Call)
    return any(
        isinstance(_assigned_once(points_to, step.document, call, each), ast.Dict)
        for each in gradients_of(call)
    )


def _assigned_once(
    points_to: PointsTo, document: Document, place: ast.AST, node: ast.expr
) -> ast.expr:
    """The expression that a variable is assigned, if one statement of its scope assigns it.

    Where a value is unpacked into several names, it is an entry of the value.

    Args:
      points_to: what is known of the program.
      document: the file.
      place: where it is asked for.
      node: the variable; any other expression is returned as it is.
    """
    if not isinstance(node, ast.Name):
        return node
    scopes, name = points_to.scopes[document], node.id
    scope = scopes.binder(place, name)
    # A parameter, an import and a pattern bind it as well.
    if scope is None or len(scopes.of[scope].bindings[name]) != 1:
        return node
    stored = [
        document.statement(each)
        for each in ast.walk(scope)
        if isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Store)
        if scopes.binder(each, name) is scope
    ]
    match stored:
        case [ast.Assign(targets=[ast.Name(id=bound), *_], value=value)] if bound == name:
            return value
        case [ast.Assign(targets=[ast.Tuple(elts=targets)], value=value)]:
            names = [getattr(each, "id", "") for each in targets]
            if name in names and not any(isinstance(each, ast.Starred) for each in targets):
                entry = ast.Subscript(value, ast.Constant(names.index(name)), ast.Load())
                return ast.copy_location(entry, value)
    return node
