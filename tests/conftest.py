"""Fixtures of all tests, and the machine they see: eight CPU devices."""

from __future__ import annotations

import compileall
import gc
import itertools
import os
import shutil
import signal
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# The threads of numpy's linear algebra would turn in circles beside the workers, waiting for work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import jax
import pytest

from tests.support import compiling
from tests.support.oracle.cache import OracleUnavailable
from tests.support.places import ROOT
from tests.support.rewriting_folders import Commands, Rewrite, Scan
from tests.support.written_programs import forget_programs

compiling.keep_what_is_compiled()

# Tests write many small files, and wait for a disk as long as they compute. Less room than this is
# that of a container, whose files could not be executed there either.
_MEMORY = Path("/dev/shm")
if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > 2 * 2**30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))

# Traces are made of millions of small objects, which Python would look through again and again.
gc.set_threshold(100_000, 50, 100)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the thorough ways be asked for."""
    parser.addoption(
        "--exhaustive",
        action="store_true",
        help="try all combinations of options",
    )
    parser.addoption(
        "--optimized",
        action="store_true",
        help="let XLA make the machine code that users have, which takes several times as long",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Before XLA starts, say how it is to compile; and let programs be interrupted."""
    # A shell that starts this in the background has it ignored, by all that are started here.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Where no bytecode is to be written, each of the processes that tests start would compile the
    # package anew, and ours is then half of what a short command takes.
    if sys.dont_write_bytecode and not hasattr(config, "workerinput"):
        compileall.compile_dir(ROOT / "flaxoptim_compat", quiet=2)
    # Several devices for pmap, meshes and leaves on different devices. A worker has it from the
    # process that started it.
    if "XLA_FLAGS" not in os.environ:
        compiling.for_tests(devices=8, quickly=not config.getoption("optimized"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the bytecode of the tests, whose asserts pytest would else write anew in each run."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    found = yield
    sys.dont_write_bytecode = before
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is for an exhaustive run, if this is none."""
    for item in items:
        # To make that environment takes half a minute, and each start of it some seconds.
        if "old_environment" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.exhaustive)
    if config.getoption("exhaustive"):
        return
    left_out = [item for item in items if item.get_closest_marker("exhaustive")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("exhaustive")]


@pytest.fixture(scope="session")
def genuine() -> Any:
    """The genuine ``flax.optim`` of Flax 0.5.3, running on today's jax."""
    from tests.support.oracle.in_process import genuine_optim

    try:
        return genuine_optim()
    except OracleUnavailable as error:
        return _unavailable(error)


@pytest.fixture(scope="session")
def genuine_nn() -> Any:
    """The genuine ``flax.nn`` of Flax 0.3.4, running on today's jax."""
    from tests.support.oracle.genuine_nn import genuine_nn

    try:
        return genuine_nn()
    except OracleUnavailable as error:
        return _unavailable(error)


@pytest.fixture(scope="session")
def old_environment() -> Any:
    """The Python of an environment with Flax 0.5.3 and jax 0.4.13."""
    from tests.support.oracle.environments import old_environment

    try:
        return old_environment()
    except OracleUnavailable as error:
        return _unavailable(error)


def _unavailable(error: Exception) -> None:
    if os.environ.get("CI"):
        pytest.fail(f"the oracle must run in CI: {error}")
    pytest.skip(f"the oracle cannot be had: {error}")


# All tests call the same functions of jax.numpy, which would be traced anew after each time. What a
# file leaves is some 30 MB.
_FILES_UNTIL_FORGOTTEN = 64
_files = itertools.count(1)


@pytest.fixture(scope="module", autouse=True)
def _forget_what_was_traced() -> Iterator[None]:
    """Free, every few files, what their tests have traced and compiled."""
    yield
    if next(_files) % _FILES_UNTIL_FORGOTTEN == 0:
        compiling.forget()


@pytest.fixture
def x64() -> Iterator[None]:
    """Run a test with 64-bit numbers."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture
def folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run a test in an empty folder, whose modules no other test has imported, or will see."""
    monkeypatch.chdir(tmp_path)
    forget_programs(tmp_path.parent)
    path = list(sys.path)
    yield
    assert sys.path == path
    forget_programs(tmp_path.parent)


@pytest.fixture
def rewrite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Rewrite:
    """Rewrites a folder of a program's files by the command."""
    return Commands(tmp_path, capsys, monkeypatch).rewrite


@pytest.fixture
def scan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Scan:
    """Scans a folder of a program's files by the command."""
    return Commands(tmp_path, capsys, monkeypatch).scan
