"""Where parameters may be a ``flax.nn.Model``, whose paths are others in a TrainState.

Flax's traversals went into the model: ``/dense/kernel``. The labels that optax is given name its
field as well: ``/params/dense/kernel``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.objects import External
from flaxoptim_compat.migrate.values.points_to import PointsTo

# With a dot behind the names, so that `flax.nnx` is none of them.
_MODULES = ("flax.nn.", "flax.deprecated.", "flaxoptim_compat.nn.")


def may_be_models(points_to: PointsTo, documents: Iterable[Document]) -> bool:
    """Whether anything that can run with these files names ``flax.nn``.

    Args:
      points_to: what is known of the program.
      documents: the files that deal with the parameters.
    """
    together = map(points_to.processes.together_with, documents)
    return any(_names_flax_nn(points_to, each) for each in frozenset().union(*together))


def _names_flax_nn(points_to: PointsTo, document: Document) -> bool:
    for statement in document.imports:
        origin = statement.module or "" if isinstance(statement, ast.ImportFrom) else ""
        names = (f"{origin}.{alias.name}.".lstrip(".") for alias in statement.names)
        if any(name.startswith(_MODULES) for name in names):
            return True
    return any(
        isinstance(each, External) and f"{each.name}.".startswith(_MODULES)
        for node in document.nodes
        if isinstance(node, ast.Attribute)
        for each in points_to.legacy(node)
    )
