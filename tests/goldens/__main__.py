"""Record all goldens anew: ``python -m tests.goldens`` in the repository root."""

from __future__ import annotations

import shutil

from tests.oracle.environments import run_in_old_environment

from . import CHECKPOINTS, DIRECTORY

shutil.rmtree(CHECKPOINTS, ignore_errors=True)
for script in ("record.py", "record_old_layouts.py"):
    print(run_in_old_environment(DIRECTORY / script).stdout, end="")
