"""How the tests of ``migrate`` that draw their cases at random do so."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# The same programs in every run: a mistake is found where it is made.
DRAWN = settings(
    deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
