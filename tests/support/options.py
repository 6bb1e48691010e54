"""Which combinations of options every run tries, and which only ``pytest --exhaustive`` does."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from tests.support import cases

exhaustive = pytest.mark.exhaustive

# Every optimizer with its defaults and with no hyper-parameter at its default, and what is made of
# several. The others change one hyper-parameter, which the second kind changes as well, or put
# WeightNorm around yet another optimizer.
_INNER = {"WeightNorm-over_Adam", "MultiOptimizer-two", "MultiOptimizer-three"}
TELLING = tuple(
    case
    for case in cases.CASES
    if case.name in _INNER
    or case.name.endswith(("-default", "-all", "-all_factored", "-bf16_momentum"))
)
# Of those, one for each optimizer: where a test is about something that all of them do.
ONE_EACH = tuple(
    next(case for case in reversed(TELLING) if case.optimizer == name)
    for name in dict.fromkeys(case.optimizer for case in TELLING)
)
# One of each family: averages corrected for their start, factors, a norm of the whole leaf, a root.
FAMILIES = ("Adam", "Adafactor", "LARS", "RMSProp")


def params(every: Iterable[Sequence[Any]], few: Iterable[Sequence[Any]]) -> list[Any]:
    """Parameters of a test: a few combinations, and the rest of all for an exhaustive run."""
    names = {_name(each) for each in few}
    found = [
        pytest.param(*each, id=_name(each), marks=() if _name(each) in names else exhaustive)
        for each in every
    ]
    assert names <= {str(each.id) for each in found}, "one of the few is none of all"
    return found


def each(every: Iterable[Any], few: Iterable[Any]) -> list[Any]:
    """The same for a single option."""
    return params(((value,) for value in every), ((value,) for value in few))


def each_case(few: Iterable[cases.Case] = TELLING) -> list[Any]:
    """The cases as parameters, of which those that are not among the few are for such a run."""
    return each(cases.CASES, few)


def each_case_with(values: Sequence[Any]) -> list[tuple[cases.Case, Any]]:
    """The telling cases with each value, and of the others each with one, by turns.

    No branch of the package is reached only by the other combinations of a single hyper-parameter
    with a dtype, or with what holds the arrays: coverage of the steps is the same without them.
    """
    others = [case for case in cases.CASES if case not in TELLING]
    return [*itertools.product(TELLING, values), *each_value(others, values)]


def _name(combination: Sequence[Any]) -> str:
    return "-".join(str(getattr(value, "name", value)) for value in combination)


def each_value(*options: Sequence[Any]) -> list[tuple[Any, ...]]:
    """As many combinations as the longest option has values, and each value in one of them."""
    longest = max(map(len, options))
    # Not all options step on together, or two of the same length would always meet the same way.
    return [
        tuple(
            values[(turn + turn // len(values) * place) % len(values)]
            for place, values in enumerate(options)
        )
        for turn in range(longest)
    ]
