"""What the names in a file refer to."""

from __future__ import annotations

from flaxoptim_compat.migrate.names.names import Names, Use

__all__ = ["Names", "Use"]
