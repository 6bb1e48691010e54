"""The uses of optimizers in a program, as the rules recognise them."""

from __future__ import annotations

import ast
import collections
import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from flaxoptim_compat.migrate.names.dotted import call_of
from flaxoptim_compat.migrate.optimizers.escapes import made_unseen
from flaxoptim_compat.migrate.optimizers.restored_elsewhere import restored_elsewhere
from flaxoptim_compat.migrate.optimizers.use import (
    STEPS,
    Sites,
    Use,
    axes_of,
    becomes_train_state,
    is_gradient_hidden,
    mixed,
    sites_of,
)
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values import known_names
from flaxoptim_compat.migrate.values.evidence import Evidence
from flaxoptim_compat.migrate.values.objects import (
    Container,
    Definition,
    Object,
    Optimizer,
    StateDict,
    Unknown,
)
from flaxoptim_compat.migrate.values.points_to import PointsTo


class Asked(NamedTuple):
    """An attribute that a program asks an optimizer for, or a definition, or a state dict.

    Args:
      points_to: what is known of the program.
      document: the file.
      node: the attribute.
      sites: where the definitions of what is asked were made.
    """

    points_to: PointsTo
    document: Document
    node: ast.Attribute
    sites: Sites

    @property
    def call(self) -> ast.Call | None:
        """The call of the attribute; None if it is not called where it stands."""
        return call_of(self.document, self.node)

    def use(self, code: str, problem: str = "", node: ast.expr | None = None, **more: Any) -> Use:
        """The use that it is, of the attribute itself or of what is around it."""
        return Use(code, self.document, node or self.node, self.sites, problem, **more)


# The use that a rule sees in an attribute; None: the rule is about something else.
OfAttribute = Callable[[Asked], Use | None]
# The uses that a rule finds in an expression or statement.
OfNode = Callable[[PointsTo, Document, Any], Iterator[Use]]
# In the place of the name of an attribute: any, if no rule knows it by its name.
ANY = ""


@dataclasses.dataclass(frozen=True)
class Recognises:
    """The attributes, expressions and statements that a rule recognises.

    Args:
      attributes: by what is asked for them, and by their names.
      nodes: expressions and statements of a kind.
      doubts: those in which an optimizer may go out of sight.
    """

    attributes: Mapping[type[Object], Mapping[str, OfAttribute]] = dataclasses.field(
        default_factory=dict
    )
    nodes: Sequence[tuple[type[ast.AST], OfNode]] = ()
    doubts: Sequence[tuple[type[ast.AST], OfNode]] = ()


class Recognisers:
    """The attributes, expressions and statements that all rules recognise.

    Args:
      rules: one by one, in the order of their codes.
    """

    def __init__(self, rules: Iterable[Recognises]) -> None:
        self._attributes: dict[tuple[type[Object], str], list[OfAttribute]] = {}
        # The functions that find the uses in a node of each kind.
        self.nodes: dict[type[ast.AST], list[OfNode]] = {}
        for rule in rules:
            for owner, by_name in rule.attributes.items():
                for name, recognise in by_name.items():
                    self._attributes.setdefault((owner, name), []).append(recognise)
            for kind, find in rule.nodes:
                self.nodes.setdefault(kind, []).append(find)
            for kind, find in rule.doubts:
                self.nodes.setdefault(kind, []).append(functools.partial(_doubts, find))
        self.nodes.setdefault(ast.Attribute, []).insert(0, self._asked)

    def attribute(self, owner: type[Object], asked: Asked) -> Iterator[Use]:
        """The one use that an attribute is."""
        for name in (asked.node.attr, ANY):
            for recognise in self._attributes.get((owner, name), ()):
                use = recognise(asked)
                if use is not None:
                    yield use
                    return

    def _asked(self, points_to: PointsTo, document: Document, node: ast.Attribute) -> Iterator[Use]:
        """The uses of an attribute that an optimizer, a definition or a state dict is asked for."""
        values = points_to.values(node.value)
        if not values or known_names.is_bridged(node) or node.attr in known_names.OF_STRUCTURES:
            return
        if sites_of(values, Optimizer):
            yield from self._of_optimizer(points_to, document, node)
        elif sites := sites_of(values, Definition):
            asked = Asked(points_to, document, node, sites)
            if asked.call is None or not becomes_train_state(document, asked.call):
                yield from self.attribute(Definition, asked)
        elif sites := sites_of(values, StateDict):
            yield from self.attribute(StateDict, Asked(points_to, document, node, sites))

    def _of_optimizer(
        self, points_to: PointsTo, document: Document, node: ast.Attribute
    ) -> Iterator[Use]:
        values = points_to.values(node.value)
        sites = sites_of(values, Optimizer)
        if node.attr in _OF_CONTAINERS and any(isinstance(each, Container) for each in values):
            return
        others, unknown = besides_optimizers(points_to, node.value)
        if others or unknown is not None:
            # A definition may be asked for the same, and what it makes stays with this.
            sites |= sites_of(values, Definition)
            if unknown is not None and unknown.is_unpickled:
                # The place to change is the one, wherever the optimizer goes from there.
                assert isinstance(unknown.node, ast.Call)
                place = (unknown.document, unknown.node, sites)
                yield Use("FOC219", *place, _UNPICKLED, fails_dual=True)
            else:
                problem = mixed(others, unknown)
                yield Use("FOC219", document, node, sites, problem, is_doubt=True)
                return
        for use in self.attribute(Optimizer, Asked(points_to, document, node, sites)):
            yield _of_copies(use, node, axes_of(values))


