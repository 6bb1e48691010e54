"""The groups of optimizers that have to be rewritten together or not at all, and how.

All optimizers that meet in one expression are written in one way, because the expression has one
text. Such a group, with everything the program does with it, is a unit.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Hashable, Mapping, Sequence

from flaxoptim_compat.migrate.optimizers.definitions import inner_definitions
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.linking import components
from flaxoptim_compat.migrate.values.objects import Site
from flaxoptim_compat.migrate.values.points_to import PointsTo


@dataclasses.dataclass(eq=False)
class Unit:
    """Optimizers that are rewritten together.

    Args:
      sites: where their definitions are made.
      uses: what the program does with them.
      joined: the uses of an optimizer that may be any of them; without these it would be several
        units that make optimizers.
      problems: the uses that keep it from being rewritten; with any, all uses stay as they are.
      is_dual: whether its optimizers become DualTrainStates then, which still do all of that.
      was_dual: whether they are DualTrainStates already.
      definition_stays: why the definitions stay those of flax.optim, and turn into a TrainState
        where ``create`` is called; "" if they become optax.
      overrides: the hyper-parameters that a call of ``apply_gradient`` gives.
      ambiguous: those of them that a parameter of the program may be called too.
      lacking: the definitions that may have no learning rate, or whose rate no step uses.
      bridged: the uses that are written by turning the TrainState into an optimizer and back.
      starts_at_array: whether their step has to be an array from the start, as flax.optim's was.
      conversions: the commands that convert their checkpoints for the rewritten program, each with
        a definition that it is for.
      is_reached: whether a run made one of them.
      inferred: the uses and definitions to which a run did not come: what it showed elsewhere says
        which optimizers these are.
    """

    sites: list[Site] = dataclasses.field(default_factory=list)
    uses: list[Use] = dataclasses.field(default_factory=list)
    joined: list[Use] = dataclasses.field(default_factory=list)
    problems: list[Use] = dataclasses.field(default_factory=list)
    is_dual: bool = False
    was_dual: bool = False
    definition_stays: str = ""
    overrides: tuple[str, ...] = ()
    ambiguous: frozenset[str] = frozenset()
    lacking: frozenset[Site] = frozenset()
    bridged: list[Use] = dataclasses.field(default_factory=list)
    starts_at_array: bool = False
    conversions: Mapping[str, Site] = dataclasses.field(default_factory=dict)
    is_reached: bool = False
    inferred: list[Use | Site] = dataclasses.field(default_factory=list)

    @property
    def converts(self) -> bool:
        """True if the optimizers become TrainStates."""
        return not self.problems

    @property
    def moves(self) -> bool:
        """True if they do, and this program makes their definitions."""
        return bool(self.sites) and self.converts

    @functools.cached_property
    def replicates(self) -> bool:
        """True if one of them is replicated by its own method, so that its steps average."""
        return any(each.code == "FOC211" for each in self.uses)

    def lacks(self, use: Use) -> bool:
        """True if an optimizer of a use may have no learning rate."""
        return bool(self.lacking and (self.lacking & use.sites or None in use.sites))

    @property
    def documents(self) -> list[Document]:
        """The files that do something with the optimizers."""
        return list(dict.fromkeys(use.document for use in self.uses))

    @property
    def creates(self) -> list[ast.Call]:
        """The calls that make the optimizers."""
        return [
            use.node for use in self.uses if use.code == "FOC202" and isinstance(use.node, ast.Call)
        ]


def units(points_to: PointsTo, uses: Sequence[Use]) -> list[Unit]:
    """All units of a program.

    Args:
      points_to: what is known of it.
      uses: what it does with its optimizers.
    """
    processes = points_to.processes
    meeting: dict[Site, set[Site]] = {}

    def join(sites: Sequence[Site]) -> None:
        for each in sites:
            meeting.setdefault(each, set()).update(sites[:1])

    for use in uses:
        if use.joins:
            join([site for site in use.sites if site is not None])
    for sites in points_to.shown_together:
        join(sites)
    for site in points_to.definitions():
        join([site, *inner_definitions(points_to, site)])
    made = {each for use in uses if use.makes for each in use.sites if each is not None}
    apart = [group for group in components(meeting) if group & made]
    # What comes from elsewhere may be any of those that are made where this file runs too.
    near: dict[Document, list[Site]] = {}
    for document in dict.fromkeys(use.document for use in uses if use.sites == {None}):
        together = processes.together_with(document)
        near[document] = [each for each in meeting if each.document in together]
    joined = {
        document: sum(not group.isdisjoint(sites) for group in apart) > 1
        for document, sites in near.items()
    }
    for document in dict.fromkeys(
        each.document for each in uses if each.sites == {None} and each.joins
    ):
        join(near[document])
    every = dict.fromkeys([*points_to.definitions(), *meeting])
    order = {site: number for number, site in enumerate(every)}
    found: dict[Hashable, Unit] = {}
    for group in components(meeting):
        found |= dict.fromkeys(group, Unit(sites=sorted(group, key=order.__getitem__)))
    for use in uses:
        sites = [each for each in use.sites if each is not None] or near[use.document]
        # What joins nothing goes with one of which an optimizer is made, the first in the files.
        first = min(
            sites,
            key=lambda each: (each not in made, order.get(each, len(order))),
            default=None,
        )
        unit = found.setdefault(first or processes.connected[use.document], Unit())
        unit.uses.append(use)
        if use.sites == {None} and use.joins and joined[use.document]:
            unit.joined.append(use)
    return list(dict.fromkeys(found.values()))
