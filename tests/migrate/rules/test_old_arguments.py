"""Old calls that jax 0.4.13 and flax 0.5.3 took: each is found, and does the same afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import pytest

import flaxoptim_compat
from flaxoptim_compat.legacy.calls.row import module_of
from flaxoptim_compat.legacy.calls.tables import ENTRIES, METHODS
from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.program.releases import releases
from tests.legacy.cases.calls import CASES
from tests.legacy.cases.old_names import encode, look_up, outcome
from tests.migrate.successors.old_code import run
from tests.support.rewriting_texts import findings_alone, rewrite_alone

CODES = ("FOC166", "FOC167", "FOC171")
_FUNCTIONS = {name.removesuffix(".__init__") for row in ENTRIES for name in row.names.split()}
_PROPERTIES = {row.old.rpartition(".")[2] for row in METHODS if not row.old.endswith("()")}
_ARRAY = "jax.numpy.asarray"


class WrittenCalls:
    """Looks names up for a case; what it calls then is written as a program of its own.

    Args:
      case: its name. If that is one of a method, arrays have their methods written. The class of a
        cell that is scanned is the class itself.
      rewritten: whether what a call gives is what its rewrite gives.
    """

    def __init__(self, case: str, rewritten: bool) -> None:
        self.findings: list[Finding] = []
        self._rewritten = rewritten
        self._is_scanned = "in scan" in case
        self._of_arrays = case.startswith("jax.Array.") and "__" not in case

    def __call__(self, name: str) -> Any:
        if name == _ARRAY and self._of_arrays:
            return lambda value: _Array(self, look_up(name)(value))
        # A cell has its old method, also where no row is about the class itself.
        is_cell = f"{name}.initialize_carry" in _FUNCTIONS
        if is_cell and self._is_scanned:
            return look_up(name)
        return _Function(self, name) if name in _FUNCTIONS or is_cell else look_up(name)

    def made(self, text: str, names: dict[str, Any], function: Callable[[], Any]) -> Any:
        """What a program gives that makes one call.

        Args:
          text: the program.
          names: what its names stand for.
          function: makes the call itself.
        """
        self.findings += [each for each in findings_alone(text) if each.code in CODES]
        if not self._rewritten:
            return function()
        return run(rewrite_alone(text, releases=releases([])), **names)


class _Function:
    """A function, or a class with methods, whose calls are written."""

    def __init__(self, calls: WrittenCalls, name: str) -> None:
        self._calls, self._name = calls, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        names: dict[str, Any] = {}
        text = f"import {module_of(self._name)}\nresult = {self._name}"
        text += f"({_arguments(args, kwargs, names)})\n"
        return self._calls.made(text, names, lambda: look_up_all(self._name)(*args, **kwargs))

    def __getattr__(self, name: str) -> Any:
        full = f"{self._name}.{name}"
        return _Function(self._calls, full)


class _Array:
    """An array whose methods are written."""

    def __init__(self, calls: WrittenCalls, value: Any) -> None:
        self._calls, self._value = calls, value

    def __getattr__(self, name: str) -> Any:
        names = {"value": self._value}
        text = f"import jax.numpy\nx = {_ARRAY}(value)\nresult = x.{name}"
        if name in _PROPERTIES:
            return self._calls.made(f"{text}\n", names, lambda: getattr(self._value, name))

        def method(*args: Any, **kwargs: Any) -> Any:
            call = f"{text}({_arguments(args, kwargs, names)})\n"
            return self._calls.made(
                call, names, lambda: getattr(self._value, name)(*args, **kwargs)
            )

        return method


def look_up_all(name: str) -> Any:
    """What a full name stands for, be it a method of a class."""
    module = module_of(name)
    if module == name.rpartition(".")[0]:
        return look_up(name)
    return getattr(look_up(name.rpartition(".")[0]), name.rpartition(".")[2])


def _arguments(args: Any, kwargs: dict[str, Any], names: dict[str, Any]) -> str:
    given = [_written(each, names) for each in args]
    return ", ".join([*given, *(f"{key}={_written(each, names)}" for key, each in kwargs.items())])


def _written(value: Any, names: dict[str, Any]) -> str:
    """A value as it is written in a program, or a name for it."""
    is_plain = value is None or isinstance(value, bool | int | float | str)
    if type(value) in (tuple, list, dict):
        is_plain = all(isinstance(each, bool | int) for each in value)
    if is_plain:
        return repr(value)
    name = f"value_{len(names)}"
    names[name] = value
    return name


# Where jax still takes an old call, it says for how long.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*deprecated:DeprecationWarning",
    "ignore:In a future release of JAX, flatten-up-to:DeprecationWarning",
)

# {a part of the name of a case: why nothing in the text of its call says that it is old}
NOT_FOUND = {
    "update() as a pair": "only what becomes of the result says whether it is old",
    ", traced": "what a compiled function is given may be an array of numpy as well",
    "jax.random.fold_in: negative": "that the number is negative is known when it runs",
    **dict.fromkeys(
        (f"jax.Array.{name}:" for name in ("argsort", "sort", "clip", "copy")),
        "other objects have such methods too",
    ),
    "jax.tree_util.tree_map: None": "so is what there is in a tree",
    "jax.Array.__float__": "so is how many numbers there are in an array",
    "jax.Array.__bool__": "so is how many numbers there are in an array",
    "jax.dlpack.from_dlpack: a capsule": "FOC152 finds what makes the capsule",
    ": in scan": "the cell is made by what scan has made of its class",
    "MultiHeadDotProductAttention(...): by name": "flax still takes inputs_kv by its name",
    "MultiHeadDotProductAttention(...)": "the module is handed to another function",
}


@pytest.fixture(autouse=True)
def numbers_of_then() -> Iterator[None]:
    with jax.threefry_partitionable(False):
        yield


def is_not_found(name: str) -> bool:
    return any(part in name for part in NOT_FOUND)


@pytest.mark.parametrize("name", CASES)
def test_an_old_call_is_found_and_does_the_same_afterwards(name: str) -> None:
    served = WrittenCalls(name, rewritten=False)
    with flaxoptim_compat.installed(era=True):
        expected = outcome(CASES[name], served)
    assert "raised" not in expected
    assert bool(served.findings) is not is_not_found(name)
    if served.findings and all(each.shim is not None for each in served.findings):
        rewritten = WrittenCalls(name, rewritten=True)
        assert encode(CASES[name](rewritten)) == expected
        assert rewritten.findings


def test_every_reason_is_about_a_case() -> None:
    assert all(any(part in name for name in CASES) for part in NOT_FOUND)
