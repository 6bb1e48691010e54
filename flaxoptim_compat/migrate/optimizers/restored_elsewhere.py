"""Optimizers that are restored from what others save, as by ``eval.py`` beside ``train.py``.

A checkpoint of flax.optim fits every optimizer of one class. One of a TrainState fits those with
the same stages and the same injected hyper-parameters, so both are rewritten in one way. And its
entries have other names, for those who read it as nested dicts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from flaxoptim_compat.catalogue import BY_NAME, DECAY
from flaxoptim_compat.migrate.names.dotted import arguments_of, last_name
from flaxoptim_compat.migrate.optax_text.binding import Bound, Refused, pairs
from flaxoptim_compat.migrate.optimizers.hyper_params_in_code import (
    bound_of,
    filters_of,
    inner_definitions,
)
from flaxoptim_compat.migrate.optimizers.use import Sites, Use, sites_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.mentions import ENTRY
from flaxoptim_compat.migrate.values.known_names import RESTORING, SAVING
from flaxoptim_compat.migrate.values.objects import Optimizer, Site, StateDict, Stored
from flaxoptim_compat.migrate.values.points_to import PointsTo

_ENTRY_IN_TEXT = re.compile(ENTRY)
# Entries of an optimizer, and their names in a TrainState.
_TODAY = {"target": "params", "param_states": "opt_state"}


def names_entry(text: str) -> str:
    """The name in a TrainState for an entry, or a path from one, that only optimizers have."""
    return _TODAY.get(text.split("/")[0], "")


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
            if Stored() in held and not sites_of(held, StateDict):
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
            if isinstance(name, str) and (today := names_entry(name)):
                yield owner, key, today
            elif name == "step":
                match owner:
                    case ast.Subscript(value=owner, slice=ast.Constant(value="state")):
                        yield owner, key, "step"


class _Call(NamedTuple):
    """A call that saves or restores optimizers, and where they come from."""

    document: Document
    node: ast.Call
    sites: Sites


def restored_elsewhere(points_to: PointsTo) -> Iterator[Use]:
    """The uses that restore or read optimizers which are saved somewhere else.

    Args:
      points_to: what is known of the program.
    """
    restoring: list[_Call] = []
    saving: list[_Call] = []
    for document in points_to.documents:
        for node in document.of_kind(ast.Call):
            if points_to.values(node.func):
                names = points_to.package_names(node.func)
                if names & RESTORING:
                    restoring.append(_Call(document, node, _inside(points_to, node)))
                elif names & SAVING:
                    saving.append(_Call(document, node, _inside(points_to, node)))
            elif sites := _whose_state_dict(points_to, node):
                saving.append(_Call(document, node, sites))
    if restoring:
        yield from _restored(points_to, restoring, saving)
    if any(each.sites for each in saving):
        yield from _read(points_to, restoring, saving)


def _restored(points_to: PointsTo, restoring: list[_Call], saving: list[_Call]) -> Iterator[Use]:
    """Each call that restores what other optimizers saved, with those that may be in it.

    These are of the same class and made in the same process, or if there are none, in the folder.
    What is saved itself, from where it is restored, is its own.
    """
    # In the order of the files, so that each run names the same one.
    order = points_to.definitions()
    all_saved = frozenset[Site | None]().union(*(call.sites for call in saving))
    saved = [site for site in order if site in all_saved]
    for each in restoring:
        sites = [one for one in order if one in each.sites]
        is_there = bool(sites) and _is_where_it_saves(points_to, each, saving)
        # Of several that one variable may hold, each is only restored from its own.
        there = _saved_there(each, saving) - each.sites if is_there else frozenset()
        for site in sites:
            if site not in all_saved:
                writers = _writers(points_to, site, saved)
            elif is_there:
                writers = _alike(points_to, site, (one for one in order if one in there))
            else:
                writers = _in_folder(points_to, site, saved)
            if writers:
                code, problem = _why_other_entries(points_to, site, writers)
                yield Use(code, each.document, each.node, frozenset([site, *writers]), problem)


def _is_where_it_saves(points_to: PointsTo, restored: _Call, saving: Sequence[_Call]) -> bool:
    """True if a checkpoint is read from where the same process writes its own, as far as seen."""
    place = _place(restored.node)
    together = points_to.processes.together_with(restored.document)
    own = [_place(call.node) for call in saving if call.document in together]
    return not place or not own or place in own or "" in own


def _saved_there(restored: _Call, saving: Sequence[_Call]) -> Sites:
    """The optimizers that the same file saves in the place that a call reads from."""
    place = _place(restored.node)
    own = [each for each in saving if each.document is restored.document]
    there = [each.sites for each in own if place and _place(each.node) == place]
    return frozenset[Site | None]().union(*there)


def _place(call: ast.Call) -> str:
    """The arguments that name the place of a checkpoint; "" for a call on bytes or dicts."""
    if not last_name(call.func).endswith(("restore_checkpoint", "save_checkpoint")):
        return ""
    named = [each.value for each in call.keywords if each.arg in ("ckpt_dir", "prefix")]
    return "".join(map(ast.dump, [*call.args[:1], *named]))


def _read(points_to: PointsTo, restoring: list[_Call], saving: list[_Call]) -> Iterator[Use]:
    """Each entry that is read of what may be a checkpoint of this process or folder.

    Who restores its own checkpoints into optimizers reads those of others by their entries.
    """
    order = points_to.definitions()
    for document in points_to.documents:
        entries = dict.fromkeys(stored_entries(points_to, document))
        together = points_to.processes.together_with(document) if entries else frozenset()
        own = (each for each in restoring if each.sites and each.document in together)
        if any(own) and not _reads_its_own(points_to, document, restoring, saving):
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


def _reads_its_own(
    points_to: PointsTo, document: Document, restoring: list[_Call], saving: list[_Call]
) -> bool:
    """True if a file reads nested dicts from a place that the same process writes to."""
    together = points_to.processes.together_with(document)
    written = {_place(each.node) for each in saving if each.sites and each.document in together}
    read = {_place(each.node) for each in restoring if not each.sites and each.document is document}
    return not (written & read).issubset({""})


_ENTRY = (
    "The optimizer may be saved in {}. A TrainState has `{}` there: write that, or if other files"
    " are read here, say so with `noqa: FOC215`."
)


def _whose_state_dict(points_to: PointsTo, call: ast.Call) -> Sites:
    """The optimizers of which a call of ``state_dict()`` makes nested dicts."""
    match call.func:
        case ast.Attribute(value=owner, attr="state_dict"):
            return sites_of(points_to.values(owner), Optimizer)
    return frozenset()


def _inside(points_to: PointsTo, call: ast.Call) -> Sites:
    given = arguments_of(call)
    found = points_to.data_inside(frozenset().union(*map(points_to.values, given)))
    return sites_of(found, Optimizer)


def _writers(points_to: PointsTo, site: Site, saved: list[Site]) -> list[Site]:
    together = points_to.processes.together_with(site.document)
    near = _alike(points_to, site, (each for each in saved if each.document in together))
    return near or _in_folder(points_to, site, saved)


def _in_folder(points_to: PointsTo, site: Site, saved: list[Site]) -> list[Site]:
    """The definitions with states of the same classes that other processes of the folder save."""
    together = points_to.processes.together_with(site.document)
    folder = site.document.path.parent
    beside = (each for each in saved if each.document.path.parent == folder)
    return _alike(points_to, site, (each for each in beside if each.document not in together))


def _alike(points_to: PointsTo, site: Site, others: Iterable[Site]) -> list[Site]:
    """The definitions among others that make states of the same classes."""
    kinds = _kinds(points_to, site)
    return [each for each in others if kinds & _kinds(points_to, each)]


def _kinds(points_to: PointsTo, site: Site) -> frozenset[str]:
    """The classes of the states that a definition makes for the parameters."""
    if site.name != _SEVERAL:
        return frozenset({site.name})
    return frozenset(each.name for each in inner_definitions(points_to, site))


def _why_other_entries(points_to: PointsTo, site: Site, writers: list[Site]) -> tuple[str, str]:
    """Why optimizers stay; the reason is "" where the entries are alike."""
    mine = _deciding(points_to, site)
    for each in writers:
        place = each.document.place(each.node)
        if _filters(points_to, site) != _filters(points_to, each):
            return "FOC215", _OTHER_PARTS.format(place)
        # A weight decay can be said of both.
        others = [name for _, name in mine ^ _deciding(points_to, each) if name != DECAY]
        if others:
            here = site.document.place(site.node)
            return "FOC215", _OTHER_DEFINITION.format(place, here, min(others))
    return "FOC215", ""


def decay_differs(points_to: PointsTo, sites: Sites) -> bool:
    """True if some definitions have a weight decay, and others have none in its place."""
    found = {
        frozenset(part for part, name in _deciding(points_to, site) if name == DECAY)
        for site in sites
        if site is not None
    }
    return len(found) > 1


_SEVERAL = "MultiOptimizer"
_OTHER_DEFINITION = (
    "A checkpoint of the definition in {} may be restored with that in {}, which has another {}:"
    " give both the same."
)
_OTHER_PARTS = (
    "A checkpoint of the definition in {} may be restored here, of which a TrainState has"
    " other parts: write the same `MultiOptimizer` in both, or if other files are restored here,"
    " say so with `noqa: FOC215`."
)


def _filters(points_to: PointsTo, site: Site) -> list[str]:
    """The filters that select the parts of a MultiOptimizer, as texts to compare."""
    several = pairs(site.node) if site.name == _SEVERAL else []
    if isinstance(several, Refused):
        return [ast.dump(site.node)]
    return [
        "".join(ast.dump(each.node) for each in filters_of(points_to, traversal))
        for traversal, _ in several
    ]


def _deciding(points_to: PointsTo, site: Site) -> frozenset[tuple[int, str]]:
    """The hyper-parameters that each part has and that take a stage in optax."""
    parts = inner_definitions(points_to, site) if site.name == _SEVERAL else [site]
    bound = (bound_of(points_to, each) if each.name else None for each in parts)
    return frozenset(
        (part, name)
        for part, each in enumerate(bound)
        if isinstance(each, Bound)
        for name, given in each.arguments.items()
        if name in (DECAY, *BY_NAME[each.name].decides)
        and not (given.is_literal and not given.value)
    )
