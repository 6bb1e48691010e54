"""Two runs are the same, or part at a step, whatever was looked at how often."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat.observation import record as recorder
from flaxoptim_compat.observation.fingerprints import Fingerprint
from flaxoptim_compat.observation.record import NUMBERS, digest, fingerprint, sketch
from flaxoptim_compat.observation.records import ObservedState, OptimizerKey, ProgramLine, Record
from flaxoptim_compat.observation.trajectories import compare

recorder.load()
OPTIMIZER = OptimizerKey("train.py", ("a", "b"), ((2,), (300,)))
STEPS = [1.0, 1.5, 2.0, 2.5]
ULP = float(np.spacing(np.float32(2.0)))


def state(
    step: int, value: float, of_b: float | None = None, created: bool = False
) -> ObservedState:
    arrays = [np.full(2, value, np.float32), np.full(300, of_b or value, np.float32)]
    digests = list(map(digest, arrays))
    return ObservedState(
        OPTIMIZER,
        0,
        (step,),
        b"".join(digests).hex(),
        "Adam",
        ProgramLine("train.py", 1, "<module>"),
        created,
        list(map(Fingerprint.of, map(fingerprint, arrays, digests))),
        [],
    )


def record(states: Sequence[ObservedState]) -> Record:
    return Record({OPTIMIZER: list(states)})


def run(values: Sequence[float]) -> list[ObservedState]:
    return [state(step, value, created=not step) for step, value in enumerate(values)]


def test_the_same_bits_in_another_order() -> None:
    found = compare(record(run(STEPS)), record(run(STEPS)[::-1]))
    assert (found.optimizers, found.steps, found.all_steps) == (1, 3, 3)
    assert found.divergence is None and found.worst is None


def again(states: Sequence[ObservedState], **changes: Any) -> list[ObservedState]:
    return [dataclasses.replace(each, **changes) for each in states]


SLOWER = run([1.0, 1.1, 1.2, 1.3])
POOLS = {
    "one worker": [*run(STEPS), *SLOWER, *again(run(STEPS), round=1)],
    "two workers": [*run(STEPS), *again(SLOWER, process=1), *again(run(STEPS), process=1)],
    "in another order": [*SLOWER, *run(STEPS), *again(run(STEPS), process=1)],
}


@pytest.mark.parametrize("other", POOLS)
def test_which_worker_of_a_pool_does_a_training_does_not_matter(other: str) -> None:
    found = compare(record(POOLS["one worker"]), record(POOLS[other]))
    assert found.divergence is None
    assert (found.optimizers, found.steps, found.all_steps) == (3, 9, 9)


def test_each_training_needs_a_partner_of_its_own() -> None:
    once, twice = record(run(STEPS)), record([*run(STEPS), *again(run(STEPS), process=1)])
    wrong = record([*run(STEPS), *again(SLOWER, process=1)])
    for one, other in ((twice, once), (once, twice), (twice, wrong), (wrong, twice)):
        assert compare(one, other).divergence is not None
    missing = compare(twice, once).divergence
    assert missing is not None and missing.is_missing


def test_trainings_of_a_pool_are_paired_by_their_numbers() -> None:
    rounded = run([1.0, 1.5 + ULP, 2.0 + ULP, 2.5 + ULP])
    one = record([*run(STEPS), *again(SLOWER, process=1)])
    found = compare(one, record([*SLOWER, *again(rounded, process=1)]))
    assert found.divergence is None and found.worst is not None
    assert (found.steps, found.all_steps) == (6, 6)


@pytest.mark.parametrize(("step", "value"), [(3, 1.5), (0, 2.5), (3, 1.0)])
def test_the_last_state_of_a_training_mixes_no_others(step: int, value: float) -> None:
    mixed = dataclasses.replace(state(step, value), is_last=True)
    wrong = record([*run(STEPS), mixed])
    assert compare(record(run(STEPS)), wrong).divergence is not None
    assert compare(wrong, record(run(STEPS))).divergence is not None
    assert compare(wrong, wrong).divergence is None


def test_what_is_said_of_each_optimizer() -> None:
    still, wild = run([1.0] * 4), run([1.0, 2.0, np.nan, np.inf])
    runs = [*run(STEPS), *again(still, rule=1), *again(wild, rule=2)]
    lines = [ProgramLine("train.py", number, "<module>") for number in range(3)]
    one = record([dataclasses.replace(each, place=lines[each.rule]) for each in runs])
    one.traced[OPTIMIZER] = {lines[0]}
    *found, traced = compare(one, one).by_optimizer
    assert [each.created for each in found] == [(line,) for line in lines]
    assert [each.never_moved for each in found] == [False, True, False]
    assert [each.not_finite_from for each in found] == [None, None, 2]
    assert [(each.steps, each.all_steps, each.left_out) for each in found] == [(3, 3, 0)] * 3
    assert traced.only_traced and traced.created == (lines[0],)


COPIES = OPTIMIZER._replace(shapes=((4, 2), (4, 300)))


@pytest.mark.parametrize(("optimizer", "steps"), [(COPIES, 3), (COPIES._replace(paths=("",)), 6)])
def test_a_step_counts_once_with_a_copy_of_its_state(optimizer: OptimizerKey, steps: int) -> None:
    copies = [
        dataclasses.replace(each, optimizer=optimizer, step=each.step * 4, is_created=False)
        for each in run(STEPS)
    ]
    one = Record({OPTIMIZER: run(STEPS), optimizer: copies})
    found = compare(one, one)
    assert (found.steps, found.all_steps, found.divergence) == (steps, steps, None)


def test_a_state_that_is_restored_is_no_step() -> None:
    first, *_, last = (dataclasses.replace(each, round=1) for each in run(STEPS))
    found = record([*run(STEPS), first, last, dataclasses.replace(state(4, 3.0), round=1)])
    assert compare(found, found).steps == 4
    again = record([*run(STEPS), *(dataclasses.replace(each, round=1) for each in run(STEPS))])
    assert compare(again, again).steps == 6


def test_what_rounding_does_passes_and_is_told() -> None:
    found = compare(record(run(STEPS)), record(run([1.0, 1.5, 2.0 + ULP, 2.5 + ULP])))
    assert found.divergence is None and found.worst is not None
    assert found.worst.error == ULP and found.worst.allowed > ULP
    assert found.steps == 3


@pytest.mark.parametrize(
    ("values", "step", "is_missing"),
    [
        ([1.0, 1.5, 2.0], 3, True),
        ([*STEPS, 3.0], 4, False),
        ([1.0, 1.5, 2.001, 2.5], 2, False),
        ([1.0, 1.5, np.nan, np.nan], 2, False),
        ([1.0 + ULP, *STEPS[1:]], 0, False),
    ],
)
def test_where_runs_part(values: list[float], step: int, is_missing: bool) -> None:
    found = compare(record(run(STEPS)), record(run(values)))
    assert found.divergence is not None
    assert (found.divergence.state.step, found.divergence.is_missing) == ((step,), is_missing)


def test_what_only_one_run_makes_between_two_states() -> None:
    reset = [*run(STEPS), state(0, 7.0), state(1, 8.0)]
    # The step is set before the parameters, or after them.
    for between in (state(0, 2.5), state(3, 7.0)):
        in_two = [*run(STEPS), between, state(0, 7.0), state(1, 8.0)]
        assert compare(record(in_two), record(reset)).divergence is None
        assert compare(record(reset), record(in_two)).divergence is None


def test_a_leaf_that_only_roundings_move() -> None:
    first, moved = state(0, 1.0, 1e-30, created=True), [1e-12, 3e-12]
    runs = [[first, state(1, 1.5, noise)] for noise in moved]
    assert compare(*map(record, runs)).divergence is None
    runs[1][1] = state(1, 1.5, 1e-3)
    assert compare(*map(record, runs)).divergence is not None


def test_the_optimizer_is_the_one_that_began_nearest() -> None:
    others = [state(0, 50.0, created=True), state(1, 51.0)]
    runs = [[*run(STEPS), *others], [*run([1.0, 1.5, 2.0, 9.0]), *others]]
    divergence = compare(*map(record, runs)).divergence
    assert divergence is not None and [each.leaves for each in divergence.created] == [
        runs[0][0].leaves
    ]


def test_nothing_moves() -> None:
    assert compare(Record(), Record()).optimizers == 0
    assert compare(record(run([1.0])), record(run([1.0]))).optimizers == 0


DRAW = np.random.default_rng(0)
LARGE = DRAW.standard_normal((300, 701)).astype(np.float32)


def taken(array: Any) -> Fingerprint:
    return Fingerprint.of(fingerprint(np.asarray(array), digest(np.asarray(array))))


@pytest.mark.parametrize(
    "array",
    [
        *(np.float32(2.0), np.zeros((0, 3), np.float32), np.arange(NUMBERS).reshape(2, -1)),
        *(np.array([True, False]), np.array([1 + 2j, 3], np.complex64)),
        *(np.array([np.nan, np.inf, -np.inf, -0.0], np.float32), LARGE, LARGE.T, LARGE[::2]),
        np.asarray(jnp.arange(300, dtype=jnp.bfloat16)),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_they_are_written_and_read(array: Any) -> None:
    one = taken(array)
    assert (one.dtype, one.shape) == (str(array.dtype), array.shape)
    assert len(one.numbers) <= NUMBERS
    if 0 < array.size * (2 if array.dtype.kind == "c" else 1) <= NUMBERS:
        parts = array.view(np.float32) if array.dtype.kind == "c" else array
        np.testing.assert_array_equal(one.numbers, np.ravel(parts).astype(np.float64))
        assert one.largest == pytest.approx(float(np.abs(np.ravel(parts)).max()), nan_ok=True)


def test_a_single_bit_is_seen() -> None:
    other = LARGE.copy()
    other[7, 7] = np.nextafter(other[7, 7], np.float32(9))
    assert taken(other).digest != taken(LARGE).digest
    assert taken(LARGE.copy()).digest == taken(LARGE).digest
    assert digest(np.array([0.0])) != digest(np.array([-0.0]))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3])
def test_the_difference_of_sketches_has_the_size_of_the_difference(scale: float) -> None:
    for seed in range(5):
        apart = np.random.default_rng(seed).standard_normal(LARGE.shape) * scale
        estimate = np.linalg.norm(sketch(LARGE.astype(np.float64) + apart) - sketch(LARGE))
        # The variance of a square over 128 sums is 2/128 of it.
        assert estimate == pytest.approx(np.linalg.norm(apart), rel=4 * np.sqrt(2 / NUMBERS) / 2)


def test_sketches_are_linear() -> None:
    assert np.array_equal(sketch(2 * LARGE), 2 * sketch(LARGE))


def test_one_element_that_differs_is_not_lost_among_many() -> None:
    other = LARGE.astype(np.float64)
    other[200, 3] += 0.25
    assert np.linalg.norm(sketch(other) - sketch(LARGE)) == pytest.approx(0.25)
