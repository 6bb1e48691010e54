"""FOC166: calls with arguments that a function of jax, flax or numpy does not take any more."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flaxoptim_compat.legacy.calls.row import OldCall, OldParameter
from flaxoptim_compat.legacy.calls.tables import ENTRIES
from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Change
from flaxoptim_compat.migrate.names.dotted import last_name
from flaxoptim_compat.migrate.optimizers.found_place import FoundPlace
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.successors.evident_values import is_made_by, is_without_effect
from flaxoptim_compat.migrate.successors.successor import name_of_today

RULE = Rule("FOC166", "old-arguments")
_ATTENTION = "flax.linen.MultiHeadDotProductAttention"
_ROWS = {name.removesuffix(".__init__"): row for row in ENTRIES for name in row.names.split()}
# Methods are called by names of the program.
_FUNCTIONS = {
    name: row
    for name, row in _ROWS.items()
    if not name.startswith(("jax.Array.", "flax.linen.Module.", f"{_ATTENTION}."))
}
_OF_ATTENTION = _ROWS[f"{_ATTENTION}.__call__"]
_COMMENT = re.compile(r"#[^\n]*")
_NAMED = re.compile(r"(\w+)\s*=\s*")
_BY_NAME, _BY_PLACE, _GONE, _AS_IT_IS = "name", "place", "", "as it is"


class _Called(NamedTuple):
    """A call of one of the functions.

    Args:
      call: the call, or that of ``functools.partial`` with the function.
      function: the expression of the function.
      name: the full name of the function.
      row: the arguments that the function took.
      doubt: why it is not certain that the call is an old one.
    """

    call: ast.Call
    function: ast.expr
    name: str
    row: OldCall
    doubt: str = ""

    @property
    def is_partial(self) -> bool:
        return self.call.func is not self.function


class _Doubtful(Exception):
    """The call of today that does the same is not certain; the message says why."""


def find(reading: Reading) -> Iterator[FoundPlace]:
    """The calls that are an error today, each with the edits that make it valid."""
    for each in (*_of_functions(reading), *_of_attention(reading)):
        arguments = list(_arguments(each))
        refused = [argument for argument in arguments if argument.is_refused]
        if not refused:
            continue
        what = f"{each.name} does not take {_shown(refused)} any more"
        doubt, change = each.doubt, None
        if not doubt and not each.row.by:
            try:
                change = _change(reading, each, arguments)
            except _Doubtful as why:
                doubt = str(why)
        reason = "" if change else f"{what}{doubt and f', and {doubt}'}: write {each.row.today}"
        yield FoundPlace(each.function, what, each.row.today, change, reason)


def _of_functions(reading: Reading) -> Iterator[_Called]:
    uses = reading.names.uses
    stored = {use.name for use in uses if isinstance(getattr(use.node, "ctx", None), ast.Store)}
    for use in uses:
        name = name_of_today(use.name)
        row = _FUNCTIONS.get(name)
        if row is None or isinstance(use.node, ast.alias) or use.name in stored:
            continue
        call = reading.document.parents[use.node]
        if isinstance(call, ast.Call):
            is_first = call.args[:1] == [use.node]
            if call.func is use.node or (is_first and _is_partial(reading, call)):
                yield _Called(call, use.node, name, row)


def _is_partial(reading: Reading, call: ast.Call) -> bool:
    return name_of_today(reading.names.full_name(call.func)) == "functools.partial"


def _of_attention(reading: Reading) -> Iterator[_Called]:
    """The calls of attention whose third input is named as a mask: today it is the values."""
    if _ATTENTION.rpartition(".")[2] not in reading.document.text:
        return
    for call in reading.document.of_kind(ast.Call):
        is_mask = len(call.args) in (3, 4) and last_name(call.args[2]).endswith("mask")
        if is_mask and is_made_by(reading, call.func, (_ATTENTION,)):
            doubt = "only the name says that the argument is a mask"
            yield _Called(call, call.func, _ATTENTION, _OF_ATTENTION, doubt)


class _Argument(NamedTuple):
    """An argument of a call.

    Args:
      node: the argument, with its name if it is given by name.
      value: the value of the argument.
      parameter: the parameter that gets the value; None if the table does not know it.
      place: the index of the parameter.
    """

    node: ast.expr | ast.keyword
    value: ast.expr
    parameter: OldParameter | None
    place: int

    @property
    def is_by_name(self) -> bool:
        return isinstance(self.node, ast.keyword)

    @property
    def is_unpacked(self) -> bool:
        return isinstance(self.node, ast.Starred) or getattr(self.node, "arg", "") is None

    @property
    def is_refused(self) -> bool:
        """True if it is an error today to give the argument in this way."""
        if self.parameter is None:
            return False
        if not self.is_by_name:
            return not self.parameter.by_place
        if self.parameter.only and self._is(self.parameter.only):
            return False
        return self.parameter.today != self.parameter.name or not self.parameter.by_name

    @property
    def becomes(self) -> str:
        """The way in which the value is given today: by name, by place, not at all, or as it is.

        Raises:
          _Doubtful: the way is not certain.
        """
        if self.parameter is None or not self.is_refused:
            return _AS_IT_IS
        name, today, *_ = self.parameter
        if today == "" and not is_without_effect(self.value):
            raise _Doubtful(f"the value for {name} is computed here")
        if today == "-" and not self._is("None"):
            raise _Doubtful(f"{name} could only be None")
        if today in ("", "-") or (today != name and self._is("None")):
            return _GONE  # None stood for an argument that was not given
        return _BY_NAME if self.parameter.by_name else _BY_PLACE

    def _is(self, value: str) -> bool:
        return isinstance(self.value, ast.Constant) and repr(self.value.value) == value


def _arguments(called: _Called) -> Iterator[_Argument]:
    """The arguments in the order in which they stand, which is that of the parser."""
    parameters = [each for each in called.row.parameters if each.name != "self"]
    names = [each.name for each in parameters]
    stars = [place for place, name in enumerate(names) if name.startswith("*")]
    in_order: list[OldParameter | None] = [*parameters[: min(stars, default=len(names))]]
    for place, node in enumerate(called.call.args[called.is_partial :]):
        if isinstance(node, ast.Starred):
            in_order = []  # the number of unpacked arguments is not known
        yield _Argument(node, node, in_order[place] if place < len(in_order) else None, place)
    for each in called.call.keywords:
        place = names.index(each.arg) if each.arg in names else -1
        yield _Argument(each, each.value, parameters[place] if place >= 0 else None, place)


def _change(reading: Reading, called: _Called, arguments: Sequence[_Argument]) -> Change:
    """The change that makes a call valid today."""
    if any(each.is_unpacked for each in arguments):
        raise _Doubtful("the keywords that are unpacked here are not known")
    _check(called, arguments)
    edits = tuple(_edits(reading.document, called, arguments))
    gone = tuple(each.value for each in arguments if each.becomes == _GONE)
    return Change(edits, drops=gone)


def _check(called: _Called, arguments: Sequence[_Argument]) -> None:
    """Raise unless each parameter of today is given once, and arguments by place come first."""
    kept = [each for each in arguments if each.becomes != _GONE]
    names = [each.parameter.today for each in kept if each.parameter is not None]
    if len({*names}) < len(names):
        raise _Doubtful("one argument is given twice")
    named = False
    for place, each in enumerate(kept):
        if each.becomes != _BY_PLACE:
            named = named or each.is_by_name
        elif named or each.place != place:
            raise _Doubtful("the arguments stand in another order")
        elif called.is_partial:
            raise _Doubtful("the places of the later arguments are not known")


def _edits(document: Document, called: _Called, arguments: Sequence[_Argument]) -> Iterator[Edit]:
    """The edits that rename arguments, or delete them with a comma."""
    whole = document.span(called.call)[1]
    spans = [document.span(each.node) for each in arguments]
    before = [document.span(called.function)[1], *(end for _, end in spans)]
    behind = [*(start for start, _ in spans[1:]), whole]
    is_first = not called.is_partial
    for number, each in enumerate(arguments):
        (start, end), how = spans[number], each.becomes
        is_first = is_first and how == _GONE
        if how == _AS_IT_IS:
            continue
        assert each.parameter is not None
        if how == _GONE or not each.is_by_name:
            _check_gap(document, before[number], start)
        if how == _GONE:
            _check_gap(document, end, behind[number])
            leading = Edit(start, min(behind[number], whole - 1), ())
            yield leading if is_first else Edit(before[number], end, ())
        elif not each.is_by_name:
            yield Edit(start, start, (f"{each.parameter.today}=",))
        else:
            name = _NAMED.match(document.text, start)
            if name is None or name[1] != each.parameter.name:
                # Before Python 3.12 the parser could be wrong about places in f-strings.
                raise _Doubtful("the places of the arguments are not certain")
            if how == _BY_NAME:
                yield Edit(start, name.end(1), (each.parameter.today,))
            else:
                yield Edit(start, name.end(), ())


def _check_gap(document: Document, start: int, end: int) -> None:
    """Raise if between two arguments there is more than a comma or the parentheses of the call."""
    between = "".join(_COMMENT.sub("", document.text[start:end]).split())
    if between not in (",", "(", ")", ",)"):
        raise _Doubtful("an argument stands in parentheses of its own")


def _shown(refused: Sequence[_Argument]) -> str:
    """The names of arguments, each with the way in which it is not taken: by place or by name."""
    groups: dict[str, list[str]] = {"": [], "place": [], "name": []}
    for each in refused:
        assert each.parameter is not None
        is_other = each.parameter.today != each.parameter.name
        way = "" if is_other else "name" if each.is_by_name else "place"
        groups[way].append(each.parameter.name)
    return ", and ".join(_listed(names, way) for way, names in groups.items() if names)


def _listed(names: Sequence[str], way: str) -> str:
    text = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    owner = "its" if len(names) == 1 else "their"
    return f"{text} by {owner} {way}{'s' * (len(names) > 1)}" if way else text
