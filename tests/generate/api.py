"""``migration_guide/api.md``: the public names, each with the first sentence of its docstring."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import flaxoptim_compat
from flaxoptim_compat.catalogue import MODULES as OF_FLAX
from flaxoptim_compat.catalogue import PUBLIC
from tests.generate.generator import Files, Generator
from tests.support.places import GUIDE

PAGE = GUIDE / "api.md"

_START = """\
# API

This page lists all names that a program may import. Other names are private, and change without
notice. A `Number` is a Python number, or an array of numpy or jax; a `PyTree` is any structure of
arrays.
"""
MODULES = {
    "flaxoptim_compat": (
        "Everything in `flaxoptim_compat.optim` is here too: `from flaxoptim_compat import Adam`."
    ),
    "flaxoptim_compat.optim": (
        "The names of `flax.optim`; [each optimizer](optimizers/README.md) has a page."
    ),
    "flaxoptim_compat.parity": "[Two optimizers side by side](parity.md).",
    "flaxoptim_compat.transforms": (
        "Transformations with arithmetic that optax lacks; `rewrite --to optax` writes them."
    ),
    "flaxoptim_compat.bridge.sharding": "[Many devices](scaling.md).",
    "flaxoptim_compat.bridge.t5x": "[T5X](t5x.md).",
}
_END = """\
Two other modules have their own pages: `flaxoptim_compat.nn`,
[the modules before Linen](flax_nn.md), and `flaxoptim_compat.era`, [the stand-ins](stand_ins.md)
that rewritten programs import.
"""


def names(module: str) -> list[str]:
    """The public names of a module, in its own order."""
    if module == flaxoptim_compat.__name__:
        return sorted(flaxoptim_compat._HOMES)
    if module == f"{flaxoptim_compat.__name__}.optim":
        return [name for name in PUBLIC if name not in OF_FLAX]
    loaded = importlib.import_module(module)
    # Values that are neither have no docstring of their own.
    return [
        name
        for name in loaded.__all__
        if callable(getattr(loaded, name)) or inspect.ismodule(getattr(loaded, name))
    ]


def sentence(named: Any) -> str:
    """The first sentence of a docstring, as Markdown in one line."""
    text = " ".join((inspect.getdoc(named) or "").split("\n\n")[0].split())
    return re.sub(r"``([^`]*)``", r"`\1`", text).replace("|", "\\|")


def _lines() -> Iterator[str]:
    yield _START
    for module, about in MODULES.items():
        yield f"## `{module}`\n\n{about}\n\n| name | what it is |\n| --- | --- |"
        for name in names(module):
            yield f"| `{name}` | {sentence(getattr(importlib.import_module(module), name))} |"
        yield ""
    yield _END.rstrip("\n")


def files() -> Files:
    """The page."""
    return {PAGE: ("\n".join(_lines()) + "\n").encode()}


GENERATOR = Generator("migration_guide/api.md: the docstrings of the public names", files)
