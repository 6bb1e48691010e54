"""The imports that a rewritten file has."""

from __future__ import annotations

from flaxoptim_compat.migrate.imports.plan import ImportPlan

__all__ = ["ImportPlan"]
