"""Serves flax.optim to every program of a Python environment, through a file that Python reads."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from flaxoptim_compat.atomic import appearing_file, remove_left_of
from flaxoptim_compat.legacy import installing
from flaxoptim_compat.versions import allowed

# Python reads such files by name: this one after those of an editable install of this package.
FILE_NAME = "flaxoptim_compat_enabled.pth"
_MARK = "flaxoptim-compat enable"
_PROBE = "import sys; print([f.era for f in sys.meta_path if type(f).__name__ == 'Hook'])"


def hook_file() -> Path:
    """The path of the file, which may exist, in the folder with the packages of this Python."""
    return Path(sysconfig.get_path("purelib")) / FILE_NAME


# Python must start even with a damaged package. If the package was uninstalled, the file does
# nothing and prints nothing. In a virtual environment, Python runs the file twice.
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


def enable(era: bool) -> Path:
    """Write the file, whole or not at all.

    Args:
      era: whether to serve the other lost names too.

    Raises:
      OSError: the folder cannot be written to.
      RuntimeError: there is a ``flax.optim`` already, or another file of this name, or an installed
        version is too old.
    """
    existing = installing.existing_flax_optim()
    if existing is not None:
        raise RuntimeError(f"This Python has a flax.optim of its own: {existing}.")
    if old := _too_old(versions()):
        raise RuntimeError(" ".join([*old, "See migration_guide/versions.md."]))
    path = hook_file()
    remove_left_of(path)
    code = _CODE.format(era=era, path=str(path))
    with appearing_file(path, lambda: _refuse_foreign(path)) as file:
        # In one line, because Python runs each line of the file by itself.
        file.write(f"import sys; exec({code!r})  # written by {_MARK}\n".encode())
        # Every user of this Python must be able to read the file, whatever the umask is.
        os.chmod(file.name, 0o644)
    return path


def disable() -> Path | None:
    """Delete the file; returns None if there was none.

    Raises:
      OSError: the folder cannot be written to.
      RuntimeError: the file of this name does not come from this package.
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
        raise RuntimeError(
            f"{path} does not come from flaxoptim-compat and stays. Rename the file first."
        )


def serving() -> str | None:
    """The names served to a program that starts now: ``era``, ``optim``, or None for none."""
    # A new Python tells, because the file may exist without taking effect.
    done = subprocess.run(
        [sys.executable, "-c", _PROBE], capture_output=True, text=True, check=False
    )
    return {"[True]": "era", "[False]": "optim"}.get(done.stdout.strip())


def versions() -> dict[str, str | None]:
    """The installed versions of this package and of the packages that it needs."""
    needed = [name for name in allowed.OLDEST if name != "Python"]
    return {name: allowed.version_of(name) for name in ("flaxoptim_compat", *needed)}


def conflicts(served: str | None) -> list[str]:
    """The problems that keep old programs from running here, one sentence each.

    Args:
      served: the result of ``serving``, which starts a new Python.
    """
    problems = []
    existing = installing.existing_flax_optim()
    if existing is not None:
        problems.append(f"There is a flax.optim at {existing}, which is not replaced.")
    if hook_file().exists() and served is None:
        problems.append(f"{hook_file()} exists, but Python does not run the file.")
    installed = versions()
    problems += [f"{name} is not installed." for name, version in installed.items() if not version]
    return problems + _too_old(installed)


def _too_old(installed: dict[str, str | None]) -> list[str]:
    return [
        f"{name} {version} is older than {allowed.OLDEST[name]}, the oldest that is supported."
        for name, version in allowed.too_old(installed).items()
    ]