def besides_optimizers(
    points_to: PointsTo, node: ast.expr
) -> tuple[frozenset[Object], Unknown | None]:
    """What an expression may be besides an optimizer: the objects, and what nothing is known of."""
    values = points_to.values(node)
    # Of all else that an optimizer is asked for no container has anything.
    others = frozenset(each for each in values if not isinstance(each, Optimizer | Container))
    if sites_of(values, Optimizer) == {None}:
        return others, None
    # Annotations say it of what is seen to be the optimizer itself, too.
    return others - {Definition(None)}, points_to.unknown(node)


_UNPICKLED = (
    "`pickle.load` may return an Optimizer to where a TrainState comes too: save with"
    " `flax.serialization.to_bytes`, and restore with `from_bytes`."
)
_OF_CONTAINERS = frozenset().union(*map(dir, (dict, list, set, tuple, collections.deque)))


def _of_copies(use: Use, node: ast.Attribute, axes: frozenset[str]) -> Use:
    """The use as it is where the optimizer may be one that replicated itself.

    Args:
      use: the use as it is for an optimizer that is not replicated.
      node: the attribute that is asked for.
      axes: those over which the optimizer averages its gradients; "" if it does not.
    """
    if axes <= {""}:
        return use
    if use.code in STEPS and len(axes) == 1:
        if is_gradient_hidden(use.node):
            return dataclasses.replace(use, problem=_NOT_AVERAGED, bridge="")
        return dataclasses.replace(use, axis=min(axes))
    if node.attr in _OTHER_OF_COPIES:
        # Of copies an Optimizer stores the first, and a DualTrainState all.
        fails = node.attr != "optimizer_def"
        problem = _COPIES.format(node.attr)
        return dataclasses.replace(use, problem=problem, bridge="", fails_dual=fails)
    return use


_NOT_AVERAGED = "The step averages its gradients, which are not written out: write `grads=...`."
# What an optimizer on every device has for a single copy, or the TrainState in another shape.
_OTHER_OF_COPIES = frozenset({"optimizer_def", "restore_state", "state_dict"})
_COPIES = (
    "`{}` is asked of an optimizer after its `replicate()`: ask before, or its `unreplicate()`, or"
    " write `flax.jax_utils.replicate(optimizer)`, and `jax.lax.pmean` of the gradients."
)


def uses(points_to: PointsTo, recognisers: Recognisers) -> Iterator[Use]:
    """Each thing that the program does with an optimizer, in the order of the files.

    Args:
      points_to: what is known of the program.
      recognisers: what the rules recognise.
    """
    found = [
        use
        for document in points_to.documents
        for node in document.nodes
        for find in recognisers.nodes.get(type(node), ())
        for use in find(points_to, document, node)
    ]
    found += map(_as_doubt, _made_unseen(points_to, found))
    found = list(_not_settled(points_to.evidence, found))
    for use in (*found, *restored_elsewhere(points_to)):
        if isinstance(use.node, ast.Call) and use.document.is_in_f_string(use.node):
            problem = "An optimizer stands in an f-string: give the expression a name before."
            yield dataclasses.replace(use, problem=problem, bridge="")
        else:
            yield use


def _as_doubt(use: Use) -> Use:
    return dataclasses.replace(use, is_doubt=True)


def _doubts(find: OfNode, points_to: PointsTo, document: Document, node: Any) -> Iterator[Use]:
    return map(_as_doubt, find(points_to, document, node))


def _not_settled(evidence: Evidence, found: Sequence[Use]) -> Iterator[Use]:
    """The uses, those left out that a run has settled: of what it reached it saw the uses.

    Doubts about optimizers that it reached are none, and so are doubts about these and others if
    the others are made only by calls that may make one of these.
    """
    if not evidence.makers:
        yield from found
        return
    apart = {
        site
        for use in found
        if use.makes and not any(map(evidence.has_reached, use.sites))
        for site in use.sites
    }
    for use in found:
        if use.sites == {None}:
            # The run says what belongs together.
            yield from [] if use.is_doubt else [dataclasses.replace(use, joins=False)]
        elif use.is_doubt:
            reached = frozenset(filter(evidence.has_reached, use.sites))
            others = use.sites - reached - {None}
            others = others & apart if reached else others
            yield from [dataclasses.replace(use, sites=others)] if others else []
        else:
            yield use


def _made_unseen(points_to: PointsTo, found: Iterable[Use]) -> Iterator[Use]:
    """The calls that may make the optimizers of which nothing shows where they are made."""
    unknown = [each.document for each in found if each.sites == {None} and each.code in STEPS]
    files = frozenset[Document]().union(*map(points_to.processes.together_with, unknown))
    for document in points_to.documents:
        for call in document.of_kind(ast.Call) if document in files else ():
            yield from made_unseen(points_to, document, call)
