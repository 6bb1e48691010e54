"""A report in a file, in the form that the file's suffix says."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
from pathlib import Path

from flaxoptim_compat.parity.errors import ParityError
from flaxoptim_compat.parity.findings import Findings
from flaxoptim_compat.parity.renderings.as_json import to_json
from flaxoptim_compat.parity.renderings.page import to_html
from flaxoptim_compat.parity.renderings.table import table

_PLOTS = (".png", ".svg")
_SUFFIXES = (".html", ".json", ".txt", *_PLOTS)


def check(path: str | os.PathLike[str]) -> None:
    """See that ``save`` could write there, before a comparison that takes long.

    Raises:
      ParityError: a suffix that means no form, no such directory, or no matplotlib for a plot.
    """
    path = Path(path)
    if path.suffix not in _SUFFIXES:
        raise ParityError(
            f"{path}: the name of a report ends with its form, which is one of"
            f" {', '.join(_SUFFIXES)}."
        )
    if path.is_dir():
        raise ParityError(f"{path} is a directory. Name a file.")
    if not path.parent.is_dir():
        raise ParityError(f"There is no directory {path.parent}. Make it first.")
    if path.suffix in _PLOTS:
        from flaxoptim_compat.parity.renderings.plots import require_matplotlib

        require_matplotlib()


def save(report: Findings, path: str | os.PathLike[str]) -> None:
    """Write a report; a file that is there already is replaced once the new one is whole.

    Args:
      report: what to write.
      path: where; it ends with ``.html``, ``.json``, ``.txt``, ``.png`` or ``.svg``.

    Raises:
      ParityError: another suffix, a place that cannot be written, or no matplotlib for a plot.
    """
    check(path)
    path = Path(path)
    content = _content(report, path.suffix)
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


def _content(report: Findings, suffix: str) -> bytes:
    if suffix in _PLOTS:
        from flaxoptim_compat.parity.renderings.plots import save_plot

        buffer = io.BytesIO()
        save_plot(report, buffer, suffix[1:])
        return buffer.getvalue()
    text = {".html": to_html, ".json": to_json, ".txt": table}[suffix](report)
    return f"{text}\n".encode() if suffix == ".txt" else text.encode()
