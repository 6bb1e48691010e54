"""Where things are in a checkout; imports nothing, so that every Python may import it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "migration_guide"
DATA = ROOT / "tests" / "data"
OLD_ENVIRONMENT = ROOT / "tests" / "support" / "old_environment"
