"""Calls of the cases, each written as a program: what is found in it, and what it becomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flaxoptim_compat.legacy.calls.row import module_of
from flaxoptim_compat.legacy.calls.tables import ENTRIES, METHODS
from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.program.releases import releases
from tests.legacy.cases.old_names import look_up
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
