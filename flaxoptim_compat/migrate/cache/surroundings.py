"""All that the results of a run depend on, beside the content of its files."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import flaxoptim_compat
from flaxoptim_compat.migrate.examination import Task
from flaxoptim_compat.migrate.files import FoundFile
from flaxoptim_compat.migrate.loading import is_read_only

# Goes up when what stands in the cache is written in another way.
_FORMAT = 2
# They are asked what a definition is in optax.
_ASKED = ("flax", "jax", "jaxlib", "numpy", "optax")


def name_of_run(task: Task) -> str:
    """A name that runs have in common if equal files give equal results in them.

    Args:
      task: what the run is to do.
    """
    versions = [sys.version, flaxoptim_compat.__version__]
    if task.target == "optax":
        # It takes as long as reading many files.
        import importlib.metadata

        versions += [importlib.metadata.version(each) for each in _ASKED]
    return _digest(_FORMAT, versions, _sources_of_package(), os.getcwd(), tuple(task))


def key_of_file(file: FoundFile, source: bytes) -> str:
    """A name for a file as it is now.

    Args:
      file: where it is.
      source: its content.
    """
    place = (str(file.path), file.module, file.is_package, file.kept)
    return _digest(place, is_read_only(file.path), hashlib.blake2b(source).hexdigest())


def key_of_group(keys: Sequence[str], elsewhere: bool) -> str:
    """A name for files that are read together.

    Args:
      keys: the names of these files as they are now.
      elsewhere: whether others name flax.optim.
    """
    return _digest("together", elsewhere, *keys)


def _digest(*parts: object) -> str:
    """A short name for values that are written the same whenever they are equal."""
    return hashlib.blake2b(
        repr(parts).encode("utf-8", "backslashreplace"), digest_size=16
    ).hexdigest()


def _sources_of_package() -> list[tuple[str, int, int]]:
    """What tells one state of this package from another, where people work on it."""
    top = Path(flaxoptim_compat.__file__).parent
    found = []
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(each for each in folders if each != "__pycache__")
        for name in sorted(files):
            status = os.stat(os.path.join(folder, name))
            found.append((os.path.join(folder, name), status.st_mtime_ns, status.st_size))
    return found
