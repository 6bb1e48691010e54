"""The benchmarks measure what they say, and the pages show what was recorded."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from tests.benchmarks import compilations, memory, page, words
from tests.benchmarks.checkpoints import CONVERTED
from tests.benchmarks.measurement import Bar, Effort, Measurement, Spread
from tests.benchmarks.models import gradients, parameters
from tests.benchmarks.recording import Recording
from tests.benchmarks.subjects import (
    BY_HAND,
    DEFINITIONS,
    GENUINE,
    OURS,
    parameters_of,
    subjects,
)
from tests.generate import measured
from tests.support.side_by_side import assert_same, ulps

HALF = Bar(OURS, BY_HAND, 0.5)
MACHINE = {
    "processor": "an abacus", "cores": "1", "memory": "12 beads", "device": "1 × hand",
    "system": "wood", "Python": "3.1", "jax": "4.1", "flax": "5.9", "optax": "2.6", "numpy": "5.3",
}  # fmt: skip


def row(ours: list[float], by_hand: list[float], *bars: Bar, **fields: Any) -> Measurement:
    values = {"work": "adding", "setting": "two", "unit": "s", **fields}
    return Measurement(samples={OURS: ours, BY_HAND: by_hand}, bars=bars, **values)


def recording(*rows: Measurement) -> Recording:
    return Recording(MACHINE, False, rows)


# --- what is measured


@pytest.mark.usefixtures("genuine")
@pytest.mark.parametrize("optimizer", DEFINITIONS)
def test_the_three_do_the_same_arithmetic(optimizer: str) -> None:
    # Large enough for Adafactor to factor.
    params = parameters(2, (128, 129))
    ends = {}
    for label, each in subjects(optimizer).items():
        state, step = each.create(params), jax.jit(each.step)
        for number in range(4):
            state = step(state, gradients(params, seed=number))
        ends[label] = parameters_of(state)
    assert_same(ends[OURS], ends[GENUINE], ulps=ulps(optimizer))
    assert_same(ends[OURS], ends[BY_HAND], ulps=ulps(optimizer))


# --- how


# Every run counts compilations of steps beside what compiles them.
@pytest.mark.exhaustive
@pytest.mark.usefixtures("genuine")
def test_the_rows_of_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilations, "DEFINITIONS", 300)
    reported: list[str] = []
    rates, alive = compilations.measure(Effort(True, reported.append))
    assert rates.samples[OURS] == [0] and rates.reached(rates.bars[0])
    assert alive.samples[OURS][0] <= compilations.KEPT and alive.reached(alive.bars[0])
    assert reported == ["100 learning rates", "30 definitions"]


def test_the_largest_array_in_compiled_code() -> None:
    step = jax.jit(lambda x: jnp.outer(x, x).sum(), inline=True).lower(jnp.ones(33)).compile()
    assert memory.largest_array(step.as_text() or "") >= 4 * 33
    code = "fused = (f32[], bf16[3,5]{1,0}, pred[7]) fusion(s32[2,2] a, %fusion.12[8])"
    assert memory.largest_array(code) == 30


# --- numbers


def test_ratios_are_those_of_each_round_and_a_spread_is_a_median_with_quartiles() -> None:
    assert Spread.of([5, 1, 2, 4, 3]) == Spread(3, 2, 4)
    assert Spread.of([3, 1, 2]) == Spread(2, 1, 3)
    assert Spread.of([7]) == Spread(7, 7, 7)
    assert Spread.of([1, 1, math.inf, math.inf, math.inf]) == Spread(math.inf, 1, math.inf)
    # The machine slows down by a factor of 100; ours takes half as long in every round.
    assert row([1, 100], [2, 200]).ratio(HALF) == Spread(0.5, 0.5, 0.5)
    with pytest.raises(ValueError, match="longer"):
        row([1], [2, 3]).ratio(HALF)


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [([0.4, 0.5], True), ([0.4, 0.6], None), ([0.5, 0.6], None), ([0.6, 0.7], False)],
)
def test_a_bar_is_reached_or_not_or_within_the_spread(
    ours: list[float], verdict: bool | None
) -> None:
    assert row(ours, [1, 1]).reached(HALF) is verdict
    assert row(ours, [1, 1]).reached(Bar(BY_HAND, OURS, 2, at_least=True)) is verdict


# --- words


@pytest.mark.parametrize(
    ("ours", "limit", "text"),
    [
        ([1.2, 1.3, 1.25], 1.0, "1.25 (1.20 to 1.30)"),
        ([1.0], 1.0, "1.00"),
        ([0.9999], 1.0, "1.00"),
        ([1.00002], 1.0, "1.00002"),
        ([1.0204], 1.02, "1.0204"),
        ([math.inf], 1.0, "inf"),
    ],
)
def test_a_ratio_does_not_look_better_than_it_is(
    ours: list[float], limit: float, text: str
) -> None:
    bar = Bar(OURS, BY_HAND, limit)
    assert words.found(row(ours, [1.0] * len(ours)), bar) == text


# --- reports


PLAIN = Measurement("multiplying", "four", "count", {OURS: [1], "slide rule": [2]})


def test_what_a_user_asks_first() -> None:
    def one(work: str, setting: str, bar: Bar, other: float) -> Measurement:
        beside = ({bar.numerator, bar.denominator} - {OURS}).pop()
        return Measurement(work, setting, "s", {OURS: [2.0], beside: [other]}, (bar,))

    by_hand, slower = Bar(OURS, BY_HAND, 1.02), Bar(GENUINE, OURS, 15, at_least=True)
    shown = page.summary(
        recording(
            one("compiled step", "time, Adam, 1000 × 64²", by_hand, 2.5),
            one("compiled step", "time, LAMB, 1000 × 64²", by_hand, 1.6),
            one("compiled step", "time, LAMB, 1000 × 64²", Bar(OURS, GENUINE, 1), 9),
            one("compiled step", "time, LAMB, 100 × 64²", by_hand, 9),
            one("outside jit", "step, Adam, 1000 × 64²", slower, 29),
            one("outside jit", "step, Momentum, 1000 × 64²", slower, 7),
            one("outside jit", "first call, Adam, 1000 × 64²", Bar(OURS, GENUINE, 1), 9),
            one("checkpoints", "convert, Adam, 22 × 4 MB, msgpack", CONVERTED[0], 4),
        )
    )
    assert shown.splitlines() == [
        "- In `jit`, a step takes 0.80 to 1.25 times as long as with optax by hand,"
        " for five optimizers of a thousand matrices.",
        "- Outside `jit`, it is 3.5 to 14 times as fast as with `flax.optim`.",
        "- A checkpoint of 264 MB is converted in 0.50 times the time in which Flax reads and"
        " writes it.",
    ]


def test_a_recording_is_saved_whole(tmp_path: Path) -> None:
    samples = row([0.123456789, 2], [1e-9, 123456789.0], HALF, note="μ")
    path = tmp_path / "out.json"
    path.write_text("of old")
    with pytest.raises(ValueError, match="not JSON compliant"):
        recording(row([math.inf], [1])).save(path)
    assert path.read_text() == "of old" and list(tmp_path.iterdir()) == [path]
    recording(samples, PLAIN).save(path)
    assert list(tmp_path.iterdir()) == [path]
    assert json.loads(path.read_text())["quick"] is False
    loaded = Recording.load(path)
    assert (loaded.machine, loaded.quick) == (MACHINE, False)
    assert loaded.rows == [
        row([0.123457, 2.0], [1e-9, 123456789.0], HALF, note="μ"),
        PLAIN,
    ]
    loaded.save(path)
    assert Recording.load(path) == loaded


# --- the pages


def test_every_kind_of_work_is_recorded() -> None:
    recorded = Recording.load(measured.RECORDED)
    assert set(recorded.machine) == set(MACHINE)
    assert list(dict.fromkeys(each.work for each in recorded.rows)) == [
        "compiled step", "memory", "bandwidth", "trace + lower", "outside jit", "MultiOptimizer",
        "dispatch", "import", "checkpoints", "rewriting",
    ]  # fmt: skip
    on_gpu = Recording.load(measured.RECORDED_ON_GPU)
    assert "NVIDIA" in on_gpu.machine["device"]
    assert {each.work for each in on_gpu.rows} == {"compiled step", "bandwidth", "outside jit"}


@pytest.mark.parametrize("count", [0, 2])
def test_a_page_has_one_place_for_the_numbers(count: int) -> None:
    place = "<!-- measured -->\nold\n<!-- end of what is measured -->\n"
    assert measured.with_numbers(f"a\n{place}b", r"\1") == f"a\n{place}b".replace("old", r"\1")
    with pytest.raises(ValueError, match=f"{count} places"):
        measured.with_numbers(place * count, "new")
