"""The text of ``--version``: all that a report of a bug has to say about versions."""

from __future__ import annotations

import platform

from flaxoptim_compat import __version__
from flaxoptim_compat.versions import allowed

# These packages come with flax and optax. Any version is allowed, but a bug may be theirs.
OPTIONAL = ("orbax-checkpoint", "chex")


def text() -> str:
    """A line for each package that this one needs or can use, and one for the platform.

    The line of a package that is too old or missing says which version is needed.
    """
    # The imported package knows its own version: a checkout may be newer than the installed one.
    lines = [f"flaxoptim-compat {__version__}"]
    versions = {name: allowed.version_of(name) for name in (*allowed.OLDEST, *OPTIONAL)}
    unfit = allowed.too_old(versions)
    for name, version in versions.items():
        if name in unfit or (version is None and name not in OPTIONAL):
            shown = version or "missing"
            lines.append(f"{name} {shown}, needs {allowed.OLDEST[name]} or newer")
        elif version is not None:
            lines.append(f"{name} {version}")
    return "\n".join([*lines, platform.platform()])
