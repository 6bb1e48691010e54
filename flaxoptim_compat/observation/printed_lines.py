"""What two runs of a program printed, line by line, with numbers as numbers.

Lines are compared as a multiset, since several processes print theirs in any order. Times, places
in the source and warnings are left out in any case: they differ after any rewrite, or by chance do
not differ in two runs. What else differs from run to run, such as drawn names, a third run shows:
what two runs of the old program print differently is left out too.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
# What is left out of a line, and what stands there instead.
_LEFT_OUT = [
    (re.compile(pattern), by)
    for pattern, by in [
        (r"\x1b\[[0-9;?]*[A-Za-z]", ""),
        # The beginning of a line of absl: I1129 05:01:15.123456 140 train.py:33]
        (r"^[IEF]\d{4} [\d:.]+ +\d+ (?=\S+:\d+\])", ""),
        (r"\d{4}[-/]\d\d?[-/]\d\d?(?:T(?=\d))?", "<date>"),
        (r"\b\d+:\d\d(?::\d\d)?(?:[.,]\d+)?", "<time>"),
        (r"\.py(?::\d+|\", line \d+)", ".py"),
        (r"\b0x[0-9a-fA-F]{4,}", "<address>"),
        (rf"(?<![\w.]){_NUMBER} ?(?:\w*/s(?:ec)?|s/\w+)\b", "<speed>"),
        (rf"(?<![\w.]){_NUMBER} ?(?:[mnuµ]?s|secs?|seconds?|mins?|minutes?|h|hours?)\b", "<time>"),
        (
            r"(?i)(\b(?:\w*time|elapsed|took|duration|eta|sec(?:ond)?s|latency|fps|speed|\w*per_sec"
            rf"(?:ond)?)\b\W{{1,4}}){_NUMBER}",
            r"\1<time>",
        ),
        # Of pytest, which counts warnings, and pads its lines.
        (r",? \d+ warnings?\b", ""),
        (r"={2,}", "="),
    ]
]
_TOKEN = re.compile(rf"(?:(?<!\w)[-+])?{_NUMBER}(?!\w)|\w+|\S")
# A warning of Python, whose next line quotes the program; one of absl; a log of XLA; and our own.
_WARNING = re.compile(r"\S.*:\d+: (?:\w+\.)*\w*Warning: ")
_NO_OUTPUT = re.compile(r"W\d{4} |WARNING:|flaxoptim-compat: |.*\.(?:cc|cpp|h):\d+\] ")
_OF_PYTEST = re.compile(r"=+ warnings summary")

# As much is shown before the first difference of two lines, and after.
_CONTEXT = 40

Pair = tuple[str, str]


class _Line(NamedTuple):
    """A line by what counts of it.

    Args:
      text: the line as it was printed.
      tokens: its words, numbers and signs.
      form: the tokens, with # for those with digits.
      structure: the tokens, with # for all words.
    """

    text: str
    tokens: tuple[str, ...]
    form: str
    structure: str


@dataclasses.dataclass(frozen=True)
class ComparedLines:
    """The result of a comparison of two texts.

    Args:
      differing: the lines of the first text and of the second that differ; "" for a line without
        a counterpart.
      compared: how many lines of the first text were compared.
      is_exact: whether all lines are the same, character by character.
    """

    differing: list[Pair]
    compared: int
    is_exact: bool

    def in_words(self) -> str:
        """How many lines differ, and the first ones."""
        pair, *more = self.differing
        # A file of JSON may be one line, of which the beginning tells little.
        signs = enumerate(zip(*pair, strict=False))
        start = max(0, next((at for at, (a, b) in signs if a != b), 0) - _CONTEXT)
        old, new = (f"{'…' if start else ''}{each[start : start + 2 * _CONTEXT]}" for each in pair)
        return f"`{old}` is now `{new}`" + (f", and {len(more):,} more" if more else "")


@dataclasses.dataclass(frozen=True)
class Closeness:
    """How far numbers may be apart that are made from the states of optimizers.

    Args:
      relative: the part of the larger one.
      is_rounded: whether a last digit may differ too: where numbers differ at all, some are printed
        on either side of a boundary. A number of one or two digits hardly is.
    """

    relative: float
    is_rounded: bool

    def holds(self, old: str, new: str) -> bool:
        """True if two tokens are the same, or numbers that are close."""
        if old == new:
            return True
        first, second = _number(old), _number(new)
        if first is None or second is None:
            return False
        if set(".eE") & {*old, *new}:
            largest = max(abs(first), abs(second))
            allowed = self.relative * largest
            unit = max(_unit(old), _unit(new))
            if self.is_rounded and unit <= 0.01 * largest:
                allowed += 1.001 * unit
            return abs(first - second) <= allowed
        return first == second


def compare(before: str, after: str, again: str | None, closeness: Closeness) -> ComparedLines:
    """Compare two texts.

    Args:
      before: what the first run of a program printed.
      after: what the second run printed.
      again: what another run like the first printed.
      closeness: how far numbers may be apart.
    """
    olds, news = list(_lines(before)), list(_lines(after))
    is_exact = Counter(each.text for each in olds) == Counter(each.text for each in news)
    group, masks = _noise(olds, list(_lines(again))) if again is not None else (_form, {})
    pairs: list[tuple[_Line | None, _Line | None]] = []
    old_groups, new_groups = _grouped(olds, group), _grouped(news, group)
    compared = len(olds)
    for name in dict.fromkeys((*old_groups, *new_groups)):
        several, others = old_groups.get(name, []), new_groups.get(name, [])
        mask = masks.get(name, frozenset())
        if mask is None:
            compared -= len(several)
        else:
            pairs += _differing(several, others, mask, closeness)
    # Lines of other forms stand for each other in their order.
    only_old = [old for old, new in pairs if old and not new]
    only_new = [new for old, new in pairs if new and not old]
    both = [(old.text, new.text) for old, new in pairs if old and new]
    texts = (
        (old.text if old else "", new.text if new else "")
        for old, new in zip_longest(only_old, only_new)
    )
    return ComparedLines([*both, *texts], compared, is_exact)


def together(several: Sequence[ComparedLines]) -> ComparedLines:
    """The results of several comparisons as one."""
    return ComparedLines(
        [pair for each in several for pair in each.differing],
        sum(each.compared for each in several),
        all(each.is_exact for each in several),
    )


def _lines(text: str) -> Iterator[_Line]:
    """The lines but empty ones and those of warnings; of one written over, what is seen last."""
    is_quoted = is_of_pytest = False
    for whole in text.split("\n"):
        shown = next((each.rstrip() for each in reversed(whole.split("\r")) if each.strip()), "")
        if is_of_pytest and shown.startswith(("=", "-- Docs:")):
            is_of_pytest = False
            if shown.startswith("--"):
                continue
        was_warning, is_quoted = is_quoted, _WARNING.match(shown) is not None
        is_of_pytest = is_of_pytest or _OF_PYTEST.match(shown) is not None
        is_left_out = is_quoted or (was_warning and shown.startswith("  ")) or is_of_pytest
        if shown and not is_left_out and not _NO_OUTPUT.match(shown):
            yield _line(shown)


def _line(text: str) -> _Line:
    counting = text
    for pattern, by in _LEFT_OUT:
        counting = pattern.sub(by, counting)
    tokens = tuple(_TOKEN.findall(counting))
    form = " ".join("#" if any(map(str.isdigit, each)) else each for each in tokens)
    structure = " ".join("#" if any(map(str.isalnum, each)) else each for each in tokens)
    return _Line(text, tokens, form, structure)


def _form(line: _Line) -> Hashable:
    return line.form


def _grouped(
    lines: Sequence[_Line], group: Callable[[_Line], Hashable]
) -> dict[Hashable, list[_Line]]:
    groups: dict[Hashable, list[_Line]] = defaultdict(list)
    for line in lines:
        groups[group(line)].append(line)
    return groups


# {a group of lines: the places of tokens that differ from run to run; None: all of the lines do}
_Masks = dict[Hashable, "frozenset[int] | None"]


def _noise(
    olds: Sequence[_Line], agains: Sequence[_Line]
) -> tuple[Callable[[_Line], Hashable], _Masks]:
    """The group of a line, and what two runs of one program print differently in each group.

    A line with a drawn name has a form of its own in each run, so it is known by its structure.
    """
    forms = {each.form for each in olds} & {each.form for each in agains}

    def group(line: _Line) -> Hashable:
        return line.form if line.form in forms else (line.structure,)

    masks: _Masks = {}
    old_groups, again_groups = _grouped(olds, group), _grouped(agains, group)
    for name in {*old_groups, *again_groups}:
        several, others = old_groups.get(name, []), again_groups.get(name, [])
        masks[name] = None
        if len(several) == len(others):
            # In whatever order the lines come, a place that is no noise has the same tokens.
            columns = zip(*(each.tokens for each in several), strict=True)
            other_columns = zip(*(each.tokens for each in others), strict=True)
            places = enumerate(zip(columns, other_columns, strict=True))
            mask = frozenset(at for at, (old, new) in places if Counter(old) != Counter(new))
            if _counted(several, mask) == _counted(others, mask):
                masks[name] = mask
    return group, masks


def _counted(lines: Sequence[_Line], mask: frozenset[int]) -> Counter[Hashable]:
    return Counter(_key(each, mask) for each in lines)


def _key(line: _Line, mask: frozenset[int]) -> tuple[Hashable, ...]:
    """What counts of a line: two ways to write a number are one."""
    values = ((_number(each), each) for each in line.tokens)
    return tuple(
        None if at in mask else text if number is None else number
        for at, (number, text) in enumerate(values)
    )


def _differing(
    olds: Sequence[_Line], news: Sequence[_Line], mask: frozenset[int], closeness: Closeness
) -> Iterator[tuple[_Line | None, _Line | None]]:
    """The lines of a group without a close one in the other run, in pairs."""
    pairs = list(zip_longest(_surplus(olds, news, mask), _surplus(news, olds, mask)))

    def is_far(pair: tuple[_Line | None, _Line | None]) -> bool:
        old, new = pair
        return not (old and new) or not all(
            at in mask or closeness.holds(*each)
            for at, each in enumerate(zip(old.tokens, new.tokens, strict=True))
        )

    far = list(filter(is_far, pairs))
    # Those of several processes come in another order.
    ordered = (
        sorted(filter(None, each), key=lambda line: [_number(token) or 0 for token in line.tokens])
        for each in zip(*far, strict=True)
    )
    return filter(is_far, zip_longest(*ordered)) if far else iter(())


def _surplus(
    lines: Sequence[_Line], others: Sequence[_Line], mask: frozenset[int]
) -> Iterator[_Line]:
    known = _counted(others, mask)
    for line in lines:
        key = _key(line, mask)
        known[key] -= 1
        if known[key] < 0:
            yield line


def _number(token: str) -> float | None:
    try:
        # Only what is written as one: not nan, 1_000 or Infinity, which are words here.
        return float(token) if token[-1] in "0123456789." and "_" not in token else None
    except ValueError:
        return None


def _unit(token: str) -> float:
    """One unit in the last digit of a number."""
    digits, _, exponent = token.lower().partition("e")
    return float(10.0 ** (int(exponent or 0) - len(digits.partition(".")[2])))
