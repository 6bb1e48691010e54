"""Trees, hyper-parameters, overrides and traversals drawn at random, against the genuine optim."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax.traverse_util import flatten_dict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flaxoptim_compat import compiled_steps, optim
from tests.support.ulps import LargestValues, errors_in_ulps, worst

STEPS = 3
NAMES = st.sampled_from(["kernel", "bias", "scale", "a", "b"])
SHAPES = st.sampled_from([(), (1,), (3,), (2, 3), (5, 4), (2, 3, 4)])

rates = st.floats(1e-4, 1.0)
decays = st.floats(0.0, 0.999)
epsilons = st.sampled_from([1e-16, 1e-8, 1e-3])
weight_decays = st.sampled_from([0, 0.0, 1e-4, 0.1])
flags = st.booleans()

HYPER_PARAMS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "Adam": {"beta1": decays, "beta2": decays, "eps": epsilons, "weight_decay": weight_decays},
    "AdaBelief": {"beta1": decays, "beta2": decays, "eps": epsilons, "weight_decay": weight_decays},
    "Adadelta": {"rho": decays, "eps": epsilons, "weight_decay": weight_decays},
    "Adagrad": {"eps": epsilons},
    "Adafactor": {
        "factored": flags,
        "multiply_by_parameter_scale": flags,
        "beta1": st.none() | decays,
        "decay_rate": st.floats(0.1, 1.0),
        "step_offset": st.sampled_from([0, -7]),
        "clipping_threshold": st.none() | st.floats(0.5, 2.0),
        "weight_decay_rate": st.none() | st.floats(0.0, 0.1),
        "min_dim_size_to_factor": st.integers(1, 4),
        "epsilon1": st.sampled_from([1e-30, 1e-8]),
        "epsilon2": st.sampled_from([1e-3, 0.1]),
    },
    "GradientDescent": {},
    "LAMB": {"beta1": decays, "beta2": decays, "eps": epsilons, "weight_decay": weight_decays},
    "LARS": {
        "beta": decays,
        "weight_decay": weight_decays,
        "trust_coefficient": st.floats(1e-3, 0.1),
        "eps": st.sampled_from([0, 1e-3]),
        "nesterov": flags,
    },
    "Momentum": {"beta": decays, "weight_decay": weight_decays, "nesterov": flags},
    "RMSProp": {"beta2": decays, "eps": epsilons, "centered": flags},
}
# These shape the state or the program, so they hold for the life of a definition.
LASTING = {
    "beta1" if optimizer == "Adafactor" else name
    for optimizer, fields in HYPER_PARAMS.items()
    for name in fields
    if name in ("factored", "multiply_by_parameter_scale", "min_dim_size_to_factor", "centered")
    or (optimizer == "Adafactor" and name in ("clipping_threshold", "weight_decay_rate"))
}


@st.composite
def definitions(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    name = draw(st.sampled_from(sorted(HYPER_PARAMS)))
    fields = HYPER_PARAMS[name]
    chosen = draw(st.sets(st.sampled_from(sorted(fields)))) if fields else set()
    return name, {"learning_rate": draw(rates)} | {
        each: draw(fields[each]) for each in sorted(chosen)
    }


@st.composite
def overrides_of(draw: st.DrawFn, name: str, kwargs: dict[str, Any]) -> dict[str, Any]:
    fields = HYPER_PARAMS[name]
    possible = [each for each in sorted(fields) if each not in LASTING]
    if name == "Adafactor":  # None and a number are two different states
        possible = [each for each in possible if each != "beta1"]
    chosen = draw(st.sets(st.sampled_from(possible))) if possible else set()
    drawn = {each: draw(fields[each]) for each in sorted(chosen)}
    return drawn | ({"learning_rate": draw(rates)} if draw(flags) else {})


def trees(dtype: Any) -> st.SearchStrategy[Any]:
    leaves = st.builds(
        lambda shape, seed: np.random.RandomState(seed).uniform(-1, 1, shape).astype(dtype),
        SHAPES,
        st.integers(0, 99),
    )
    return st.dictionaries(
        NAMES,
        leaves | st.dictionaries(NAMES, leaves, min_size=1, max_size=3),
        min_size=1,
        max_size=3,
    )


def gradients_like(params: Any, seed: int) -> Any:
    random = np.random.RandomState(seed)
    return jax.tree.map(
        lambda leaf: jnp.asarray(
            random.uniform(0.1, 1.0, leaf.shape) * random.choice([-1.0, 1e-3, 4.0]), leaf.dtype
        ),
        params,
    )


def train(definition: Any, params: Any, overrides: list[dict[str, Any]], seed: int) -> list[Any]:
    """The optimizer after each step, op by op."""
    history = [definition.create(params)]
    with compiled_steps(False):
        for step in range(STEPS):
            grads = gradients_like(params, seed + step)
            history.append(history[-1].apply_gradient(grads, **overrides[step]))
    return history


def assert_same_run(mine: Any, theirs: Any, bound: float) -> None:
    """Moments have the same bits after every step, and parameters are as close as the bound."""
    sizes: LargestValues | None = None
    for ours, real in zip(mine, theirs, strict=True):
        sizes = sizes or LargestValues(real.target)
        sizes.add(real.target)
        for found, expected in zip(
            jax.tree.leaves(ours.state), jax.tree.leaves(real.state), strict=True
        ):
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)
        assert jax.tree.structure(ours.target) == jax.tree.structure(real.target)
        assert worst(errors_in_ulps(ours.target, real.target, sizes)) <= bound


SETTINGS = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@SETTINGS
@given(data=st.data())
def test_any_optimizer_on_any_tree_with_any_overrides(genuine: Any, data: st.DataObject) -> None:
    name, kwargs = data.draw(definitions())
    params = jax.tree.map(jnp.asarray, data.draw(trees(np.float32)))
    overrides = [data.draw(overrides_of(name, kwargs)) for _ in range(STEPS)]
    seed = data.draw(st.integers(0, 1000))
    runs = [
        train(getattr(namespace, name)(**kwargs), params, overrides, seed)
        for namespace in (optim, genuine)
    ]
    # Two more units than the table of tolerances has for one step: so few steps are no random walk.
    assert_same_run(*runs, bound=2 + 2.5 * STEPS**0.5)


def paths_of(params: Any, accepted: Any) -> set[str]:
    flat = flatten_dict(params, sep="/")
    return {"/" + path for path, leaf in flat.items() if accepted("/" + path, leaf)}


FILTERS = {
    "kernel": lambda path, value: "kernel" in path,
    "top": lambda path, value: path.count("/") == 1,
    "matrices": lambda path, value: len(value.shape) >= 2,
    "single precision": lambda path, value: value.dtype == jnp.float32 and "a" in path,
}


@SETTINGS
@given(data=st.data())
def test_any_two_optimizers_on_any_parts(genuine: Any, data: st.DataObject) -> None:
    first, second = data.draw(definitions()), data.draw(definitions())
    part = FILTERS[data.draw(st.sampled_from(sorted(FILTERS)))]
    both = data.draw(flags)
    params = jax.tree.map(jnp.asarray, data.draw(trees(np.float32)))
    overrides = [{"learning_rate": data.draw(rates)} for _ in range(STEPS)]
    seed = data.draw(st.integers(0, 1000))

    def build(namespace: Any, selects: Any) -> Any:
        rest = lambda path, value: both and not selects(path, value)
        pairs = []
        for chosen, (name, kwargs) in ((selects, first), (rest, second)):
            traversal = optim.ModelParamTraversal(chosen)
            pairs.append((traversal, getattr(namespace, name)(**kwargs)))
        return namespace.MultiOptimizer(*pairs)

    # In the genuine one a filter sees the state of a leaf too, which has neither shape nor dtype.
    paths = paths_of(params, part)
    assert_same_run(
        train(build(optim, part), params, overrides, seed),
        train(build(genuine, lambda path, value: path in paths), params, overrides, seed),
        bound=2 + 2.5 * STEPS**0.5,
    )
