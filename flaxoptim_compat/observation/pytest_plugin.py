"""The plugin of pytest: two fixtures, a marker and an option.

pytest imports this file for every user, so the file imports jax and numpy only for a test that uses
a fixture.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from flaxoptim_compat.parity.report import Report
    from flaxoptim_compat.parity.tolerance import Tolerance

_MARKER = "parity_baseline"
_OPTION = "--parity-record"
_FOLDER = "parity_baselines"
_RECORDED = "parity_baseline_recorded"
# The baselines that this run of pytest has written.
_WRITTEN = pytest.StashKey[set[Path]]()
_UNSAFE = re.compile(r"[^\w.,=+-]+", re.ASCII)
_LONGEST = 100


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare ``--parity-record``."""
    group = parser.getgroup("flaxoptim_compat", "flaxoptim_compat")
    group.addoption(
        _OPTION,
        action="store_true",
        help="write the baselines of the parity_baseline fixture, also over those that there are",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers",
        f"{_MARKER}(name=None): the test keeps a recorded run beside it; name is that of the file"
        f" in {_FOLDER}/, or a path from the folder of the test",
    )
    config.stash[_WRITTEN] = set()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests that use the fixture, so that ``-m parity_baseline`` finds them."""
    if _MARKER in getattr(item, "fixturenames", ()) and not item.get_closest_marker(_MARKER):
        item.add_marker(_MARKER)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the paths of the baselines that were written."""
    reports = [each for some in terminalreporter.stats.values() for each in some]
    recorded = {
        value
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == _RECORDED
    }
    if recorded:
        terminalreporter.section("parity baselines")
        for path in sorted(recorded):
            terminalreporter.write_line(f"wrote {path}")


@pytest.fixture(scope="session")
def assert_same_trajectory() -> Callable[..., Report]:
    """``flaxoptim_compat.parity.assert_same_trajectory``: two optimizers must do the same."""
    from flaxoptim_compat.parity import assertions

    return assertions.assert_same_trajectory


@pytest.fixture
def parity_baseline(request: pytest.FixtureRequest) -> Baselines:
    """Compares an optimizer's run with the one that is kept beside the test.

    ``parity_baseline(side, params=None, grads=None, steps=100)`` takes what
    ``assert_same_trajectory`` takes. ``pytest --parity-record`` writes the baseline.
    """
    return Baselines(request)


class Baselines:
    """The baselines of one test: call it with an optimizer."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._node: Any = request.node
        self._config = request.config
        self._used: set[str | None] = set()

    def __call__(
        self,
        side: Any,
        params: Any = None,
        grads: Any = None,
        steps: int = 100,
        *,
        overrides: Mapping[str, Any] | None = None,
        tolerance: float | Tolerance | None = None,
        name: str | None = None,
    ) -> Report:
        """Assert that an optimizer still does what it did when the baseline was recorded.

        Args:
          side: a definition, an Optimizer, an optax transformation, a TrainState, or a pair
            ``(init, step)``.
          params: where to start; those that the side brings, or ``trial.parameters()``, if None.
          grads: a function ``(params, step)`` or a list; ``trial.gradients`` if None.
          steps: how many steps to do.
          overrides: hyper-parameters of each step, as ``compare`` takes them.
          tolerance: how far apart the runs may be; 0 demands every bit.
          name: tells several baselines of one test apart.

        Raises:
          AssertionError: the runs part; the message is the report as a table.
        """
        __tracebackhide__ = True
        if name in self._used:
            pytest.fail("A test with several baselines has to give each a name=... of its own.")
        self._used.add(name)
        path, written = self.path(name), self._config.stash[_WRITTEN]
        # If tests share a baseline, the first one records it, and the others must agree.
        recording = self._config.getoption(_OPTION) and path not in written
        if not (recording or path.exists()):
            pytest.fail(f"There is no baseline {path} yet. Record it with\n\n  {self._command()}\n")
        from flaxoptim_compat.observation.baseline import Trajectory
        from flaxoptim_compat.parity.assertions import assert_equal

        trajectory = Trajectory(side, params, grads, steps, overrides)
        if recording:
            trajectory.record(path)
            written.add(path)
            self._node.user_properties.append((_RECORDED, str(path)))
        report = trajectory.compared_with(path, tolerance)
        again = f"To take this run as the new baseline: {self._command()}"
        assert_equal(report, again)
        return report

    def path(self, name: str | None = None) -> Path:
        """The file of the baseline with this name."""
        here: Path = self._node.path
        marker = self._node.get_closest_marker(_MARKER)
        chosen = marker and (*marker.args, *marker.kwargs.values())
        folder, stem = here.parent / _FOLDER / here.stem, self._name_of_test()
        if chosen and (chosen[0].endswith(".npz") or "/" in chosen[0]):
            named = here.parent / chosen[0]
            folder, stem = named.parent, named.name.removesuffix(".npz")
        elif chosen:
            stem = _safe(chosen[0])
        return folder / f"{stem if name is None else f'{stem}-{_safe(name)}'}.npz"

    def _name_of_test(self) -> str:
        names = self._node.nodeid.partition("::")[2].split("[", 1)[0].split("::")
        parameters = getattr(self._node, "callspec", None)
        return ".".join(names) + (f"-{_safe(parameters.id)}" if parameters else "")

    def _command(self) -> str:
        test = self._config.cwd_relative_nodeid(self._node.nodeid)
        return f"pytest {_OPTION} {shlex.quote(str(test))}"


def _safe(text: str) -> str:
    """Text as a part of a file name; a changed text gets a digest, so that it stays unique."""
    safe = _UNSAFE.sub("_", text)[:_LONGEST]
    if safe == text:
        return text
    return f"{safe}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
