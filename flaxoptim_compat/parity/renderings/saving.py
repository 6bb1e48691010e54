"""A report in a file, in the form that the file's suffix says."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from flaxoptim_compat.parity.errors import ParityError
from flaxoptim_compat.parity.findings import Findings
from flaxoptim_compat.parity.renderings.as_json import to_json
from flaxoptim_compat.parity.renderings.page import to_html
from flaxoptim_compat.parity.renderings.png import require_matplotlib, to_png
from flaxoptim_compat.parity.renderings.svg import to_svg
from flaxoptim_compat.parity.renderings.table import table

_FORMS: dict[str, Callable[[Findings], bytes]] = {
    ".html": lambda report: to_html(report).encode(),
    ".json": lambda report: to_json(report).encode(),
    ".txt": lambda report: f"{table(report)}\n".encode(),
    ".png": to_png,
    ".svg": lambda report: to_svg(report).encode(),
}


def check(path: str | os.PathLike[str]) -> None:
    """See that ``save`` could write there, before a comparison that takes long.

    Raises:
      ParityError: a suffix that means no form, no such directory, or no matplotlib for PNG.
    """
    path = Path(path)
    if path.suffix not in _FORMS:
        raise ParityError(
            f"{path}: the name of a report ends with its form, which is one of {', '.join(_FORMS)}."
        )
    if path.is_dir():
        raise ParityError(f"{path} is a directory. Name a file.")
    if not path.parent.is_dir():
        raise ParityError(f"There is no directory {path.parent}. Make it first.")
    if path.suffix == ".png":
        require_matplotlib()


def save(report: Findings, path: str | os.PathLike[str]) -> None:
    """Write a report; a file that is there already is replaced once the new one is whole.

    Args:
      report: what to write.
      path: where; it ends with ``.html``, ``.json``, ``.txt``, ``.png`` or ``.svg``.

    Raises:
      ParityError: another suffix, a place that cannot be written, or no matplotlib for PNG.
    """
    check(path)
    path = Path(path)
    content = _FORMS[path.suffix](report)
    unfinished = path.with_name(f"unfinished-{path.name}-{secrets.token_hex(4)}")
    try:
        with unfinished.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError):
            message = f"{path} cannot be written: {error.strerror or error}."
            raise ParityError(message) from error
        raise
