"""What the package index says of released versions: files, Pythons, and what they need.

Of a wheel only the metadata is fetched, from the end of the file, because an index need not have it
by itself and the wheels are large.
"""

from __future__ import annotations

import functools
import io
import json
import os
import re
import urllib.error
import urllib.request
import zipfile
from email.parser import HeaderParser
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

from tests.support.oracle.cache import OracleUnavailable

INDEX = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple")
_JSON = "application/vnd.pypi.simple.v1+json"


class Wheel(NamedTuple):
    """One file of a release."""

    version: Version
    python: str
    pythons: frozenset[str]
    platform: str
    url: str


@functools.cache
def wheels(project: str) -> tuple[Wheel, ...]:
    """All wheels of a project that were not taken back, of final releases.

    Raises:
      OracleUnavailable: the index cannot be reached.
    """
    content, _ = _fetch(f"{INDEX.rstrip('/')}/{project}/", {"Accept": _JSON})
    found = []
    for file in json.loads(content)["files"]:
        if not file["filename"].endswith(".whl") or file.get("yanked"):
            continue
        _, version, _, tags = parse_wheel_filename(file["filename"])
        if version.is_prerelease:
            continue
        found.append(
            Wheel(
                version,
                file.get("requires-python") or "",
                frozenset(filter(None, (_python_of(tag.interpreter, tag.abi) for tag in tags))),
                next(iter(tags)).platform,
                file["url"],
            )
        )
    return tuple(found)


def _python_of(interpreter: str, abi: str) -> str:
    """``3.11`` of ``cp311``; nothing of those without a global lock, or for any Python."""
    match = re.fullmatch(r"cp3(\d+)", interpreter)
    return f"3.{match[1]}" if match and not abi.endswith("t") else ""


def requirements(wheel: Wheel) -> list[Requirement]:
    """What a wheel needs, with extras.

    Raises:
      OracleUnavailable: the index cannot be reached.
    """
    with zipfile.ZipFile(io.BufferedReader(_Remote(wheel.url))) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        headers = HeaderParser().parsestr(archive.read(name).decode())
    return [Requirement(each) for each in headers.get_all("Requires-Dist") or ()]


def needed(wheel: Wheel, extra: str = "") -> dict[str, str]:
    """What a wheel needs, or what an extra of it needs beside that: bounds by name."""
    found = {}
    for each in requirements(wheel):
        if ("extra ==" in str(each.marker)) != bool(extra):
            continue
        if not extra or f'extra == "{extra}"' in str(each.marker):
            found[canonicalize_name(each.name)] = str(each.specifier)
    return found


class _Remote(io.RawIOBase):
    """A file of the index, of which only what is read is fetched."""

    def __init__(self, url: str) -> None:
        self.url, self.place = url, 0
        _, answer = _fetch(url, {"Range": "bytes=-1"})
        self.size = int(answer["Content-Range"].rpartition("/")[2])

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = (0, self.place, self.size)[whence]
        self.place = start + offset
        return self.place

    def readinto(self, buffer: Any) -> int:
        # What follows is mostly asked for next.
        wanted = min(len(buffer), self.size - self.place)
        if wanted <= 0:
            return 0
        end = self.place + wanted - 1
        content, _ = _fetch(self.url, {"Range": f"bytes={self.place}-{end}"})
        buffer[: len(content)] = content
        self.place += len(content)
        return len(content)


def _fetch(url: str, headers: dict[str, str]) -> tuple[bytes, Any]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as f:
            return f.read(), f.headers
    except (OSError, urllib.error.URLError) as error:
        raise OracleUnavailable(f"cannot read {url}: {error}") from error
