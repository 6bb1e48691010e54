"""Optimizers that are restored from what others save, as by ``eval.py`` beside ``train.py``.

A checkpoint of flax.optim fits every optimizer of one class. One of a TrainState fits those with
the same stages and the same injected hyper-parameters, so both are rewritten in one way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flaxoptim_compat.catalogue import BY_NAME
from flaxoptim_compat.migrate.names.dotted import arguments_of
from flaxoptim_compat.migrate.optax_text.binding import Bound
from flaxoptim_compat.migrate.optimizers.hyper_params_in_code import bound_of
from flaxoptim_compat.migrate.optimizers.use import STEPS, Sites, Use, sites_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.known_names import RESTORING
from flaxoptim_compat.migrate.values.objects import Optimizer, Site
from flaxoptim_compat.migrate.values.points_to import PointsTo

_DECAY = "weight_decay"
_SAVE = {
    "flax.serialization.to_bytes",
    "flax.serialization.to_state_dict",
    "flax.training.checkpoints.save_checkpoint",
    "flax.training.checkpoints.save_checkpoint_multiprocess",
}


class _Restored(NamedTuple):
    """A call that restores optimizers."""

    document: Document
    call: ast.Call
    sites: Sites


def restored_elsewhere(points_to: PointsTo, uses: Sequence[Use]) -> Iterator[Use]:
    """Each call that restores an optimizer which is saved nowhere, with those that may be in it.

    These are of the same class and made in the same process, or if there are none, in the folder.
    What takes steps where something is saved may be saved itself, though it is not seen.

    Args:
      points_to: what is known of the program.
      uses: what it does with its optimizers.
    """
    stepped = {site for use in uses if use.code in STEPS for site in use.sites}
    restored: list[_Restored] = []
    saved: dict[Site, None] = {}
    saving: set[Document] = set()
    for document in points_to.documents:
        for node in document.nodes:
            if not isinstance(node, ast.Call) or not points_to.legacy(node.func):
                continue
            names = points_to.package_names(node.func)
            if names & RESTORING:
                restored.append(_Restored(document, node, _inside(points_to, node)))
            elif names & _SAVE:
                saved |= dict.fromkeys(each for each in _inside(points_to, node) if each)
                saving |= points_to.processes.together_with(document)
    # In the order of the files, so that each run names the same one.
    unsaved = [site for site in points_to.definitions() if site not in saved] if restored else []
    for each in restored:
        for site in unsaved:
            if site not in each.sites or (site in stepped and site.document in saving):
                continue
            if writers := _writers(points_to, site, [*saved]):
                problem = _why_other_entries(points_to, site, writers)
                code = "FOC201" if problem else "FOC215"
                yield Use(code, each.document, each.call, frozenset([site, *writers]), problem)


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
