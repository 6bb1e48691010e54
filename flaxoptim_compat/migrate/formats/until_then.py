"""A test of whether a program needs ``run`` until people have changed what ``rewrite`` left."""

from __future__ import annotations

from flaxoptim_compat.legacy.names.gone_for_good import GONE
from flaxoptim_compat.migrate.editing.finding import OF_OPTIMIZERS
from flaxoptim_compat.migrate.run.reports import RunReport

# Names in strings; subclasses, which import their base from this package after a rewrite; calls of
# install(); and code that needs TensorFlow.
_WORKS_WITHOUT = frozenset({"FOC104", "FOC106", "FOC111", "FOC160"})


def needs_run(report: RunReport) -> bool:
    """True if a place that was left fails on today's versions, and works under ``run``.

    Args:
      report: of a rewrite.
    """
    untouched = any(each.off_limits and each.findings for each in report.files)
    return untouched or any(
        not each.code.startswith(OF_OPTIMIZERS)
        and each.code not in _WORKS_WITHOUT
        and each.what.partition(",")[0] not in GONE
        for each in report.left
    )
