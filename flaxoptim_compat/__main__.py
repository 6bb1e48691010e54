"""``python -m flaxoptim_compat``."""

from __future__ import annotations

from flaxoptim_compat.cli import command

command()
