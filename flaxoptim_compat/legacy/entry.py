"""Names that jax, flax or numpy had once: what serves each, and which are served at the moment."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """A row of the tables in ``legacy.names``.

    Args:
      name: the full name, such as ``jax.tree_map`` or, for a module, ``jax.util``.
      served_by: ``module:attribute``, or just the module if the name is one of a module.
      gone_since: the first release without it, such as ``jax 0.6.0``.
      instead: what to write today, where that is not what serves it.
      broken_if: ``module:function``, which says whether the module of this name, though it is
        there, is of no use; only then is it served in its place.
    """

    name: str
    served_by: str
    gone_since: str
    instead: str = ""
    broken_if: str = ""

    @property
    def module(self) -> str:
        """The module that had the name."""
        return self.name.rpartition(".")[0]

    @property
    def attribute(self) -> str:
        """The name without its module."""
        return self.name.rpartition(".")[2]

    @property
    def is_module(self) -> bool:
        """True if the name is that of a module, so that it can be imported."""
        return ":" not in self.served_by

    @property
    def replacement(self) -> str:
        """The text that a program has today."""
        return self.instead or self.served_by.replace(":", ".")

    @property
    def notice(self) -> str:
        """The text for a program that uses the name."""
        return f"{self.name} is gone since {self.gone_since}. Use {self.replacement} instead."

    def serve(self) -> Any:
        """The object behind the name."""
        return object_at(self.served_by)

    def is_broken(self) -> bool:
        """True if the module of this name, if it is there, is of no use."""
        return bool(self.broken_if) and bool(object_at(self.broken_if)())


def object_at(path: str) -> Any:
    """The object at ``module:attribute``; the module itself if the path is just one."""
    module, _, attribute = path.partition(":")
    try:
        served: Any = importlib.import_module(module)
        for part in filter(None, attribute.split(".")):
            served = getattr(served, part)
    except (ImportError, AttributeError) as error:
        from flaxoptim_compat.versions.allowed import refuse_old

        refuse_old(error)
        raise
    return served


class Registry:
    """The rows of the tables that are in force, by module and by name.

    Attributes:
      modules: the rows of modules, by full name.
      attributes: for each module, the rows of its attributes and submodules by their last name.
    """

    def __init__(self) -> None:
        self.modules: dict[str, Entry] = {}
        self.attributes: dict[str, dict[str, Entry]] = {}

    def add(self, entries: Iterable[Entry]) -> None:
        """Put rows in force."""
        for entry in entries:
            if entry.is_module:
                self.modules[entry.name] = entry
            self.attributes.setdefault(entry.module, {})[entry.attribute] = entry

    def remove(self, entries: Iterable[Entry]) -> None:
        """Put rows out of force."""
        for entry in entries:
            self.modules.pop(entry.name, None)
            names = self.attributes.get(entry.module, {})
            names.pop(entry.attribute, None)
            if not names:
                self.attributes.pop(entry.module, None)
