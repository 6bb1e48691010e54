"""Rules of ``jax.interpreters.xla``, by which a program's own primitives were compiled.

A rule that ``lower_fun`` made from a function is registered with today's compiler. A rule that
built XLA operations itself is kept and never called: such a primitive also needs a rule of
``jax.interpreters.mlir``, which most programs had too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from jax.interpreters import mlir


class FunctionRule(NamedTuple):
    """A rule that ``lower_fun`` made."""

    fun: Callable[..., Any]
    multiple_results: bool


def lower_fun(fun: Callable[..., Any], multiple_results: bool, **unused: Any) -> FunctionRule:
    """Make a rule from a function of arrays; other arguments have no effect."""
    del unused
    return FunctionRule(fun, multiple_results)


def register_translation(primitive: Any, rule: Any, *, platform: str | None = None) -> None:
    """Register a rule for a primitive, on all platforms or on one."""
    table = translations if platform is None else backend_specific_translations[platform]
    table[primitive] = rule


class Translations(dict[Any, Any]):
    """The rules by primitive."""

    def __init__(self, platform: str | None = None) -> None:
        super().__init__()
        self.platform = platform

    def __setitem__(self, primitive: Any, rule: Any) -> None:
        super().__setitem__(primitive, rule)
        if isinstance(rule, FunctionRule):
            lowering = mlir.lower_fun(rule.fun, rule.multiple_results)
            mlir.register_lowering(primitive, lowering, platform=self.platform)


class _ByPlatform(dict[str, Translations]):
    def __missing__(self, platform: str) -> Translations:
        return self.setdefault(platform, Translations(platform))


translations = Translations()
backend_specific_translations = _ByPlatform()
