"""Which names are served at the moment."""

from __future__ import annotations

from collections.abc import Iterable

from flaxoptim_compat.legacy.entry import Entry


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
