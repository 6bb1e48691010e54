"""What ``--version`` prints: all that a report of a bug has to say about versions."""

from __future__ import annotations

import platform

from flaxoptim_compat import __version__
from flaxoptim_compat.legacy import environment


def text() -> str:
    """A line each for this package, those that it needs, Python and the platform.

    None of them is imported: where importing jax fails, people need this most.
    """
    # What is imported says its version itself: a checkout may be newer than its installation.
    others = {k: v for k, v in environment.versions().items() if k != "flaxoptim_compat"}
    lines = [
        f"flaxoptim-compat {__version__}",
        *(f"{name} {version or 'missing'}" for name, version in others.items()),
        f"Python {platform.python_version()}",
        platform.platform(),
    ]
    return "\n".join(lines)
