"""Serving flax.optim to every program of a Python environment, by a file that Python reads."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from flaxoptim_compat.atomic import appearing_file, remove_left_of
from flaxoptim_compat.legacy import installing
from flaxoptim_compat.versions import allowed

# After the files by which an editable install puts this package on the path: Python goes by name.
FILE_NAME = "flaxoptim_compat_enabled.pth"
_MARK = "flaxoptim-compat enable"
_PROBE = "import sys; print([f.era for f in sys.meta_path if type(f).__name__ == 'Hook'])"


def hook_file() -> Path:
    """The file, there or not, in the folder where this Python has its packages."""
    return Path(sysconfig.get_path("purelib")) / FILE_NAME


# Whatever stands in the place of this package, Python starts. Where there is none any more, the
# file has outlived an uninstall, and says nothing. In a virtual environment Python runs it twice.
_CODE = """\
try:
 from flaxoptim_compat.legacy import hook
 hook.start(era={era})
except KeyboardInterrupt:
 raise
except BaseException as error:
 if getattr(error, 'name', '') != 'flaxoptim_compat' and not hasattr(sys, '_flaxoptim_compat'):
  sys._flaxoptim_compat = 'damaged'
  sys.stderr.write('flaxoptim-compat: flax.optim is not served: ' + type(error).__name__)
  sys.stderr.write('. Install flaxoptim_compat anew, or delete ' + {path!a} + chr(10))
"""


def _text(era: bool, path: Path) -> str:
    # One line, because Python runs only single lines of it.
    return f"import sys; exec({_CODE.format(era=era, path=str(path))!r})  # written by {_MARK}\n"


def enable(era: bool) -> Path:
    """Write the file, whole or not at all.

    Args:
      era: whether to serve more than flax.optim.

    Raises:
      OSError: the folder cannot be written to.
      RuntimeError: there is a ``flax.optim`` already, or another file by this name, or a version
        with which no program of this environment would start.
    """
    existing = installing.existing_flax_optim()
    if existing is not None:
        raise RuntimeError(f"This Python has a flax.optim of its own: {existing}.")
    if old := _too_old(versions()):
        raise RuntimeError(" ".join([*old, "See migration_guide/versions.md."]))
    path = hook_file()
    remove_left_of(path)
    with appearing_file(path, lambda: _refuse_foreign(path)) as file:
        file.write(_text(era, path).encode())
        # All who run this Python read it, whatever the umask is.
        os.chmod(file.name, 0o644)
    return path


def disable() -> Path | None:
    """Delete the file; returns None if there was none.

    Raises:
      OSError: the folder cannot be written to.
      RuntimeError: the file by this name is not one of this package.
    """
    path = hook_file()
    remove_left_of(path)
    if not path.exists():
        return None
    _refuse_foreign(path)
    path.unlink()
    return path


def _refuse_foreign(path: Path) -> None:
    if path.exists() and _MARK not in path.read_text(errors="replace"):
        raise RuntimeError(f"{path} is not from flaxoptim-compat; it stays as it is.")


def serving() -> str | None:
    """The way a program that starts now is served: ``era``, ``optim`` or, if not at all, None."""
    # Asked of a new Python, because a file that is there may still not take effect.
    done = subprocess.run(
        [sys.executable, "-c", _PROBE], capture_output=True, text=True, check=False
    )
    return {"[True]": "era", "[False]": "optim"}.get(done.stdout.strip())


def versions() -> dict[str, str | None]:
    """The installed versions of this package and of those that it computes with."""
    needed = [name for name in allowed.OLDEST if name != "Python"]
    return {name: allowed.version_of(name) for name in ("flaxoptim_compat", *needed)}


def conflicts(served: str | None) -> list[str]:
    """The problems that keep old programs from running here, one sentence each.

    Args:
      served: what ``serving`` says, which takes a new Python to find out.
    """
    found = []
    existing = installing.existing_flax_optim()
    if existing is not None:
        found.append(f"There is a flax.optim at {existing}, which is not replaced.")
    if hook_file().exists() and served is None:
        found.append(f"{hook_file()} is there, but Python does not run it.")
    installed = versions()
    found += [f"{name} is not installed." for name, version in installed.items() if not version]
    return found + _too_old(installed)


def _too_old(installed: dict[str, str | None]) -> list[str]:
    return [
        f"{name} {version} is older than {allowed.OLDEST[name]}, the oldest that is supported."
        for name, version in allowed.too_old(installed).items()
    ]
