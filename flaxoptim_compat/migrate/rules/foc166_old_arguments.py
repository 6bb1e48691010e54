"""Calls of functions that are still there, with arguments that they do not take any more."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flaxoptim_compat.legacy.calls.row import Call, Parameter
from flaxoptim_compat.legacy.calls.tables import ENTRIES
from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Change, Finding
from flaxoptim_compat.migrate.names.dotted import last_name
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.successors.evident_values import (
    is_array,
    is_made_by,
    is_own_module,
    is_partial,
)
from flaxoptim_compat.migrate.successors.successor import name_of_today

RULE = Rule("FOC166", "old-arguments")
_ATTENTION = "flax.linen.MultiHeadDotProductAttention"
_MASKS = tuple(
    f"flax.linen.{name}" for name in ("combine_masks", "make_attention_mask", "make_causal_mask")
)
_ROWS = {name.removesuffix(".__init__"): row for row in ENTRIES for name in row.names.split()}
# Their methods, which other objects have as well.
_OF_ARRAYS, _OF_MODULES = (
    {name.removeprefix(kind): row for name, row in _ROWS.items() if name.startswith(kind)}
    for kind in ("jax.Array.", "flax.linen.Module.")
)
_OF_ATTENTION = _ROWS[f"{_ATTENTION}.__call__"]
_METHODS = (*_OF_ARRAYS.values(), *_OF_MODULES.values(), _OF_ATTENTION)
_FUNCTIONS = {name: row for name, row in _ROWS.items() if row not in _METHODS}
_COMMENT = re.compile(r"#[^\n]*")
_NAMED = re.compile(r"(\w+)\s*=\s*")
_BY_NAME, _BY_PLACE, _GONE, _AS_IT_IS = "name", "place", "", "as it is"


def find(reading: Reading) -> Iterator[Finding]:
    """The calls that are an error today, each with the edits that make it one of today."""
    parents = reading.document.parents
    stored = {
        use.name
        for use in reading.names.uses
        if isinstance(getattr(use.node, "ctx", None), ast.Store)
    }
    for use in reading.names.uses:
        name = name_of_today(use.name)
        row = _FUNCTIONS.get(name)
        if row is None or isinstance(use.node, ast.alias) or use.name in stored:
            continue
        call = parents[use.node]
        if not isinstance(call, ast.Call):
            continue
        is_given = call.args[:1] == [use.node] and is_partial(reading, call)
        if call.func is use.node or is_given:
            old = _old_call(reading.document, call, row, is_given=is_given)
            if old is not None and reading.allows(RULE.code, use.node):
                yield _finding(reading, name, row, use.node, old)
    yield from _methods(reading)
    if _ATTENTION.rpartition(".")[2] in reading.document.text:
        yield from _attention(reading)


def _methods(reading: Reading) -> Iterator[Finding]:
    """The calls of methods of arrays that the file makes, and of modules in these themselves."""
    text = reading.document.text
    if not any(f".{name}(" in text for name in (*_OF_ARRAYS, *_OF_MODULES)):
        return
    for call in reading.document.of_kind(ast.Call):
        if not isinstance(call.func, ast.Attribute):
            continue
        name, holder = call.func.attr, call.func.value
        for rows, is_one in ((_OF_ARRAYS, is_array), (_OF_MODULES, is_own_module)):
            row = rows.get(name)
            if row is None or not (call.args or call.keywords):
                continue
            old = _old_call(reading.document, call, row)
            if old is not None and is_one(reading, holder) and reading.allows(RULE.code, call):
                yield _finding(reading, row.names.split()[0], row, call.func, old)


def _attention(reading: Reading) -> Iterator[Finding]:
    """The calls of attention whose third input is its mask."""
    for call in reading.document.of_kind(ast.Call):
        is_old = _takes_mask(reading, call)
        if is_old is False:
            continue
        old = _old_call(reading.document, call, _OF_ATTENTION)
        if old is not None and reading.allows(RULE.code, call):
            if is_old is None:
                old = old._replace(edits=(), doubt="only its name says that it is a mask")
            yield _finding(reading, _ATTENTION, _OF_ATTENTION, call.func, old)


def _takes_mask(reading: Reading, call: ast.Call) -> bool | None:
    """Whether a call gives attention a mask as its third input, where today the values stand.

    Args:
      reading: the file.
      call: any call.

    Returns:
      None if nothing but the name of what it is given says so.
    """
    given = call.args
    if len(given) not in (3, 4) or any(isinstance(each, ast.Starred) for each in given):
        return False
    if not is_made_by(reading, call.func, (_ATTENTION,)):
        return False
    if len(given) == 4 or is_made_by(reading, given[2], _MASKS):
        return True
    return None if last_name(given[2]).endswith("mask") else False


def _finding(reading: Reading, name: str, row: Call, node: ast.expr, old: _OldCall) -> Finding:
    start, end = reading.document.span(node)
    what = f"{name} does not take {old.refused} any more"
    if not old.edits:
        doubt = f", and {old.doubt}" if old.doubt else ""
        reason = f"{what}{doubt}: write {row.today}"
        return Finding(RULE.code, start, end, what, row.today, None, None, reason=reason)
    uses = [
        each.node
        for each in reading.names.uses
        if isinstance(each.node, ast.expr)
        and any(each.node in ast.walk(value) for value in old.dropped)
    ]
    change = Change(old.edits, drops=tuple(uses))
    return Finding(RULE.code, start, end, what, row.today, change, change)


class _OldCall(NamedTuple):
    """A call that is an error today.

    Args:
      refused: what is not taken any more, for people.
      edits: what makes it one of today; empty if there is a doubt.
      dropped: the values that it will not be given any more.
      doubt: why it is not certain what to make of it; "" if it is, or if only its owner can say.
    """

    refused: str
    edits: tuple[Edit, ...] = ()
    dropped: tuple[ast.expr, ...] = ()
    doubt: str = ""


class _Doubtful(Exception):
    """It is not certain which call of today does the same."""


@dataclasses.dataclass
class _Argument:
    """An argument of a call.

    Args:
      node: it, with its name if it is given by name.
      value: its value.
      parameter: what it is given for; None if the table does not know it.
      becomes: how it is given today.
      place: where the parameter stands.
    """

    node: ast.expr | ast.keyword
    value: ast.expr
    parameter: Parameter | None
    place: int = -1
    becomes: str = _AS_IT_IS

    @property
    def is_by_name(self) -> bool:
        return isinstance(self.node, ast.keyword)

    @property
    def is_refused(self) -> bool:
        """Whether it is an error today."""
        if self.parameter is None:
            return False
        if not self.is_by_name:
            return not self.parameter.by_place
        if self.parameter.only and self._is(self.parameter.only):
            return False
        return self.parameter.today != self.parameter.name or not self.parameter.by_name

    def settle(self) -> None:
        """Find out how it is given today.

        Raises:
          _Doubtful: it is not certain.
        """
        if not self.is_refused:
            return
        assert self.parameter is not None
        today = self.parameter.today
        if today == "" and not _is_without_effect(self.value):
            raise _Doubtful(f"the value for {self.parameter.name} is computed here")
        if today == "-" and not self._is("None"):
            raise _Doubtful(f"{self.parameter.name} could only be None")
        if today in ("", "-") or (today != self.parameter.name and self._is("None")):
            # None stood for an argument that was not given.
            self.becomes = _GONE
        else:
            self.becomes = _BY_NAME if self.parameter.by_name else _BY_PLACE

    def _is(self, value: str) -> bool:
        return isinstance(self.value, ast.Constant) and repr(self.value.value) == value


def _old_call(
    document: Document,
    call: ast.Call,
    row: Call,
    *,
    is_given: bool = False,
) -> _OldCall | None:
    """What is old about a call of a function; None if it is a call of today.

    Args:
      document: the file.
      call: the call.
      row: what the function took.
      is_given: whether the call gives ``functools.partial`` the function, and then arguments.
    """
    arguments = list(_arguments(call, row, is_given))
    refused = [each for each in arguments if each.is_refused]
    if not refused:
        return None
    found = _OldCall(_shown(refused))
    if row.by:
        return found
    try:
        if any(_is_unpacked(each.node) for each in arguments):
            raise _Doubtful("the keywords that are unpacked here are not known")
        for each in arguments:
            each.settle()
        _check(arguments, is_given)
        edits = tuple(_edits(document, call, arguments))
    except _Doubtful as doubt:
        return found._replace(doubt=str(doubt))
    dropped = tuple(each.value for each in arguments if each.becomes == _GONE)
    return found._replace(edits=edits, dropped=dropped)


def _arguments(call: ast.Call, row: Call, is_given: bool) -> Iterator[_Argument]:
    """The arguments in the order in which they stand, which is that of the parser."""
    parameters = [each for each in row.parameters if each.name != "self"]
    names = [each.name for each in parameters]
    stars = [place for place, name in enumerate(names) if name.startswith("*")]
    in_order: list[Parameter | None] = [*parameters[: min(stars, default=len(names))]]
    for place, node in enumerate(call.args[1:] if is_given else call.args):
        if isinstance(node, ast.Starred):
            in_order = []  # how many it is, is not known
        yield _Argument(node, node, in_order[place] if place < len(in_order) else None, place)
    for each in call.keywords:
        place = names.index(each.arg) if each.arg in names else -1
        yield _Argument(each, each.value, parameters[place] if place >= 0 else None, place)


def _is_unpacked(node: ast.expr | ast.keyword) -> bool:
    return isinstance(node, ast.Starred) or (isinstance(node, ast.keyword) and node.arg is None)


def _is_without_effect(node: ast.expr) -> bool:
    """Whether nothing else happens when it is computed."""
    if isinstance(node, ast.Tuple | ast.List):
        return all(map(_is_without_effect, node.elts))
    if isinstance(node, ast.Dict):
        return not node.keys
    while isinstance(node, ast.Attribute | ast.UnaryOp):
        node = node.value if isinstance(node, ast.Attribute) else node.operand
    return isinstance(node, ast.Constant | ast.Name)


def _check(arguments: Sequence[_Argument], is_given: bool) -> None:
    """Raise unless each parameter of today is given once, and those without names come first."""
    kept = [each for each in arguments if each.becomes != _GONE]
    given = [each.parameter.today for each in kept if each.parameter is not None]
    if len({*given}) < len(given):
        raise _Doubtful("one argument is given twice")
    for place, each in enumerate(kept):
        if each.becomes != _BY_PLACE:
            continue
        before = kept[:place]
        named = any(one.is_by_name and one.becomes != _BY_PLACE for one in before)
        if named or each.place != place:
            raise _Doubtful("the arguments stand in another order")
        if is_given:
            raise _Doubtful("the places of the later arguments are not known")


def _edits(document: Document, call: ast.Call, arguments: Sequence[_Argument]) -> Iterator[Edit]:
    spans = [document.span(each.node) for each in arguments]
    for number, (each, (start, _)) in enumerate(zip(arguments, spans, strict=True)):
        if each.parameter is None or each.becomes == _AS_IT_IS:
            continue
        today = each.parameter.today
        if each.becomes == _BY_NAME and not each.is_by_name:
            _check_gap(document, _end_before(document, call, spans, number), start)
            yield Edit(start, start, (f"{today}=",))
        elif each.becomes != _GONE:
            name = _NAMED.match(document.text, start)
            if name is None or name[1] != each.parameter.name:
                # Before Python 3.12 the parser could be wrong about places in f-strings.
                raise _Doubtful("the places of the arguments are not certain")
            if each.becomes == _BY_NAME:
                yield Edit(start, name.end(1), (today,))
            else:
                yield Edit(start, name.end(), ())
    yield from _removals(document, call, arguments, spans)


def _removals(
    document: Document,
    call: ast.Call,
    arguments: Sequence[_Argument],
    spans: Sequence[tuple[int, int]],
) -> Iterator[Edit]:
    """Take arguments out, each with the comma before it, or with that behind it if it is first."""
    gone = [each.becomes == _GONE for each in arguments]
    leading = gone.index(False) if False in gone else len(gone)
    for number, (_, end) in enumerate(spans):
        if gone[number]:
            before = _end_before(document, call, spans, number)
            _check_gap(document, before, spans[number][0])
            behind = spans[number + 1][0] if number + 1 < len(spans) else document.span(call)[1]
            _check_gap(document, end, behind)
            if number >= leading:
                yield Edit(before, end, ())
    if leading and len(arguments) < len(call.args) + len(call.keywords):
        # Behind the function that functools.partial is given.
        yield Edit(_end_before(document, call, spans, 0), spans[leading - 1][1], ())
    elif leading:
        behind = spans[leading][0] if leading < len(spans) else document.span(call)[1] - 1
        yield Edit(spans[0][0], behind, ())


def _end_before(
    document: Document, call: ast.Call, spans: Sequence[tuple[int, int]], number: int
) -> int:
    """Where what stands before an argument ends: another argument, or the function."""
    if number:
        return spans[number - 1][1]
    is_alone = len(spans) == len(call.args) + len(call.keywords)
    return document.span(call.func if is_alone else call.args[0])[1]


def _check_gap(document: Document, start: int, end: int) -> None:
    """Raise if between two arguments there is more than a comma or the parentheses of the call."""
    between = "".join(_COMMENT.sub("", document.text[start:end]).split())
    if between not in (",", "(", ")", ",)"):
        raise _Doubtful("an argument stands in parentheses of its own")


def _shown(refused: Sequence[_Argument]) -> str:
    """The names of arguments, and by which way they are not taken."""
    groups: dict[str, list[str]] = {"": [], "place": [], "name": []}
    for each in refused:
        assert each.parameter is not None
        is_other = each.parameter.today != each.parameter.name
        way = "" if is_other else "name" if each.is_by_name else "place"
        groups[way].append(each.parameter.name)
    return ", and ".join(_listed(names, way) for way, names in groups.items() if names)


def _listed(names: Sequence[str], way: str) -> str:
    text = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    if way:
        text += f" by its {way}" if len(names) == 1 else f" by their {way}s"
    return text
