"""Modules and models: names, sharing, methods, partial arguments, and their errors."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import serialization

from flaxoptim_compat import nn
from flaxoptim_compat.deprecation import FlaxOptimDeprecationWarning
from tests.support.nn_modules import modules
from tests.support.options import exhaustive
from tests.support.side_by_side import assert_same

KEY = jax.random.PRNGKey(3)
X = jnp.linspace(-1.0, 2.0, 12).reshape(2, 6)
XS = jnp.linspace(-1.0, 2.0, 30).reshape(5, 2, 3)


def trained(served: Any, name: str, x: Any, **settings: Any) -> Any:
    """What a module makes, returns and has for gradients, with state and dropout."""
    module = getattr(modules(served), name).partial(**settings)
    with served.stochastic(KEY), served.stateful() as state:
        first, params = module.init(KEY, x)
    model = served.Model(module, params)

    @jax.jit
    def step(model: Any, state: Any, key: Any) -> Any:
        def loss(model: Any) -> Any:
            with served.stochastic(key), served.stateful(state) as after:
                output = jax.tree.leaves(model(x))
            return sum(jnp.sum(jnp.square(each)) for each in output), after

        (_, after), grads = jax.value_and_grad(loss, has_aux=True)(model)
        return jax.tree.map(lambda p, g: p - 0.1 * g, model, grads), after

    for number in range(3):
        model, state = step(model, state, jax.random.fold_in(KEY, number))
    with served.stateful(state, mutable=False):
        last = model(x) if name != "Net" else model(x, train=False)
    return [first, params, serialization.to_state_dict(model), state.as_dict(), last]


@pytest.mark.parametrize(
    ("name", "x", "settings"),
    [
        ("Net", X, {}),
        pytest.param("Net", X, {"features": (5, 5, 2)}, marks=exhaustive),
        ("Tied", X, {}),
        ("Blocks", X, {}),
        pytest.param("Blocks", X, {"depth": 3}, marks=exhaustive),
        ("Scanned", XS, {}),
    ],
)
def test_a_module_is_trained_as_with_the_genuine_ones(
    name: str, x: Any, settings: Any, genuine_nn: Any
) -> None:
    assert_same(trained(nn, name, x, **settings), trained(genuine_nn, name, x, **settings))


def test_parameters_have_the_names_that_they_had() -> None:
    made = modules(nn)
    with nn.stateful() as state, nn.stochastic(KEY):
        _, params = made.Net.init(KEY, X)
    assert set(params) == {"Dense_0", "BatchNorm_1", "head"}
    assert set(state.as_dict()) == {"/BatchNorm_1"}
    assert set(made.Tied.init(KEY, X)[1]) == {"tied", "0"}
    assert set(made.Blocks.init(KEY, X)[1]) == {"block_0", "block_1"}
    assert set(made.Blocks.init(KEY, X)[1]["block_0"]) == {"LayerNorm_0", "Dense_1", "Bias_2"}


@pytest.mark.parametrize("by_shape", [True, False])
def test_parameters_can_be_made_in_jit_and_in_vmap(by_shape: bool) -> None:
    made = modules(nn)

    def init(key: Any) -> Any:
        if by_shape:
            return made.Scanned.init_by_shape(key, [(XS.shape, XS.dtype)])[1]
        return made.Scanned.init(key, XS)[1]

    expected = made.Scanned.init(KEY, XS)[1]
    assert_same(jax.jit(init)(KEY), expected, ulps=2.0)
    in_vmap = jax.vmap(init)(jnp.stack([KEY, KEY]))
    assert jax.tree.map(lambda leaf: leaf.shape[1:], in_vmap) == jax.tree.map(jnp.shape, expected)
    # Keys of the newer kind, and a key from outside of the jit.
    jax.jit(init)(jax.random.key(3))
    assert_same(jax.jit(lambda: init(KEY))(), expected)


def test_a_parameter_may_depend_on_the_input_also_in_transformations() -> None:
    class Centered(nn.Module):
        def apply(self, x):
            return x - self.param("mean", None, lambda rng, shape: x.mean(0))

    expected = X.mean(0)
    assert_same(Centered.init(KEY, X)[1], {"mean": expected})
    assert_same(jax.jit(Centered.init)(KEY, X)[1], {"mean": expected}, ulps=1.0)
    assert_same(jax.jit(lambda x: Centered.init(KEY, x))(X)[1], {"mean": expected}, ulps=1.0)


def test_a_model_is_a_tree_of_its_parameters() -> None:
    model = nn.Model(nn.Dense.partial(features=3), nn.Dense.init(KEY, X, features=3)[1])
    assert_same(jax.tree.leaves(model), [model.params["bias"], model.params["kernel"]])
    doubled = jax.tree.map(lambda leaf: leaf * 2, model)
    assert doubled.module is model.module
    np.testing.assert_allclose(doubled(X), model(X) * 2, rtol=1e-6)
    assert hash(model) == id(model)
    assert model.replace(params=1).params == 1
    assert_same(copy.copy(model).params, model.params)
    assert_same(copy.deepcopy(model.params), model.params)
    state = serialization.to_state_dict(model)
    assert set(state) == {"params"} and set(state["params"]) == {"kernel", "bias"}
    restored = serialization.from_bytes(doubled, serialization.to_bytes(model))
    assert_same(restored, model)
    with pytest.raises(AttributeError, match=r"no attribute 'kernel'"):
        model.kernel  # noqa: B018
    with pytest.raises(AttributeError):
        model.init  # noqa: B018
    assert pickle.loads(pickle.dumps(nn.Model(nn.Dense, {"a": 1}))).params == {"a": 1}


def test_methods_of_a_module_are_called_on_a_model() -> None:
    made = modules(nn)
    model = nn.Model(made.Bias, made.Bias.init(KEY, X)[1])
    np.testing.assert_allclose(model.negative(model(X)), X, atol=1e-6)
    embed = nn.Embed.partial(num_embeddings=4, features=3)
    model = nn.Model(embed, embed.init(KEY, jnp.arange(2))[1])
    assert model.attend(model(jnp.arange(2))).shape == (2, 4)
    assert nn.Embed.attend.__qualname__ == "Embed.attend"
    assert nn.Embed.attend is nn.Embed.attend


def test_what_is_settled_twice_is_what_the_call_says() -> None:
    first = nn.Dense.partial(features=3, bias=False, name="first")
    second = first.partial(features=4)

    class Both(nn.Module):
        def apply(self, x):
            return second(first(x), name="second"), second(x, features=5, name="third")

    (output, third), params = Both.init(KEY, X)
    assert output.shape == (2, 4) and third.shape == (2, 5)
    assert set(params) == {"first", "second", "third"} and set(params["first"]) == {"kernel"}
    assert second.__name__ == "Dense" and second.__doc__ == nn.Dense.__doc__


def test_outputs_inside_of_a_model_can_be_had(genuine_nn: Any) -> None:
    def outputs(served: Any) -> Any:
        blocks = modules(served).Blocks
        model = served.Model(blocks, blocks.init(KEY, X)[1])
        truncated = model.truncate_at({"norm": "/block_0/LayerNorm_0", "second": "/block_1"})
        with served.capture_module_outputs() as captured:
            model(X)
        assert_same(truncated.params, model.params)
        return [truncated(X), model.truncate_at("/block_0")(X), captured.as_dict()]

    assert_same(outputs(nn), outputs(genuine_nn))


def test_create_says_what_to_write_and_makes_the_model() -> None:
    dense = nn.Dense.partial(features=3)
    with pytest.warns(FlaxOptimDeprecationWarning, match=r"Use init, which returns"):
        output, model = dense.create(KEY, X)
    assert_same(model(X), output)
    with pytest.warns(FlaxOptimDeprecationWarning, match=r"Use init_by_shape, which"):
        shape, by_shape = dense.create_by_shape(KEY, [(X.shape, X.dtype)])
    assert shape.shape == output.shape
    assert_same(by_shape, model)


def in_a_module(function: Any) -> Any:
    class Outer(nn.Module):
        def apply(self, x):
            return function(self, x)

    return Outer


def other_name(module: Any, x: Any) -> Any:
    return nn.Dense.shared(features=3, name="a")(x, name="b")


def same_name(module: Any, x: Any) -> Any:
    return nn.Dense(x, 3, name="a") + nn.Dense(x, 3, name="a")


def shared_twice(module: Any, x: Any) -> Any:
    nn.Dense.shared(name="a"), nn.Dense.shared(name="a")


def shared_and_not(module: Any, x: Any) -> Any:
    nn.Dense.shared(name="a", features=3)(x)
    nn.Dense(x, 3, name="a")


def same_param(module: Any, x: Any) -> Any:
    module.param("a", (), jax.nn.initializers.zeros)
    module.param("a", (), jax.nn.initializers.zeros)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (other_name, r"give it to `shared\("),
        (same_name, "make it with shared"),
        (shared_twice, "another shared module 'a' in /"),
        (shared_and_not, "another module 'a'"),
        (same_param, "another parameter 'a' in /"),
        (lambda m, x: m.get_param("a"), "no parameter 'a' in /, only nothing"),
        (lambda m, x: nn.Dense(x, 3, name=1), "is a string"),
        (lambda m, x: nn.Dense(x, 3, name="a/b"), "a slash"),
        (lambda m, x: m.state("a"), r"with flax\.nn\.stateful"),
        (lambda m, x: nn.dropout(x, 0.5), r"with flax\.nn\.stochastic"),
        (lambda m, x: nn.BatchNorm(x, use_running_average=True), "needs the averages"),
        (lambda m, x: nn.GroupNorm(x, num_groups=2, group_size=2), "either num_groups"),
        (lambda m, x: nn.GroupNorm(x, num_groups=None, group_size=4), "not groups of 4"),
        (lambda m, x: nn.Embed(x, 3, 3), "takes integers"),
        (lambda m, x: nn.DenseGeneral(x, 3, batch_dims=1), "the first axes"),
    ],
)
def test_what_is_wrong_is_an_error_as_it_was(function: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        in_a_module(function).init(KEY, X)


def test_more_errors() -> None:
    with pytest.raises(ValueError, match=r"Dense\.init\(rng"):
        nn.Dense(X, 3)
    with pytest.raises(ValueError, match=r"for the apply of a module"):
        nn.Dense.shared(features=3)
    params = nn.Dense.init(KEY, X, features=3)[1]
    with pytest.raises(ValueError, match=r"has the shape \(6, 3\), and the module asks for \(2, 3"):
        nn.Dense.call(params, X[:, :2], 3)
    with pytest.raises(ValueError, match=r"no parameters for a module 'Dense_0' in /"):
        in_a_module(lambda m, x: nn.Dense(x, 3)).call({}, X)
    with pytest.raises(ValueError, match=r"takes wrapped_module"):
        nn.base.TruncatedModule.init(KEY, X)
    with pytest.raises(ValueError, match=r"calls one module, with name='0'"):
        nn.base.TransparentModule.partial()._post_process_params({})
    with pytest.raises(TypeError, match="abstract"):
        nn.recurrent.RNNCellBase.init(KEY, X)
