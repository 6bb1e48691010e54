"""What is said of optimizers as a whole: whether they become TrainStates, and what holds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from flaxoptim_compat.migrate.document import Document
from flaxoptim_compat.migrate.loading import Loaded
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.reports import Spot, UnitReport


def unit_reports(units: Iterable[Unit], loaded: Mapping[Document, Loaded]) -> Iterator[UnitReport]:
    """What becomes of each unit that makes an optimizer, or uses one that comes from elsewhere.

    Args:
      units: the units.
      loaded: all files that were read together.
    """
    for unit in units:
        made = [each for each in unit.uses if each.makes]
        kept = [each for each in unit.uses if loaded[each.document].kept]
        held = kept or unit.problems
        if not made and not held:
            continue
        reason = ""
        if held:
            reason = loaded[held[0].document].kept or held[0].problem
        joined = unit.joined if held and len(made) > 1 else []
        yield UnitReport(
            [_spot(each, loaded) for each in made],
            _lines(held, loaded),
            reason,
            _lines(joined, loaded),
        )


def _lines(uses: Sequence[Use], loaded: Mapping[Document, Loaded]) -> list[Spot]:
    """The places of uses, one for each line: what stands in a line is mended together."""
    found: dict[tuple[Path, int], Spot] = {}
    for spot in (_spot(each, loaded) for each in uses):
        found.setdefault((spot.path, spot.place.file_line), spot)
    return list(found.values())


def _spot(use: Use, loaded: Mapping[Document, Loaded]) -> Spot:
    start, end = map(use.document.position, use.document.span(use.node))
    return Spot(use.document.path, loaded[use.document].container.place(*start, *end))
