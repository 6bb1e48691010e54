"""Divergences that nobody knows the cause of, planted at one place: the report names the place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from flaxoptim_compat import optim, parity
from flaxoptim_compat.parity import comparison, trial
from flaxoptim_compat.versions.of_jax import slashed
from tests.support.options import each

Change = Callable[[jax.Array], jax.Array]


class Place(NamedTuple):
    """A parameter, an element of it, and the number of steps after which it is changed."""

    leaf: str
    index: tuple[int, ...]
    step: int


class Counted(NamedTuple):
    count: Any
    inner: Any


def with_fault(
    tx: optax.GradientTransformation,
    place: Place,
    change: Change,
    moment: str | None = None,
) -> tuple[Any, Any]:
    """A pair of functions that do what ``tx`` does, but for one element after one step."""

    def changed(tree: Any, now: Any) -> Any:
        def of_leaf(path: Any, leaf: Any) -> Any:
            if slashed(path) != place.leaf:
                return leaf
            return jnp.where(now, leaf.at[place.index].set(change(leaf[place.index])), leaf)

        return jax.tree_util.tree_map_with_path(of_leaf, tree)

    def init(params: Any) -> Any:
        return Counted(jnp.zeros((), jnp.int32), tx.init(params))

    def step(params: Any, state: Any, grads: Any) -> Any:
        updates, inner = tx.update(grads, state.inner, params)
        params = optax.apply_updates(params, updates)
        count = state.count + 1
        now = count == place.step
        if moment is None:
            return changed(params, now), Counted(count, inner)
        first, *rest = inner
        first = first._replace(**{moment: changed(getattr(first, moment), now)})
        return params, Counted(count, (first, *rest))

    return init, step


def up_one_ulp(value: jax.Array) -> jax.Array:
    return jnp.nextafter(value, jnp.asarray(jnp.inf, value.dtype))


def not_a_number(value: jax.Array) -> jax.Array:
    return jnp.full_like(value, jnp.nan)


DEFINITION = optim.Adam(0.01)
PLACE = Place("dense/kernel", (7, 3), 13)
PARAMS = trial.parameters()
DENSE = {"dense": PARAMS["dense"]}


@pytest.fixture(params=each(["no search", "search"], ["no search"]))
def no_search(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Known causes, of which none is planted here, are tried out by an exhaustive run only."""
    if request.param == "no search":
        monkeypatch.setattr(comparison, "find", lambda a, b, context: ())


def compared(
    place: Place, change: Change, steps: int, tolerance: Any = None, **kwargs: Any
) -> parity.Report:
    faulty = with_fault(optax.adam(0.01), place, change, **kwargs)
    # The layer of the place and another one.
    params = {name: PARAMS[name] for name in (place.leaf.partition("/")[0], "norm")}
    return parity.compare(
        DEFINITION, faulty, params, trial.gradients, steps, loop="open", tolerance=tolerance
    )


@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize(
    "place",
    each(
        [
            PLACE,
            Place("temperature", (), 1),
            Place("conv/kernel", (2, 2, 3, 7), 40),
            Place("embed/embedding", (31, 0), 29),
        ],
        [Place("temperature", (), 1), Place("conv/kernel", (2, 2, 3, 7), 40)],
    ),
)
def test_one_ulp_in_one_element_at_one_step(place: Place) -> None:
    exact = compared(place, up_one_ulp, 40, tolerance=0)
    assert not exact.equal and exact.causes == ()
    assert exact.first_parting == exact.first_difference
    parting = exact.first_parting
    assert parting is not None
    assert (parting.leaf, parting.index, parting.step) == place
    assert (parting.quantity, parting.ulps, parting.not_finite) == ("parameter", 1.0, None)
    first, second = parting.values
    assert np.nextafter(first, np.float32(np.inf)) == second
    different = [track for track in exact.tracks if np.any(track.error != 0)]
    assert [(track.leaf, track.quantity) for track in different] == [(place.leaf, "parameter")]
    assert np.flatnonzero(different[0].error)[0] == place.step

    allowed = compared(place, up_one_ulp, 40)
    assert allowed.equal and not allowed.identical and allowed.causes == ()
    assert allowed.first_difference == parting


def test_one_ulp_has_no_cause() -> None:
    assert compared(PLACE, up_one_ulp, 20, tolerance=0).causes == ()


@pytest.mark.usefixtures("no_search")
def test_not_a_number_at_step_170() -> None:
    place = Place("dense/bias", (4,), 170)
    report = compared(place, not_a_number, 250)
    parting = report.first_parting
    assert parting is not None and report.first_difference is not None
    assert report.first_difference.step == 170
    assert (parting.leaf, parting.index, parting.step) == place
    assert parting.not_finite == "second"
    assert np.isfinite(parting.values[0]) and np.isnan(parting.values[1])
    assert report.causes == ()
    [track] = [
        each for each in report.tracks if (each.leaf, each.quantity) == ("dense/bias", "parameter")
    ]
    assert np.isnan(track.error[170:]).all() and not track.error[:170].any()
    assert any("on the second side from step 170" in note for note in report.notes)


