"""How tests, and the programs that they start, compile: quickly, and each thing once."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax._src.interpreters import mlir

from tests.support.oracle.cache import cache_directory

_DEVICES = "--xla_force_host_platform_device_count"
# Most of the time of a test would go into machine code that runs fast, but once. Without the
# instructions that round a product and a sum together, what is computed does not depend on what is
# put into one loop, and so not on the way in which the code is made. Those that a user's program
# has are for --optimized.
_QUICK = (
    "--xla_cpu_max_isa=AVX",
    # Jax 0.12 does not know it any more.
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_backend_optimization_level=0",
    # One module of LLVM instead of up to 32, each with what it costs to begin and to end one.
    "--xla_cpu_parallel_codegen_split_count=1",
)
# Where jaxlib does not know the first of these, as that of jax 0.4.30, programs that are compared
# with each other do not depend on what is put into one loop if nothing is.
_UNFUSED = ["--xla_backend_optimization_level=0", "--xla_disable_hlo_passes=fusion"]


def for_tests(devices: int, quickly: bool) -> None:
    """Set ``XLA_FLAGS`` for this process, in which XLA has not started, and for its children."""
    chosen = [f"{_DEVICES}={devices}"]
    if quickly and platform.machine() in ("x86_64", "AMD64"):
        chosen += _known(_QUICK)
    os.environ["XLA_FLAGS"] = " ".join(chosen)


def keep_what_is_compiled() -> None:
    """What one test has compiled no other one compiles again, nor another worker or the next run.

    These are options of this process: the programs that tests start begin as a user's would, unless
    they are given the variables.
    """
    for option, value in _keeping().items():
        jax.config.update(option, value)
    _share_a_context()


def forget() -> None:
    """Free what has been traced, lowered and compiled so far."""
    jax.clear_caches()
    _share_a_context()


def variables(devices: int) -> dict[str, str]:
    """Variables of a process that compiles like this one and sees so many CPU devices."""
    mine = os.environ.get("XLA_FLAGS", "").split()
    quick = [option for option in _QUICK if option in mine]
    way = quick or ([] if _known(_QUICK) else _UNFUSED)
    return {
        "XLA_FLAGS": " ".join([f"{_DEVICES}={devices}", *way]),
        **{option.upper(): str(value) for option, value in _keeping().items()},
    }


# How jax makes the context in which MLIR lowers one program. No public name says it; where a jax
# has none of this name, each program gets its own, as with users.
_make_context: Callable[[], Any] | None = getattr(mlir, "make_ir_context", None)


def _share_a_context() -> None:
    # To make one takes longer than to lower a small program in it.
    if _make_context is not None:
        context = _make_context()
        mlir.make_ir_context = lambda: context


def _keeping() -> dict[str, Any]:
    # Before jax 0.6, what is read back for a CPU forgets what was donated to it, and crashes.
    if jax.__version_info__ < (0, 6):
        return {}
    return {
        "jax_compilation_cache_dir": str(cache_directory() / "compiled"),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }


@functools.cache
def _known(options: Sequence[str]) -> list[str]:
    """Those that this XLA knows: it ends a process that gives it others, and names them.

    None, if it does not know the first one, as in jax 0.4.30: what is put into one loop would then
    differ from one program to the next even more than with users.
    """
    tried = subprocess.run(
        [sys.executable, "-c", "import jax; jax.devices()"],
        env={**os.environ, "XLA_FLAGS": " ".join(options), "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    if tried.returncode == 0:
        return list(options)
    known = [option for option in options if option not in tried.stderr]
    return known if options[0] in known else []
