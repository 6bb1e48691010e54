"""Where a program names entries that only an optimizer has in a checkpoint."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flaxoptim_compat.migrate.names.dotted import arguments_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.mentions import ENTRY
from flaxoptim_compat.migrate.values.known_names import RESTORING
from flaxoptim_compat.migrate.values.objects import Stored
from flaxoptim_compat.migrate.values.points_to import PointsTo

_ENTRY_IN_TEXT = re.compile(ENTRY)
# What a TrainState calls them.
_TODAY = {"target": "params", "param_states": "opt_state"}


def stored_entries(points_to: PointsTo, document: Document) -> Iterator[tuple[ast.expr, str]]:
    """Where a file names entries that only an optimizer has in the nested dicts of a checkpoint.

    Args:
      points_to: what is known of the program.
      document: the file.

    Returns:
      For each place what a TrainState has there.
    """
    if not _ENTRY_IN_TEXT.search(document.text):
        return
    reads = False
    for node in document.nodes:
        for owner, key, today in _named(node):
            if Stored() in points_to.values(owner):
                yield key, today
        if isinstance(node, ast.Call):
            reads = reads or Stored() in points_to.legacy(node)
            if any(isinstance(each, ast.Dict) for each in arguments_of(node)):
                yield from _restored_dicts(points_to, node)
    for node in document.nodes if reads else ():
        match node:
            case ast.Constant(value=str(path)) if "/" in path:
                yield from ((node, _TODAY[name]) for name in _TODAY if name in path.split("/"))


def _restored_dicts(points_to: PointsTo, call: ast.Call) -> Iterator[tuple[ast.expr, str]]:
    """The keys of a dict into which a checkpoint is restored."""
    if points_to.package_names(call.func) & RESTORING:
        for given in arguments_of(call):
            for key in given.keys if isinstance(given, ast.Dict) else ():
                if isinstance(key, ast.Constant) and key.value in _TODAY:
                    yield key, _TODAY[key.value]


def _named(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr, str]]:
    """What is asked for an entry, the name of the entry, and what a TrainState has for it."""
    match node:
        case (
            ast.Subscript(value=owner, slice=ast.Constant(value=str(name)) as key)
            | ast.Compare(
                left=ast.Constant(value=str(name)) as key,
                ops=[ast.In() | ast.NotIn()],
                comparators=[owner],
            )
            | ast.Call(
                func=ast.Attribute(value=owner, attr="get" | "pop"),
                args=[ast.Constant(value=str(name)) as key, *_],
            )
        ):
            if name in _TODAY:
                yield owner, key, _TODAY[name]
            elif name == "step":
                match owner:
                    case ast.Subscript(value=owner, slice=ast.Constant(value="state")):
                        yield owner, key, "step"
