"""What flax let pass passes, with its numbers and one warning; and is an error with strict()."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat import FlaxOptimLeniencyWarning, compiled_steps, optim, strict
from flaxoptim_compat.catalogue import PLAIN
from tests.support.options import each
from tests.support.side_by_side import assert_same

# A parameter and its gradient: smaller ones, and one to which the parameter grows.
SHAPES = [
    ((2, 3), ()),
    ((2, 3), (3,)),
    ((2, 3), (2, 1)),
    ((2, 3), (2, 2, 3)),
    ((3,), (2, 3)),
    ((), (3,)),
]
NO_SHAPES = [((2, 3), (3, 2)), ((2, 3), (2,))]
OPTIONS = {"Adafactor": {"beta1": 0.9}, "RMSProp": {"centered": True}}
DEFINITIONS: dict[str, Any] = {
    row.name: lambda its, name=row.name: getattr(its, name)(0.1, **OPTIONS.get(name, {}))
    for row in PLAIN
}
DEFINITIONS["MultiOptimizer"] = lambda its: its.MultiOptimizer(
    (its.ModelParamTraversal(lambda path, _: "w" in path), its.Adam(0.1))
)
WAYS = ["jit", "compiled", "op by op"]
lenient = pytest.mark.filterwarnings("ignore::flaxoptim_compat.FlaxOptimLeniencyWarning")


def numbers(shape: tuple[int, ...], seed: int) -> jax.Array:
    return jnp.asarray(np.random.RandomState(seed).uniform(-1.0, 1.0, shape), jnp.float32)


def trained(definition: Any, shapes: Any, way: str, steps: int = 3) -> Any:
    """After some steps with gradients of another shape than the parameter."""
    optimizer = definition.create({"other": numbers((2,), 1), "w": numbers(shapes[0], 0)})
    step: Any = lambda optimizer, grads: optimizer.apply_gradient(grads)
    step = jax.jit(step) if way == "jit" else step
    with compiled_steps(way == "compiled"):
        for number in range(steps):
            grads = {"other": numbers((2,), 1), "w": numbers(shapes[1], number)}
            optimizer = step(optimizer, grads)
    return optimizer


@lenient
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shapes", each(SHAPES, SHAPES[1::3]), ids=str)
@pytest.mark.parametrize("name", DEFINITIONS)
def test_gradients_are_broadcast_as_in_the_genuine(
    genuine: Any, name: str, shapes: Any, way: str
) -> None:
    mine, theirs = (trained(DEFINITIONS[name](its), shapes, way) for its in (optim, genuine))
    assert_same(mine, theirs, ulps=4.0)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shapes", NO_SHAPES, ids=str)
@pytest.mark.parametrize("name", DEFINITIONS)
def test_what_does_not_broadcast_is_an_error_as_in_the_genuine(
    genuine: Any, name: str, shapes: Any, way: str
) -> None:
    with pytest.raises((TypeError, ValueError)):
        trained(DEFINITIONS[name](genuine), shapes, way)
    with pytest.raises(ValueError, match=r"gradient at \['w'\] has shape .*, its parameter has"):
        trained(DEFINITIONS[name](optim), shapes, way)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shapes", SHAPES[:4], ids=str)
def test_weight_norm_takes_no_other_shape_as_the_genuine(
    genuine: Any, shapes: Any, way: str
) -> None:
    for its in (optim, genuine):
        with pytest.raises(ValueError):  # noqa: PT011  (an error of jax.vjp in the genuine)
            trained(its.WeightNorm(its.Momentum(0.1)), shapes, way)


@pytest.mark.parametrize("way", WAYS)
def test_one_warning_at_the_line_of_the_step(way: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        definition = optim.Adam(0.1)
        caught.clear()
        after = trained(definition, SHAPES[1], way)
    (warning,) = caught
    assert after.target["w"].shape == (2, 3)
    assert warning.category is FlaxOptimLeniencyWarning
    assert warning.filename == __file__
    assert "optimizer.apply_gradient(grads)" in _line(warning.lineno)
    for part in ("['w'] has shape (3,)", "has shape (2, 3)", "broadcast", "strict()"):
        assert part in str(warning.message)


def _line(number: int) -> str:
    with open(__file__) as file:
        return file.read().splitlines()[number - 1]


@pytest.mark.parametrize("way", WAYS)
def test_strict_refuses_what_is_warned_of_before_and_after(way: str) -> None:
    def is_let_pass() -> None:
        with pytest.warns(FlaxOptimLeniencyWarning):
            trained(optim.Momentum(0.1), SHAPES[1], way)

    # Each step is warned of anew where somebody listens.
    is_let_pass()
    is_let_pass()
    with strict():
        with strict():
            pass
        with pytest.raises(ValueError, match=r"\['w'\] has shape \(3,\)"):
            trained(optim.Momentum(0.1), SHAPES[1], way)
    with contextlib.suppress(KeyError), strict():
        raise KeyError
    is_let_pass()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("count", [0, 1, 3])
def test_optimizers_without_hyper_params_are_left_out_as_in_the_genuine(
    genuine: Any, way: str, count: int
) -> None:
    params = {"a": jnp.asarray([0.5, 1.5]), "b": jnp.asarray([2.0, 3.0])}
    found = []
    for its in (genuine, optim):
        names = [its.ModelParamTraversal(lambda path, _, name=name: name in path) for name in "ab"]
        definition = its.MultiOptimizer(*((name, its.Adam(0.1)) for name in names))
        optimizer = definition.create(params)
        values = [its.Adam(0.2).hyper_params] * count
        step: Any = lambda optimizer, values=values: optimizer.apply_gradient(
            params, hyper_params=values
        )
        step = jax.jit(step) if way == "jit" else step
        listening: Any = contextlib.nullcontext()
        if its is optim:
            listening = pytest.warns(FlaxOptimLeniencyWarning, match=f"{count} entries")
        with compiled_steps(way == "compiled"), listening:
            found.append(step(optimizer))
    assert_same(found[1], found[0], ulps=4.0)