@pytest.mark.usefixtures("no_search")
def test_infinity_in_the_first_side() -> None:
    faulty = with_fault(optax.adam(0.01), PLACE, lambda value: value + jnp.inf)
    report = parity.compare(faulty, DEFINITION, DENSE, trial.gradients, 20, loop="open")
    assert report.first_parting is not None
    assert report.first_parting.not_finite == "first"
    assert (report.first_parting.leaf, report.first_parting.index) == (PLACE.leaf, PLACE.index)


@pytest.mark.usefixtures("no_search")
def test_what_both_sides_make_not_a_number_is_told_and_hides_no_difference() -> None:
    grads = [jax.tree.map(jnp.ones_like, DENSE) for _ in range(9)]
    grads[3]["dense"]["bias"] = grads[3]["dense"]["bias"].at[2].set(jnp.nan)
    report = parity.compare(DEFINITION, optax.adam(0.01), DENSE, grads)
    assert report.identical
    [note] = report.notes
    assert "both sides from step 4" in note and "dense/bias" in note
    faulty = with_fault(optax.adam(0.01), Place("dense/bias", (5,), 7), lambda value: value + 0.1)
    report = parity.compare(DEFINITION, faulty, DENSE, grads)
    assert report.first_parting is not None
    assert (report.first_parting.step, report.first_parting.index) == (7, (5,))


@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize("moment", ["mu", "nu"])
def test_only_a_moment_is_different(moment: str) -> None:
    place = Place("embed/embedding", (3, 9), 20)
    # At the last step, so that no parameter can be.
    report = compared(place, lambda value: value + 0.01, 20, moment=moment)
    parting = report.first_parting
    assert parting is not None
    assert (parting.leaf, parting.index, parting.step) == place
    assert parting.quantity == moment
    assert report.causes == ()
    assert any("No parameter parts within 20 steps, only moments" in note for note in report.notes)
    assert not any(
        np.any(track.error != 0) for track in report.tracks if track.quantity == "parameter"
    )


def test_a_momentum_that_is_kept_otherwise() -> None:
    """As in optax.lars, which multiplies by the rate, and its sign, before the momentum."""
    other = optax.chain(optax.scale(-0.5), optax.trace(0.9))
    report = parity.compare(optim.Momentum(0.5), other, DENSE, trial.gradients, 10)
    assert report.first_parting is not None and report.first_parting.quantity == "trace"
    assert any("another scale or with another sign" in note for note in report.notes)


def test_other_starts_part_before_the_first_step_even_in_subnormal_numbers() -> None:
    params = {"w": jnp.zeros(3)}
    tiny = np.float32(1e-42)
    other = {"w": jnp.asarray([0.0, tiny, 0.0])}
    optimizers = [optim.GradientDescent(0.0).create(each) for each in (params, other)]
    parting = parity.compare(*optimizers, None, [], tolerance=0).first_parting
    assert parting is not None
    assert (parting.step, parting.leaf, parting.index) == (0, "w", (1,))
    assert (parting.values, parting.ulps) == ((0.0, tiny), 714.0)


@pytest.mark.usefixtures("no_search")
def test_of_several_leaves_the_one_that_is_farthest_off_is_named() -> None:
    one = optim.GradientDescent(0.1)
    params = {"far": jnp.ones(2), "near": jnp.ones(2), "same": jnp.ones(2)}
    grads = [{"far": jnp.full(2, 3.0), "near": jnp.full(2, 1e-3), "same": jnp.zeros(2)}]
    report = parity.compare(one, optax.sgd(0.2), params, grads)
    assert report.first_parting is not None
    assert report.first_parting.leaf == "far"
    errors = {track.leaf: float(track.error[1]) for track in report.tracks}
    assert errors["far"] == pytest.approx(0.3, rel=1e-6)
    assert errors["near"] == pytest.approx(1e-4, rel=1e-3)
    assert errors["same"] == 0.0


@pytest.mark.usefixtures("no_search")
def test_the_errors_are_those_of_numpy() -> None:
    grads = [trial.gradients(DENSE, step) for step in range(5)]
    report = parity.compare(optim.GradientDescent(0.1), optax.sgd(0.11), DENSE, grads)
    one, other = DENSE, DENSE
    distance = {track.leaf: 0.0 for track in report.tracks}
    largest = {track.leaf: track.largest[0] for track in report.tracks}
    for step, grad in enumerate(grads, start=1):
        one = jax.tree.map(lambda p, g: p - 0.1 * g, one, grad)
        other = jax.tree.map(lambda p, g: p - 0.11 * g, other, grad)
        for track in report.tracks:
            path = track.leaf.split("/")
            a, b, c = (np.asarray(_at(tree, path), np.float64) for tree in (one, other, DENSE))
            # The two runs round each step in another order.
            close = {"rel": 1e-4, "abs": 1e-9}
            assert track.error[step] == pytest.approx(np.max(np.abs(a - b)), **close)
            distance[track.leaf] = max(distance[track.leaf], np.max(np.abs(a - c)))
            largest[track.leaf] = max(largest[track.leaf], np.max(np.abs([a, b])))
            assert track.distance[step] == pytest.approx(distance[track.leaf], **close)
            assert track.largest[step] == pytest.approx(largest[track.leaf], **close)


def _at(tree: Any, path: list[str]) -> Any:
    for name in path:
        tree = tree[name]
    return tree
