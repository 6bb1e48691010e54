"""What XLA is told about compiling, in tests and in the programs that they start."""

from __future__ import annotations

import functools
import os
import subprocess
import sys

# Most of the time of an old program that trains for a few steps goes into machine code that runs
# fast but once. The operations, and which of them are fused, stay the same without it; but products
# and sums are contracted into one rounding in fewer places, and not in the same ones.
_QUICKLY = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"

# Whether the old programs are compiled quickly; with --exhaustive they are not.
quickly = True


def flags(devices: int, quickly: bool = False) -> str:
    """The ``XLA_FLAGS`` of a process.

    Args:
      devices: how many CPU devices it sees.
      quickly: compile what runs slowly. Not if XLA does not know how.
    """
    shown = f"--xla_force_host_platform_device_count={devices}"
    return f"{shown} {_QUICKLY}" if quickly and _xla_knows_how() else shown


@functools.cache
def _xla_knows_how() -> bool:
    # XLA ends a process that gives it an option that it does not know yet, or no longer.
    tried = subprocess.run(
        [sys.executable, "-c", "import jax; jax.devices()"],
        env={**os.environ, "XLA_FLAGS": _QUICKLY, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        check=False,
    )
    return tried.returncode == 0
