"""The error of two sides that cannot be compared."""

from __future__ import annotations


class ParityError(ValueError):
    """Two sides cannot be compared as asked; the message says why, and what to do."""
