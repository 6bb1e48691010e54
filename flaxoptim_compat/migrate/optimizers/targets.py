"""The parameters that Flax's TrainState does not take, or has elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from flaxoptim_compat.legacy.names.linen_instead_of_nn import LINEN_INSTEAD_OF_NN
from flaxoptim_compat.migrate.names.dotted import argument
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.objects import External, Instance
from flaxoptim_compat.migrate.values.points_to import PointsTo
from flaxoptim_compat.observation.places import ARRAY, OBJECT


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
    target = argument(use.node, 0, "target") if isinstance(use.node, ast.Call) else None
    if target is None:
        return ""
    if points_to.may_be_one(target):
        return _REFUSED.format("single array")
    for of in (each.of for each in points_to.values(target) if isinstance(each, Instance)):
        return _MAY_REFUSE.format(of.node.name)
    return ""


def _is_understood(create: ast.Call) -> bool:
    """True if a call of ``create`` shows which arguments are the parameters and the focus."""
    # By position they are the first ones of these.
    names = [*("target", "focus", "")[: len(create.args)], *(each.arg for each in create.keywords)]
    is_starred = any(isinstance(each, ast.Starred) for each in create.args)
    return not is_starred and sorted(map(str, names)) in (["target"], ["focus", "target"])


_MAY_REFUSE = (
    "Flax's TrainState may take no object of `{}` as `params`; the one of `to_train_state` does."
)
_REFUSED = "Flax's TrainState takes no {} as `params`; the one of `to_train_state` does."


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
