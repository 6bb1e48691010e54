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


def compared(
    first: Any = ADAM,
    second: Any = TX,
    params: Any = PARAMS,
    grads: Any = trial.gradients,
    steps: int | None = 3,
    **options: Any,
) -> parity.Report:
    return parity.compare(first, second, params, grads, steps, **options)


def test_the_facade_has_it() -> None:
    assert flaxoptim_compat.parity is parity
    assert set(parity.__all__) <= set(dir(parity))


def refuses(params: Any) -> Any:
    raise KeyError("nothing here")


def by_python(params: Any, step: Any) -> Any:
    return {"w": params["w"] * (1 if step < 3 else 2)}


def grow(params: Any, state: Any, grads: Any) -> Any:
    return params, jnp.concatenate([state, state])


ONE = ADAM.create(PARAMS)
RATE = r"overrides\['learning_rate'\]"
# {what is said: the arguments of which it is said}
REFUSED: dict[str, dict[str, Any]] = {
    "3 cannot be compared; give a definition": {"first": 3},
    "Call the class: a class is no definition": {"first": optim.Adam},
    r"\(1, 2\) cannot be compared": {"second": (1, 2)},
    "<lambda>.* cannot be compared": {"second": lambda params: params},
    "grads is missing": {"grads": None},
    "steps is missing": {"steps": None},
    "params is missing: neither side": {"params": None},
    "steps=-1: give a number from 0 up": {"steps": -1},
    "steps=3: there are gradients for 2": {"grads": [PARAMS, PARAMS]},
    "loop='shut': give 'open' or 'closed'": {"loop": "shut"},
    "loop='closed' takes each side's": {"grads": [PARAMS], "steps": None, "loop": "closed"},
    "grads is of type int; give a function": {"grads": 3},
    r"gradients of step 1: .* at \['w'\] the target has a leaf": {
        "grads": [PARAMS, {"v": jnp.ones(3)}],
        "steps": None,
    },
    r"shape \(2,\)": {"grads": [{"w": jnp.ones(2)}], "steps": None},
    "grads is of type str": {"grads": "nowhere.npz"},
    "grads.*TracerBool": {"grads": by_python},
    "other parameters": {
        "first": ONE,
        "second": ADAM.create({"v": jnp.ones(3)}),
        "params": None,
    },
    r"w has shape \(3,\) on the first side and \(4,\)": {
        "first": ONE,
        "second": ADAM.create({"w": jnp.ones(4)}),
        "params": None,
    },
    "first side .* failed in a step: AssertionError: no learning rate": {"first": optim.Adam()},
    "second side .* could not start: KeyError": {"second": (refuses, grow)},
    r"not \(params, state\)": {"second": (lambda _: None, lambda params, state, grads: params)},
    "changes the structure": {"second": (lambda _: (), lambda params, state, _: (params, (1,)))},
    r"second side .* changes the shape .* from \(1,\) to \(2,\)": {
        "second": (lambda _: jnp.ones(1), grow)
    },
    f"{RATE} has 2 values for 3 steps": {"overrides": {"learning_rate": [0.1, 0.2]}},
    f"{RATE} failed at step 2: ZeroDivisionError": {
        "overrides": {"learning_rate": lambda step: 1 / (2 - step)}
    },
    f"{RATE} is not a number": {"overrides": {"learning_rate": lambda step: "fast"}},
    "first side .*TypeError: .*momentum": {"overrides": {"momentum": 0.1}},
    "tolerance.* give a number from 0 up": {"tolerance": -1.0},
    "nan.* give a number from 0 up": {"tolerance": float("nan")},
    "starts from its own parameters": {"first": ONE, "params": {"w": jnp.ones(4)}},
    "and those given are not like them": {"first": TX, "second": ONE, "params": {}},
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_cannot_be_compared(said: str) -> None:
    with pytest.raises(parity.ParityError, match=said):
        compared(**REFUSED[said])


def test_the_number_of_steps_and_the_loop() -> None:
    for grads, steps, done, loop in (
        ([PARAMS, PARAMS], 1, 1, "open"),
        ([PARAMS, PARAMS], None, 2, "open"),
        (trial.gradients, 1, 1, "closed"),
    ):
        report = compared(grads=grads, steps=steps)
        assert (report.steps, report.loop) == (done, loop)
    assert compared(steps=1, loop="open").loop == "open"


# Injected betas would be float32 numbers, and less exact.
INJECTED = optax.inject_hyperparams(optax.adam, ("b1", "b2", "eps", "eps_root"))(learning_rate=0.1)


@pytest.mark.parametrize("rate", [0.3, jnp.asarray([0.3, 0.2, 0.1]), lambda step: 0.3 / (1 + step)])
def test_overrides_reach_injected_hyper_parameters(rate: Any) -> None:
    report = compared(second=INJECTED, overrides={"learning_rate": rate})
    assert report.identical and report.notes == ()


def test_a_list_of_hyper_parameters_is_one_value() -> None:
    every = optim.ModelParamTraversal(lambda path, _: True)
    definition = optim.MultiOptimizer((every, optim.Adam(0.5)))
    [inner] = definition.hyper_params
    overrides = {"hyper_params": [inner.replace(learning_rate=0.1)]}
    report = compared(definition, overrides=overrides)
    assert report.identical, report.first_difference


def test_what_only_one_side_keeps_is_told() -> None:
    report = compared(optim.Momentum(0.1))
    assert "Only the first side keeps trace (momentum): not compared." in report.notes
    assert "Only the second side keeps mu, nu: not compared." in report.notes


def test_names_and_progress() -> None:
    seen: list[tuple[int, int]] = []
    before = (jax.config.jax_enable_x64, jax.config.jax_disable_jit)
    report = compared(steps=300, names=("old", "new"), progress=lambda *each: seen.append(each))
    assert report.names == ("old", "new")
    assert seen[-1] == (300, 300)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    with pytest.raises(TypeError, match=r"report\.equal"):
        bool(report)
    # Nothing is left in jax.
    assert (jax.config.jax_enable_x64, jax.config.jax_disable_jit) == before


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
    assert Tolerance.of(0).exact and not Tolerance(relative=5e-5, roundings=0).exact


def test_rounding_of_large_parameters_is_allowed_but_no_drift() -> None:
    """A step that is small against the parameter is stored with an error that is not small."""
    for scale, start in ((1.0 + 1e-7, 1000.0), (1.01, 0.0)):
        other = optax.chain(optax.sgd(1e-4), optax.scale(scale))
        params = {"w": jnp.full(100, start)}
        report = compared(optim.GradientDescent(1e-4), other, params, steps=200, loop="open")
        assert report.equal == (start == 1000.0)


def test_integers_have_to_be_equal() -> None:
    counts = {"w": jnp.ones(3), "n": jnp.zeros((), jnp.int32)}
    given = [{"w": jnp.ones(3), "n": jnp.zeros(())}] * 4

    def counting(by: int) -> Any:
        def step(params: Any, state: Any, grads: Any) -> Any:
            return {"w": params["w"], "n": params["n"] + by}, state

        return lambda params: (), step

    assert parity.compare(counting(1), counting(1), counts, given).identical
    report = parity.compare(counting(1), counting(2), counts, given)
    assert report.first_parting is not None
    assert (report.first_parting.step, report.first_parting.leaf) == (1, "n")
    assert report.first_parting.values == (1, 2)


def test_parameters_beside_a_side_that_brings_its_own() -> None:
    assert compared(ONE).identical
    assert compared(ONE, params=None).identical
    parted = compared(ONE, params={"w": jnp.zeros(3)}).first_parting
    assert parted is not None and (parted.step, parted.values) == (0, (1.0, 0.0))
