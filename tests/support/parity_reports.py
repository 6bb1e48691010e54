"""Reports made by hand, to be rendered: no optimizer runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flaxoptim_compat.parity.findings import PARAMETER, Cause, Parting, Track
from flaxoptim_compat.parity.partings import beyond, first_place
from flaxoptim_compat.parity.report import Report
from flaxoptim_compat.parity.tolerance import Tolerance

NAMES = ("optim.RMSProp(0.01)", "optax.rmsprop(0.01)")
EPS = Cause(
    "eps-inside-root",
    "The second side adds eps to the mean square before its root is taken, the first side after.",
    "optax.rmsprop(0.01, eps_in_sqrt=False)",
)
DECAY = Cause(
    "decay-before-moments",
    "The second side adds the weight decay to the gradients, before the moments are taken.",
    "optax.adamw(0.01)",
)
VERSIONS = {"jax": "0.10.2", "flax": "0.12.8", "optax": "0.2.8", "device": "cpu"}
HOSTILE = "</script><script>alert(1)</script><!-- \"'&<b>${x}\u2028\x1b[2J"


def track(
    leaf: str = "dense/kernel",
    error: float | Sequence[float] | Mapping[int, float] = 0.0,
    quantity: str = PARAMETER,
    names: tuple[str, str] | None = None,
    *,
    steps: int = 20,
    start: int = 1,
    largest: float | Sequence[float] = 1.0,
    distance: Sequence[float] | None = None,
    dtype: Any = np.float32,
) -> Track:
    """An array that moves by 0.01 a step; the error is of all steps from ``start`` on, or of some.

    The largest value is the same at all steps if it is a number.
    """
    errors = np.zeros(steps + 1)
    if isinstance(error, Mapping):
        errors[list(error)] = list(error.values())
    else:
        errors[start:] = error
    moved = 0.01 * np.arange(steps + 1.0) if distance is None else np.asarray(distance, float)
    return Track(
        leaf,
        quantity,
        names or (quantity, quantity),
        (3, 4),
        np.dtype(dtype),
        errors,
        moved,
        np.broadcast_to(np.asarray(largest, float), (steps + 1,)).copy(),
    )


def report(
    *tracks: Track,
    steps: int = 20,
    tolerance: float | None = None,
    causes: Sequence[Cause] = (),
    names: tuple[str, str] = NAMES,
    notes: Sequence[str] = (),
    loop: str = "closed",
    values: tuple[Any, Any] | None = None,
    not_finite: str | None = None,
) -> Report:
    """A report of these arrays; where they part is found from their errors."""
    allowed = Tolerance.of(tolerance)
    return Report(
        names,
        steps,
        tracks,
        allowed,
        _first(tracks, [each.error for each in tracks], values, not_finite),
        _first(tracks, beyond(tracks, allowed), values, not_finite),
        tuple(causes),
        loop,
        tuple(notes),
        VERSIONS,
    )


def _first(
    tracks: Sequence[Track], excess: Any, values: tuple[Any, Any] | None, not_finite: str | None
) -> Parting | None:
    place = first_place(tracks, excess)
    if place is None:
        return None
    step, leaf = place[0], tracks[place[1]]
    error = leaf.error[step]
    both = values or (np.float32(0.5), np.float32(0.5 + error))
    not_finite = None if np.isfinite(error) else not_finite
    return Parting(
        step,
        leaf.leaf,
        leaf.quantity,
        (2, 1),
        both,
        float("nan") if not_finite else float(np.round(error / 2**-24)),
        not_finite,
    )


def small() -> Report:
    """Two parameters and a moment of one; the kernel parts from step 3 on, because of eps."""
    growing = 2e-7 * 1.7 ** np.arange(20)
    return report(
        track("dense/kernel", growing),
        track("dense/bias", 1e-9, start=5),
        track("dense/kernel", 3e-8, "nu", ("grad_sq_ema", "nu")),
        causes=[EPS],
    )


def agreeing() -> Report:
    """A parameter that differs by rounding, and one that does not differ."""
    return report(track("dense/kernel", 6e-8, start=4), track("dense/bias"))


def identical() -> Report:
    """A parameter and a moment without any difference."""
    return report(track("dense/kernel"), track("dense/kernel", 0.0, "mu", ("grad_ema", "mu")))


def with_nan() -> Report:
    """A run of 1000 steps in which the second side is NaN from step 700 on."""
    return report(
        track("dense/kernel", float("nan"), steps=1000, start=700),
        track("dense/bias", float("nan"), steps=1000, start=900),
        track("norm/scale", float("inf"), steps=1000, start=950),
        track("norm/bias", 6e-8, steps=1000),
        steps=1000,
        values=(np.float32(0.25), np.float32("nan")),
        not_finite="second",
    )


def hostile() -> Report:
    """Names that would be markup, script or terminal commands if they were not escaped."""
    return report(
        track(f"{HOSTILE}/kernel", 1e-3, "nu", (HOSTILE, "nu")),
        track("größe/层/ядро/" + "nested/" * 60 + "kernel", 1e-3, "nu"),
        causes=[Cause("unknown", HOSTILE, HOSTILE)],
        names=(HOSTILE, "optax.sgd(0.1)"),
        notes=[HOSTILE],
        values=(np.float32(0.1), np.float32(0.2)),
    )


def bare() -> Report:
    """Parameters that are one scalar array, whose path is empty, compared before any step."""
    return report(track("", steps=0), steps=0)


def unlike(leaves: int, steps: int) -> Report:
    """A large report, in which every leaf has errors of its own, and one in ten parts."""
    rng = np.random.default_rng(0)
    time = np.arange(steps + 1.0)
    tracks = []
    for index in range(leaves):
        scale = 10.0 ** rng.uniform(-9, -7) * (10_000 if index % 10 == 0 else 1)
        errors = scale * np.sqrt(time) * rng.lognormal(0, 0.5, steps + 1)
        name = f"encoder/block_{index:05}/attention/kernel"
        tracks.append(track(name, errors[1:], steps=steps, largest=float(rng.uniform(0.5, 4))))
    return report(*tracks, steps=steps)
