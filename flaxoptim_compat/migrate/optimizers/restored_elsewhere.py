"""Optimizers that are restored from what others save, as by ``eval.py`` beside ``train.py``.

A checkpoint of flax.optim fits every optimizer of one class. One of a TrainState fits those with
the same stages and the same injected hyper-parameters, so both are rewritten in one way. And its
entries have other names, for those who read it as nested dicts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flaxoptim_compat.catalogue import BY_NAME
from flaxoptim_compat.migrate.names.dotted import arguments_of
from flaxoptim_compat.migrate.optax_text.binding import Bound
from flaxoptim_compat.migrate.optimizers.hyper_params_in_code import bound_of
from flaxoptim_compat.migrate.optimizers.use import STEPS, Sites, Use, sites_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.mentions import ENTRY
from flaxoptim_compat.migrate.values.known_names import RESTORING
from flaxoptim_compat.migrate.values.objects import Function, Optimizer, Site, Stored
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
    for node in document.of_kind(ast.Constant) if reads else ():
        match node.value:
            case str(path) if "/" in path:
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


_DECAY = "weight_decay"
_SAVE = {
    "flax.serialization.to_bytes",
    "flax.serialization.to_state_dict",
    "flax.training.checkpoints.save_checkpoint",
    "flax.training.checkpoints.save_checkpoint_multiprocess",
}


class _Call(NamedTuple):
    """A call that saves or restores optimizers, and where they come from."""

    document: Document
    node: ast.Call
    sites: Sites


def restored_elsewhere(points_to: PointsTo, uses: Sequence[Use]) -> Iterator[Use]:
    """What is restored, or read, of optimizers that are saved somewhere else.

    Args:
      points_to: what is known of the program.
      uses: what it does with its optimizers.
    """
    restoring: list[_Call] = []
    saving: list[_Call] = []
    for document in points_to.documents:
        for node in document.of_kind(ast.Call):
            if points_to.legacy(node.func):
                names = points_to.package_names(node.func)
                if names & RESTORING:
                    restoring.append(_Call(document, node, _inside(points_to, node)))
                elif names & _SAVE:
                    saving.append(_Call(document, node, _inside(points_to, node)))
    if restoring:
        yield from _restored(points_to, uses, restoring, saving)
    if any(each.sites for each in saving):
        yield from _read(points_to, restoring, saving)


def _restored(
    points_to: PointsTo, uses: Sequence[Use], restoring: list[_Call], saving: list[_Call]
) -> Iterator[Use]:
    """Each call that restores an optimizer which is saved nowhere, with those that may be in it.

    These are of the same class and made in the same process, or if there are none, in the folder.
    What takes steps where something is saved may be saved itself, though it is not seen.
    """
    stepped = {site for use in uses if use.code in STEPS for site in use.sites}
    saved = dict.fromkeys(site for call in saving for site in call.sites if site)
    beside: frozenset[Document] | None = None
    # In the order of the files, so that each run names the same one.
    unsaved = [site for site in points_to.definitions() if site not in saved]
    for each in restoring:
        for site in unsaved:
            if site not in each.sites:
                continue
            if site in stepped:
                beside = _who_saves(points_to, saving) if beside is None else beside
                if site.document in beside:
                    continue
            if writers := _writers(points_to, site, [*saved]):
                problem = _why_other_entries(points_to, site, writers)
                code = "FOC201" if problem else "FOC215"
                yield Use(code, each.document, each.node, frozenset([site, *writers]), problem)


def _who_saves(points_to: PointsTo, saving: list[_Call]) -> frozenset[Document]:
    """The files that run with what saves something, be it by functions of others."""
    callers: dict[ast.AST, dict[ast.AST, Document]] = {}
    for document in points_to.documents:
        for node in document.of_kind(ast.Call):
            for each in points_to.legacy(node.func):
                if isinstance(each, Function):
                    callers.setdefault(each.node, {})[document.function(node)] = document
    found: set[Document] = set()
    waiting: dict[ast.AST, Document] = {
        call.document.function(call.node): call.document for call in saving
    }
    seen = {*waiting}
    while waiting:
        function, document = waiting.popitem()
        if function not in callers:
            found.add(document)
        new = {each: file for each, file in callers.get(function, {}).items() if each not in seen}
        seen.update(new)
        waiting |= new
    return frozenset[Document]().union(*map(points_to.processes.together_with, found))


def _read(points_to: PointsTo, restoring: list[_Call], saving: list[_Call]) -> Iterator[Use]:
    """Each entry that is read of what may be a checkpoint of this process or folder.

    Who restores its own checkpoints into optimizers reads those of others by their entries.
    """
    order = points_to.definitions()
    for document in points_to.documents:
        entries = [*stored_entries(points_to, document)]
        together = points_to.processes.together_with(document) if entries else frozenset()
        if any(each.sites and each.document in together for each in restoring):
            continue
        for node, today in entries:
            known: set[Site | None] = set()
            for call in saving:
                beside = call.document.path.parent == document.path.parent
                if beside or call.document in together:
                    problem = _ENTRY.format(call.document.place(call.node), today)
                    for site in order:
                        if site in call.sites - known:
                            yield Use("FOC215", document, node, frozenset({site}), problem)
                    known |= call.sites


_ENTRY = (
    "It may be saved in {}, and a TrainState has `{}` there: write that, or if other files are read"
    " here, say so with `noqa: FOC215`."
)


def _inside(points_to: PointsTo, call: ast.Call) -> Sites:
    given = arguments_of(call)
    found = points_to.data_inside(frozenset().union(*map(points_to.legacy, given)))
    return sites_of(found, Optimizer)


def _writers(points_to: PointsTo, site: Site, saved: list[Site]) -> list[Site]:
    alike = [each for each in saved if each.name == site.name]
    together = points_to.processes.together_with(site.document)
    folder = site.document.path.parent
    near = [each for each in alike if each.document in together]
    return near or [each for each in alike if each.document.path.parent == folder]


def _why_other_entries(points_to: PointsTo, site: Site, writers: list[Site]) -> str:
    """Why the definitions stay, which have the same entries then; "" if they have them anyway."""
    mine = _deciding(points_to, site)
    for each in writers:
        if difference := mine ^ _deciding(points_to, each):
            place = each.document.place(each.node)
            return f"It is restored from what is saved in {place}, with another {min(difference)}."
    return ""


def _deciding(points_to: PointsTo, site: Site) -> frozenset[str]:
    """The hyper-parameters that a definition has and that take a stage in optax."""
    bound = bound_of(points_to, site) if site.name else None
    if not isinstance(bound, Bound):
        return frozenset()
    return frozenset(
        name
        for name, given in bound.arguments.items()
        if name in (_DECAY, *BY_NAME[bound.name].decides)
        and not (given.is_literal and not given.value)
    )
