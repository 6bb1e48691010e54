"""Parsed files that wait until it is known which others they belong to."""

from __future__ import annotations

from flaxoptim_compat.migrate.loading import Loaded

# In bytes of their sources. A parsed file takes up to a hundred times as much memory.
MOST_WAITING = 5_000_000


class Waiting:
    """Files by their numbers, as many as there is room for."""

    def __init__(self) -> None:
        self._loaded: dict[int, Loaded] = {}
        self._room = MOST_WAITING

    def __contains__(self, number: int) -> bool:
        return number in self._loaded

    def keep(self, number: int, loaded: Loaded) -> None:
        """Keep a file if there is room; else it is to be read again when it is needed."""
        if len(loaded.source) <= self._room:
            self._room -= len(loaded.source)
            self._loaded[number] = loaded

    def take(self, number: int) -> Loaded | None:
        """A file, which is not kept any more; None if there was no room for it."""
        loaded = self._loaded.pop(number, None)
        if loaded is not None:
            self._room += len(loaded.source)
        return loaded
