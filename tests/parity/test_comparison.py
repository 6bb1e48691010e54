"""What ``compare`` says of arguments that it cannot use, and of what it leaves out."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax
import pytest

import flaxoptim_compat
from flaxoptim_compat import optim, parity
from flaxoptim_compat.parity import trial
from flaxoptim_compat.parity.tolerance import Tolerance

ADAM = optim.Adam(0.1)
TX = optax.adam(0.1)
PARAMS = {"w": jnp.ones(3)}


def fails(match: str, *args: Any, **kwargs: Any) -> None:
    with pytest.raises(parity.ParityError, match=match):
        parity.compare(*args, **kwargs)


def test_the_facade_has_it() -> None:
    assert flaxoptim_compat.parity is parity
    assert set(parity.__all__) <= set(dir(parity))


@pytest.mark.parametrize(
    ("subject", "match"),
    [
        (3, "3 cannot be compared; give a definition"),
        (optim.Adam, "Call the class: a class is no definition"),
        ((1, 2), r"\(1, 2\) cannot be compared"),
        (lambda params: params, "cannot be compared"),
    ],
)
def test_no_side(subject: Any, match: str) -> None:
    fails(match, subject, TX, PARAMS, trial.gradients, 3)
    fails(match, TX, subject, PARAMS, trial.gradients, 3)


def test_what_is_missing() -> None:
    fails("grads is missing", ADAM, TX, PARAMS)
    fails("steps is missing", ADAM, TX, PARAMS, trial.gradients)
    fails("params is missing: neither side", ADAM, TX, None, trial.gradients, 3)


def test_the_number_of_steps() -> None:
    fails("steps=-1: give a number from 0 up", ADAM, TX, PARAMS, trial.gradients, -1)
    fails("steps=3: there are gradients for 2", ADAM, TX, PARAMS, [PARAMS, PARAMS], 3)
    assert parity.compare(ADAM, TX, PARAMS, [PARAMS, PARAMS], 1).steps == 1
    assert parity.compare(ADAM, TX, PARAMS, [PARAMS, PARAMS]).steps == 2


def test_the_loop() -> None:
    fails("loop='shut': give 'open' or 'closed'", ADAM, TX, PARAMS, trial.gradients, 3, loop="shut")
    fails("loop='closed' takes each side's", ADAM, TX, PARAMS, [PARAMS], loop="closed")
    assert parity.compare(ADAM, TX, PARAMS, trial.gradients, 1).loop == "closed"
    assert parity.compare(ADAM, TX, PARAMS, trial.gradients, 1, loop="open").loop == "open"
    assert parity.compare(ADAM, TX, PARAMS, [PARAMS]).loop == "open"


def test_gradients_of_another_kind_or_shape() -> None:
    fails("grads is of type int; give a function", ADAM, TX, PARAMS, 3)
    fails(
        r"gradients of step 1: .* at \['w'\] the target has a leaf",
        ADAM,
        TX,
        PARAMS,
        [PARAMS, {"v": jnp.ones(3)}],
    )
    fails(r"shape \(2,\)", ADAM, TX, PARAMS, [{"w": jnp.ones(2)}])
    fails(r"There is no file nowhere\.npz", ADAM, TX, PARAMS, "nowhere.npz")


def test_a_function_of_gradients_that_fails() -> None:
    def grads(params: Any, step: Any) -> Any:
        return {"w": params["w"] * (1 if step < 3 else 2)}

    fails("grads.*TracerBool", ADAM, TX, PARAMS, grads, 3)


def test_parameters_that_are_not_the_same() -> None:
    one = ADAM.create({"w": jnp.ones(3)})
    fails("other parameters", one, ADAM.create({"v": jnp.ones(3)}), None, trial.gradients, 3)
    fails(
        r"w has shape \(3,\) on the first side and \(4,\)",
        one,
        ADAM.create({"w": jnp.ones(4)}),
        None,
        trial.gradients,
        3,
    )


def test_a_side_that_fails_is_named() -> None:
    fails(
        "first side .*Adam.* failed in a step: AssertionError: no learning rate",
        optim.Adam(),
        TX,
        PARAMS,
        trial.gradients,
        3,
    )

    def init(params: Any) -> Any:
        raise KeyError("nothing here")

    pair = (init, lambda params, state, grads: (params, state))
    fails("second side .* could not start: KeyError", ADAM, pair, PARAMS, trial.gradients, 3)
    pair = (lambda params: None, lambda params, state, grads: params)
    fails(r"not \(params, state\)", ADAM, pair, PARAMS, trial.gradients, 3)


def test_a_side_that_changes_its_structure() -> None:
    pair = (lambda params: (), lambda params, state, grads: (params, (*state, 1)))
    fails("changes the structure", ADAM, pair, PARAMS, trial.gradients, 3)

    def grow(params: Any, state: Any, grads: Any) -> Any:
        return params, jnp.concatenate([state, state])

    fails(
        r"second side .* changes the shape .* from \(1,\) to \(2,\)",
        ADAM,
        (lambda _: jnp.ones(1), grow),
        PARAMS,
        [PARAMS],
    )


def test_overrides() -> None:
    def compared(**overrides: Any) -> parity.Report:
        # Injected betas would be float32 numbers, and less exact.
        rate_only = ("b1", "b2", "eps", "eps_root")
        injected = optax.inject_hyperparams(optax.adam, rate_only)(learning_rate=0.1)
        return parity.compare(ADAM, injected, PARAMS, trial.gradients, 3, overrides=overrides)

    assert compared(learning_rate=0.3).identical
    assert compared(learning_rate=jnp.asarray([0.3, 0.2, 0.1])).identical
    fails(
        r"overrides\['learning_rate'\] has 2 values for 3 steps",
        ADAM,
        TX,
        PARAMS,
        trial.gradients,
        3,
        overrides={"learning_rate": [0.1, 0.2]},
    )
    fails(
        r"overrides\['learning_rate'\] failed at step 2: ZeroDivisionError",
        ADAM,
        TX,
        PARAMS,
        trial.gradients,
        3,
        overrides={"learning_rate": lambda step: 1 / (2 - step)},
    )
    fails(
        r"overrides\['learning_rate'\] is not a number",
        ADAM,
        TX,
        PARAMS,
        trial.gradients,
        3,
        overrides={"learning_rate": lambda step: "fast"},
    )
    fails(
        "first side .*TypeError: .*momentum",
        ADAM,
        TX,
        PARAMS,
        trial.gradients,
        3,
        overrides={"momentum": 0.1},
    )


def test_a_list_of_hyper_parameters_is_one_value() -> None:
    every = optim.ModelParamTraversal(lambda path, _: True)
    definition = optim.MultiOptimizer((every, optim.Adam(0.5)))
    [inner] = definition.hyper_params
    overrides = {"hyper_params": [inner.replace(learning_rate=0.1)]}
    report = parity.compare(definition, TX, PARAMS, trial.gradients, 3, overrides=overrides)
    assert report.identical, report.first_difference


def test_what_only_one_side_keeps_is_told() -> None:
    report = parity.compare(optim.Momentum(0.1), TX, PARAMS, trial.gradients, 3)
    assert "Only the first side keeps trace (momentum): not compared." in report.notes
    assert "Only the second side keeps mu, nu: not compared." in report.notes


def test_names_and_progress() -> None:
    seen: list[tuple[int, int]] = []
    report = parity.compare(
        ADAM,
        TX,
        PARAMS,
        trial.gradients,
        300,
        names=("old", "new"),
        progress=lambda done, steps: seen.append((done, steps)),
    )
    assert report.names == ("old", "new")
    assert seen[-1] == (300, 300)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})


def test_a_report_is_no_truth_value() -> None:
    report = parity.compare(ADAM, TX, PARAMS, trial.gradients, 1)
    with pytest.raises(TypeError, match=r"report\.equal"):
        bool(report)


def test_tolerance() -> None:
    def equal(scale: float, tolerance: Any) -> bool:
        other = optax.chain(optax.sgd(0.1), optax.scale(scale))
        definition = optim.GradientDescent(0.1)
        grads = [{"w": jnp.ones(3)}] * 10
        start = {"w": jnp.zeros(3)}
        return parity.compare(definition, other, start, grads, tolerance=tolerance).equal

    assert equal(1.0, 0) and equal(1.0, None)
    assert not equal(1.0 + 1e-6, 0) and equal(1.0 + 1e-6, None)
    assert not equal(1.0 + 1e-4, None) and equal(1.0 + 1e-4, 1e-3)
    assert not equal(1.0 + 1e-4, Tolerance(relative=5e-5)) and equal(1.0 + 1e-4, 2e-4)
    for wrong in (-1.0, float("nan")):
        with pytest.raises(parity.ParityError, match="give a number from 0 up"):
            equal(1.0, wrong)


def test_rounding_of_large_parameters_is_allowed_but_no_drift() -> None:
    """A step that is small against the parameter is stored with an error that is not small."""

    def compared(scale: float) -> parity.Report:
        other = optax.chain(optax.sgd(1e-4), optax.scale(scale))
        params = {"w": jnp.full(100, 1000.0)}
        return parity.compare(
            optim.GradientDescent(1e-4), other, params, trial.gradients, 200, loop="open"
        )

    assert compared(1.0 + 1e-7).equal
    assert parity.compare(
        optim.GradientDescent(1e-4),
        optax.sgd(1e-4 * 1.01),
        {"w": jnp.zeros(100)},
        trial.gradients,
        200,
    ).first_parting


def test_nothing_is_left_in_jax() -> None:
    before = (jax.config.jax_enable_x64, jax.config.jax_disable_jit)
    parity.compare(ADAM, TX, PARAMS, trial.gradients, 1)
    assert (jax.config.jax_enable_x64, jax.config.jax_disable_jit) == before


def test_integers_have_to_be_equal() -> None:
    grads = [{"w": jnp.ones(3)}] * 4
    counts = {"w": jnp.ones(3), "n": jnp.zeros((), jnp.int32)}

    def counting(by: int) -> Any:
        def step(params: Any, state: Any, grads: Any) -> Any:
            return {"w": params["w"], "n": params["n"] + by}, state

        return lambda params: (), step

    given = [{**each, "n": jnp.zeros(())} for each in grads]
    assert parity.compare(counting(1), counting(1), counts, given).identical
    report = parity.compare(counting(1), counting(2), counts, given)
    assert report.first_parting is not None
    assert (report.first_parting.step, report.first_parting.leaf) == (1, "n")
    assert report.first_parting.values == (1, 2)


def test_parameters_beside_a_side_that_brings_its_own() -> None:
    optimizer = ADAM.create(PARAMS)
    assert parity.compare(optimizer, TX, PARAMS, trial.gradients, 3).identical
    assert parity.compare(optimizer, TX, None, trial.gradients, 3).identical
    other = {"w": jnp.zeros(3)}
    parted = parity.compare(optimizer, TX, other, trial.gradients, 3).first_parting
    assert parted is not None and (parted.step, parted.values) == (0, (1.0, 0.0))
    fails("starts from its own parameters", optimizer, TX, {"w": jnp.ones(4)}, trial.gradients, 3)
    fails("starts from its own parameters", TX, optimizer, {}, trial.gradients, 3)
