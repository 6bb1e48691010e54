"""Where parameters may be a ``flax.nn.Model``, whose paths are others in a TrainState.

Flax's traversals went into the model: ``/dense/kernel``. The labels that optax is given name its
field as well: ``/params/dense/kernel``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.points_to import PointsTo

_PACKAGES = ("flax", "flaxoptim_compat")
_OF_NN = ("deprecated", "nn")


def may_be_models(points_to: PointsTo, documents: Iterable[Document]) -> bool:
    """Whether anything that can run with these files names ``flax.nn``.

    Args:
      points_to: what is known of the program.
      documents: the files that deal with the parameters.
    """
    together = map(points_to.processes.together_with, documents)
    return any(map(_names_flax_nn, frozenset().union(*together)))


def _names_flax_nn(document: Document) -> bool:
    for node in document.imports:
        origin = node.module or "" if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            parts = f"{origin}.{alias.name}".strip(".").split(".")
            if parts[0] in _PACKAGES and parts[1:2] and parts[1] in _OF_NN:
                return True
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in _OF_NN
        and isinstance(node.value, ast.Name)
        and node.value.id in _PACKAGES
        for node in document.nodes
    )
