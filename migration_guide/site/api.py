"""Below each table of names in ``api.md``, the site has what their docstrings say."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

from sphinx.application import Sphinx

_MODULE = re.compile(r"^## `(?P<module>[\w.]+)`$", re.M)
_ALIAS = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")
_NAME = re.compile(r"^\| `(?P<name>\w+)` \|", re.M)


def with_docstrings(text: str) -> str:
    """The page with a description of each name after the table that lists it."""
    start, *sections = re.split(r"(?m)^(?=## )", text)
    return "".join([start, *map(_described, sections)])


def _described(section: str) -> str:
    if (heading := _MODULE.match(section)) is None:
        return section
    module = heading["module"]
    names = [found["name"] for found in _NAME.finditer(section)]
    directives = "\n".join(_directive(module, name) for name in names)
    block = f"```{{eval-rst}}\n.. currentmodule:: {module}\n\n{directives}\n```"
    return f"{section.rstrip()}\n\n{block}\n\n"


def _directive(module: str, name: str) -> str:
    named = getattr(importlib.import_module(module), name)
    if inspect.ismodule(named):
        return f".. automodule:: {named.__name__}\n   :members:\n"
    if inspect.isclass(named):
        return f".. autoclass:: {name}\n   :members:\n"
    return f".. autofunction:: {name}\n"


def _read(app: Sphinx, page: str, source: list[str]) -> None:
    if page == "api":
        source[0] = with_docstrings(source[0])


def _signature(*event: Any) -> tuple[str | None, ...]:
    """Sphinx names an alias, in a union with None, by a class of its own."""
    *_, arguments, returned = event
    return tuple(each and _ALIAS.sub(r"\1", each) for each in (arguments, returned))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", _read)
    app.connect("autodoc-process-signature", _signature)
    return {"parallel_read_safe": True}
