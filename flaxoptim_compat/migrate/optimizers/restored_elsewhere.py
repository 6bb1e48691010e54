"""Optimizers that are restored from what others save, as by ``eval.py`` beside ``train.py``.

A checkpoint of flax.optim fits every optimizer of one class. One of a TrainState fits those with
the same stages and the same injected hyper-parameters, so both are rewritten in one way. And its
entries have other names, for those who read it as nested dicts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from flaxoptim_compat.migrate.names.dotted import arguments_of
from flaxoptim_compat.migrate.optimizers.definitions import (
    inner_definitions,
)
from flaxoptim_compat.migrate.optimizers.use import Sites, Use, sites_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.mentions import ENTRY
from flaxoptim_compat.migrate.values.known_names import RESTORING, SAVING
from flaxoptim_compat.migrate.values.objects import Optimizer, Site, StateDict, Stored
from flaxoptim_compat.migrate.values.points_to import PointsTo

_ENTRY_IN_TEXT = re.compile(rf"{ENTRY}|\[\s*['\"]state['\"]\s*\]")
# Entries of an optimizer, and their names in a TrainState.
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
    calls = document.of_kind(ast.Call)
    for node in (*document.of_kind(ast.Subscript), *document.of_kind(ast.Compare), *calls):
        for owner, key, today in _named(node):
            held = points_to.values(owner)
            # Of what may be the nested dict of this very optimizer FOC210 says it.
            if Stored() not in held or sites_of(held, StateDict):
                continue
            # Others have such an entry too; and of what is in it, its own place says it.
            is_state = isinstance(key, ast.Constant) and key.value == "state"
            is_taken_apart = isinstance(document.parents[node], ast.Subscript)
            if not is_state or (not is_taken_apart and _saves_one_alone(points_to)):
                yield key, today
    reads = any(Stored() in points_to.values(node) for node in calls)
    for node in document.of_kind(ast.Constant) if reads else ():
        match node.value:
            case str(path) if "/" in path:
                yield from ((node, _TODAY[name]) for name in _TODAY if name in path.split("/"))


def copies(made: ast.Dict) -> list[ast.expr]:
    """The dicts that are copied into one, ``**entries``."""
    return [value for key, value in zip(made.keys, made.values, strict=True) if key is None]


def _named(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr, str]]:
    """The dict that is asked for an entry, the key of the entry, and its name in a TrainState."""
    match node:
        case (
            ast.Subscript(value=owner, slice=key)
            | ast.Compare(left=key, ops=[ast.In() | ast.NotIn()], comparators=[owner])
            | ast.Call(func=ast.Attribute(value=owner, attr="get" | "pop"), args=[key, *_])
        ):
            name = getattr(key, "value", None)
            # Flat dicts have paths for keys.
            if isinstance(name, str) and (today := _TODAY.get(name.split("/")[0], "")):
                yield owner, key, today
            elif name == "step":
                match owner:
                    case ast.Subscript(value=owner, slice=ast.Constant(value="state")):
                        yield owner, key, "step"
            elif name == "state":
                yield owner, key, "opt_state"


def _saves_one_alone(points_to: PointsTo) -> bool:
    """True if the program saves an optimizer itself, and not in a dict, where ``state`` is one."""
    return any(
        points_to.package_names(call.func) & SAVING
        and any(sites_of(points_to.values(each), Optimizer) for each in arguments_of(call))
        for document in points_to.documents
        for call in document.of_kind(ast.Call)
    )


def restored_elsewhere(points_to: PointsTo) -> Iterator[Use]:
    """The calls that restore optimizers which only others save, each with these.

    They are of the same classes and made in the same process, or if there are none, in the folder.

    Args:
      points_to: what is known of the program.
    """
    restoring: list[tuple[Document, ast.Call]] = []
    all_saved: set[Site | None] = set()
    for document in points_to.documents:
        for node in document.of_kind(ast.Call):
            names = points_to.package_names(node.func)
            if names & RESTORING:
                restoring.append((document, node))
            elif names & SAVING:
                all_saved |= _inside(points_to, node)
    # In the order of the files, so that each run names the same one.
    order = points_to.definitions()
    saved = [site for site in order if site in all_saved]
    for document, node in restoring if saved else ():
        sites = _inside(points_to, node) - all_saved
        for site in (each for each in order if each in sites):
            if writers := _writers(points_to, site, saved):
                yield Use("FOC215", document, node, frozenset([site, *writers]))


def _inside(points_to: PointsTo, call: ast.Call) -> Sites:
    given = arguments_of(call)
    found = points_to.data_inside(frozenset().union(*map(points_to.values, given)))
    return sites_of(found, Optimizer)


def _writers(points_to: PointsTo, site: Site, saved: Sequence[Site]) -> list[Site]:
    """The definitions whose checkpoints an optimizer may be restored from."""
    kinds = {each.name for each in _parts(points_to, site)}
    alike = [one for one in saved if kinds & {each.name for each in _parts(points_to, one)}]
    together = points_to.processes.together_with(site.document)
    folder = site.document.path.parent
    near = [each for each in alike if each.document in together]
    return near or [each for each in alike if each.document.path.parent == folder]


def _parts(points_to: PointsTo, site: Site) -> list[Site]:
    return inner_definitions(points_to, site) if site.name == "MultiOptimizer" else [site]
