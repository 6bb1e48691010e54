"""The report of a comparison, and the forms in which it is shown."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from flaxoptim_compat.atomic import appearing_file
from flaxoptim_compat.parity.errors import ParityError
from flaxoptim_compat.parity.findings import Findings
from flaxoptim_compat.parity.renderings.as_json import to_json
from flaxoptim_compat.parity.renderings.page import to_html
from flaxoptim_compat.parity.renderings.picture import require_matplotlib, to_png, to_svg
from flaxoptim_compat.parity.renderings.table import table

_FORMS: dict[str, Callable[[Findings], str | bytes]] = {
    ".html": to_html,
    ".json": to_json,
    ".txt": lambda report: f"{table(report)}\n",
    ".png": to_png,
    ".svg": to_svg,
}


class Report(Findings):
    """A report on two runs, compared after each step; see ``Findings`` for its fields."""

    def __str__(self) -> str:
        return table(self)

    def to_json(self) -> str:
        """The whole report as JSON."""
        return to_json(self)

    def to_html(self) -> str:
        """The report as an HTML page that loads nothing else."""
        return to_html(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report; a file that is there already is replaced once the new one is whole.

        Args:
          path: its suffix says in what form: ``.html``, ``.json``, ``.txt``, or ``.svg`` and
            ``.png``, which need the extra ``plot``, as do the curves of a page.

        Raises:
          ParityError: the suffix is no form, the file cannot be written, or matplotlib is missing.
        """
        path = Path(path)
        check(path)
        content = _FORMS[path.suffix](self)
        try:
            with appearing_file(path) as file:
                file.write(content.encode() if isinstance(content, str) else content)
        except OSError as error:
            message = f"{path} cannot be written: {error.strerror or error}."
            raise ParityError(message) from error


def check(path: Path) -> None:
    """Raise if a report cannot be saved at a path, before a comparison that takes long.

    Raises:
      ParityError: the suffix is no form, the directory is missing, or matplotlib for a picture.
    """
    if path.suffix not in _FORMS:
        raise ParityError(
            f"{path}: the name of a report ends with its form, one of {', '.join(_FORMS)}."
        )
    if path.is_dir():
        raise ParityError(f"{path} is a directory. Name a file.")
    if not path.parent.is_dir():
        raise ParityError(f"There is no directory {path.parent}. Make it first.")
    if path.suffix in (".png", ".svg"):
        require_matplotlib()
