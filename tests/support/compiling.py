"""What XLA is told about compiling, in tests and in the programs that they start."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

_DEVICES = "--xla_force_host_platform_device_count"
# Most of the time of a test would go into machine code that runs fast, but once. Without the
# instructions that round a product and a sum together, what is computed does not depend on what is
# put into one loop, and so not on the way in which the code is made. Those that a user's program
# has are for --exhaustive.
_QUICK = (
    "--xla_cpu_max_isa=AVX --xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=0"
)


def for_tests(devices: int, quickly: bool) -> None:
    """Set ``XLA_FLAGS`` for this process, in which XLA has not started, and for its children."""
    known = quickly and platform.machine() in ("x86_64", "AMD64") and _is_known(_QUICK)
    os.environ["XLA_FLAGS"] = f"{_DEVICES}={devices}" + (f" {_QUICK}" if known else "")


def flags(devices: int) -> str:
    """The ``XLA_FLAGS`` of a process that compiles like this one and sees so many CPU devices."""
    quick = _QUICK in os.environ.get("XLA_FLAGS", "")
    return f"{_DEVICES}={devices}" + (f" {_QUICK}" if quick else "")


def _is_known(options: str) -> bool:
    # XLA ends a process that gives it an option that it does not know yet, or no longer.
    tried = subprocess.run(
        [sys.executable, "-c", "import jax; jax.devices()"],
        env={**os.environ, "XLA_FLAGS": options, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        check=False,
    )
    return tried.returncode == 0
