"""The report of a comparison: what was found, and all the forms in which it is shown."""

from __future__ import annotations

import os

from flaxoptim_compat.parity.findings import PARAMETER, Cause, Findings, Parting, Series, Track
from flaxoptim_compat.parity.renderings.as_json import to_json
from flaxoptim_compat.parity.renderings.page import to_html
from flaxoptim_compat.parity.renderings.saving import save
from flaxoptim_compat.parity.renderings.table import table

# A report, and what it holds.
__all__ = ["PARAMETER", "Cause", "Parting", "Report", "Series", "Track"]


class Report(Findings):
    """Two runs compared after each step; ``Findings`` says what it holds."""

    def __str__(self) -> str:
        return table(self)

    def to_json(self) -> str:
        """The whole report as JSON."""
        return to_json(self)

    def to_html(self) -> str:
        """The report as one page that needs nothing else."""
        return to_html(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a file.

        Args:
          path: its suffix says in what form: ``.html``, ``.json``, ``.txt``, ``.svg``, or ``.png``,
            which needs the extra ``plot``.

        Raises:
          ParityError: another suffix, or no matplotlib for PNG.
        """
        save(self, path)
