"""Names that jax, flax, numpy or Python had once, and the registry of those that are served."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any, NamedTuple


class LegacyName(NamedTuple):
    """A lost name: a row of the tables in ``legacy.names``.

    Args:
      name: the full name, such as ``jax.tree_map`` or, for a module, ``jax.util``.
      served_by: ``module:attribute``, or just a module if the name is that of a module.
      gone_since: the first release without the name, such as ``jax 0.6.0``.
      instead: the text to write today, if that is not ``served_by``.
      broken_if: ``module:function``. If the function returns True, the module of this name exists
        but is of no use, and is served too.
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
        """True if the name is that of a module, which can be imported."""
        return ":" not in self.served_by

    @property
    def replacement(self) -> str:
        """The text for a program of today."""
        return self.instead or self.served_by.replace(":", ".")

    @property
    def notice(self) -> str:
        """The text for a program that uses the name."""
        return f"{self.name} is gone since {self.gone_since}. Use {self.replacement} instead."

    def serve(self) -> Any:
        """The object behind the name."""
        return object_at(self.served_by)

    def is_broken(self) -> bool:
        """True if the module of this name exists, but is of no use."""
        return bool(self.broken_if) and bool(object_at(self.broken_if)())


def object_at(path: str) -> Any:
    """The object at ``module:attribute``, or the module if the path has no attribute."""
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
    """The lost names that are served now, by module and by name.

    Attributes:
      modules: the lost modules, by full name.
      attributes: for each module, its lost attributes and submodules by their last name.
    """

    def __init__(self) -> None:
        self.modules: dict[str, LegacyName] = {}
        self.attributes: dict[str, dict[str, LegacyName]] = {}

    def add(self, entries: Iterable[LegacyName]) -> None:
        """Begin to serve these names."""
        for entry in entries:
            if entry.is_module:
                self.modules[entry.name] = entry
            self.attributes.setdefault(entry.module, {})[entry.attribute] = entry

    def remove(self, entries: Iterable[LegacyName]) -> None:
        """Stop serving these names."""
        for entry in entries:
            self.modules.pop(entry.name, None)
            names = self.attributes.get(entry.module, {})
            names.pop(entry.attribute, None)
            if not names:
                self.attributes.pop(entry.module, None)
