"""State: collections, what may store in them, and how they are kept."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from flax import serialization

from flaxoptim_compat import nn
from tests.support.nn_modules import modules
from tests.support.side_by_side import assert_same

KEY = jax.random.PRNGKey(3)
X = jnp.linspace(-1.0, 2.0, 12).reshape(2, 6)
Counter = modules(nn).Counter


@nn.module
def two(x, calls=None):
    return Counter(Counter(x, calls=calls, name="first"), calls=calls)


def test_state_goes_from_block_to_block() -> None:
    with nn.stateful() as state:
        assert nn.base.is_stateful() and nn.get_state() is state
        _, params = two.init(KEY, X)
    assert not nn.base.is_stateful()
    model = nn.Model(two, params)
    assert state.as_dict() == {"/first": {"count": 0.0}, "/Counter_0": {"count": 0.0}}
    for _ in range(2):
        with nn.stateful(state) as state:
            y = model(X)
    assert state["/first"] == {"count": 2.0}
    assert_same(y, X + 4.0 + 4.0)
    only = pytest.raises(ValueError, match=r"only in `with collection\.mutate")
    with nn.stateful(state, mutable=False), only:
        model(X)


def test_a_collection_of_its_own(genuine_nn: Any) -> None:
    def run(served: Any) -> Any:
        module = modules(served).Counter
        with served.Collection().mutate() as calls:
            _, params = module.init(KEY, X, calls=calls)
        with calls.mutate() as after:
            module.call(params, X, calls=after)
            module.call(params, X, calls=after)
        with calls.mutate() as named:
            module.call(params, X, calls=named, name="a")
            module.call(params, X, calls=named, name="b")
        return [calls.as_dict(), after.as_dict()]

    with pytest.raises(ValueError, match=r"which is which: pass name"):
        run(nn)
    with pytest.raises(ValueError, match=r"should have a name"):
        run(genuine_nn)


def test_named_models_may_store_in_one_collection(genuine_nn: Any) -> None:
    def run(served: Any) -> Any:
        module = modules(served).Counter
        params = {"scale": 2.0}
        state = served.Collection({path: {"count": 1.0} for path in ("/a", "/b")})
        with served.stateful(state) as state:
            outputs = [module.call(params, X, name=name) for name in "aba"]
        return [outputs, state.as_dict()]

    assert_same(run(nn), run(genuine_nn))
    assert run(nn)[1] == {"/a": {"count": 3.0}, "/b": {"count": 2.0}}


def test_a_collection_that_is_made_in_a_module_begins_there(genuine_nn: Any) -> None:
    def run(served: Any) -> Any:
        made, seen = modules(served), []

        class Outer(served.Module):
            def apply(self, x):
                with served.Collection().mutate() as calls:
                    made.Counter(x, calls=calls, name="inner")
                seen.append(calls.as_dict())
                with served.Collection().mutate() as own, pytest.raises(ValueError, match="State "):
                    own.store(1)
                return x

        class Outermost(served.Module):
            def apply(self, x):
                return Outer(x, name="outer")

        Outermost.init(KEY, X)
        return seen

    assert run(nn) == run(genuine_nn) == [{"/inner": {"count": 0.0}}]


def test_a_shared_module_does_not_store_where_it_was_not_shared() -> None:
    class Inner(nn.Module):
        def apply(self, counter, x):
            with nn.Collection().mutate() as calls:
                return counter(x, calls=calls)

    class Outer(nn.Module):
        def apply(self, x):
            return Inner(Counter.shared(name="counter"), x)

    with pytest.raises(ValueError, match=r"a shared module stores where it was shared"):
        Outer.init(KEY, X)


def test_a_collection_is_a_tree_when_nobody_changes_it() -> None:
    state = nn.Collection({"/a": {"count": jnp.ones(())}})
    doubled = jax.jit(lambda state: jax.tree.map(lambda leaf: 2 * leaf, state))(state)
    assert isinstance(doubled, nn.Collection) and doubled["/a"]["count"] == 2.0
    with state.mutate() as changed, pytest.raises(ValueError, match="cannot be passed to jax"):
        jax.tree.leaves(changed)
    assert jax.tree.leaves(changed) == [1.0]
    cache = nn.attention.Cache({"/a": jnp.ones(2)})
    assert isinstance(jax.tree.map(lambda leaf: leaf, cache), nn.attention.Cache)


def test_a_collection_is_serialized_as_it_was(genuine_nn: Any) -> None:
    stats = {"/BatchNorm_1": {"mean": jnp.arange(3.0), "var": jnp.ones(3)}}
    written = serialization.to_bytes(nn.Collection(stats))
    assert written == serialization.to_bytes(genuine_nn.Collection(stats))
    empty = nn.Collection(jax.tree.map(jnp.zeros_like, stats))
    restored = serialization.from_bytes(empty, written)
    assert isinstance(restored, nn.Collection)
    assert_same(restored.as_dict(), stats)
    # Surplus entries were ignored.
    more = {**serialization.msgpack_restore(written), "/other": {"mean": 1}}
    assert_same(serialization.from_state_dict(empty, more).as_dict(), stats)


def test_state_outside_of_a_module_and_before_there_is_any() -> None:
    with pytest.raises(ValueError, match=r"only there in the apply"):
        nn.Collection().retrieve()
    with pytest.raises(ValueError, match=r"`with flax\.nn\.stateful"):
        nn.get_state()
    with nn.stateful(), pytest.raises(ValueError, match=r"no value of the state 'count' yet"):
        Counter.call({"scale": 2.0}, X)

    class Inner(nn.Module):
        def apply(self, x):
            model = nn.Model(nn.BatchNorm, {"scale": jnp.ones(6), "bias": jnp.zeros(6)})
            return model(x)

    with nn.stateful(), pytest.raises(TypeError, match=r"pass name='\.\.\.' with the call"):
        Inner.call({}, X)
    assert Inner.call({}, X).shape == X.shape


def test_batch_norm_over_devices(genuine_nn: Any) -> None:
    x = jnp.linspace(-1.0, 3.0, 4 * 2 * 3).reshape(4, 2, 3)

    def run(served: Any) -> Any:
        module = served.BatchNorm.partial(axis_name="batch", momentum=0.5)
        with served.stateful() as state:
            _, params = module.init(KEY, x[0])

        def step(x: Any) -> Any:
            with served.stateful(state) as after:
                output = module.call(params, x)
            return output, after.as_dict()

        return jax.vmap(step, axis_name="batch")(x)

    assert_same(run(nn), run(genuine_nn))
