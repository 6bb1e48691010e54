"""flax.nn, which is gone: what is still served, and what the others' errors are like."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat.legacy.stand_ins import flax_nn
from tests.support.flax_nn_names import ACTIVATIONS, IN_PACKAGE, INITIALIZERS

KEY = jax.random.PRNGKey(0)


@pytest.mark.parametrize("name", IN_PACKAGE)
def test_every_name_of_the_package_is_served_or_says_what_to_do(name):
    assert hasattr(flax_nn, name) != (name in flax_nn.REMOVED)


def test_a_removed_name_is_missing_and_says_what_to_do():
    assert not hasattr(flax_nn, "Module")
    with pytest.raises(
        AttributeError, match=r"^flax\.nn\.Module was removed in flax 0\.4\.0: "
    ) as e:
        flax_nn.Module  # noqa: B018
    assert str(e.value) == flax_nn.REMOVED["Module"]
    with pytest.raises(AttributeError, match=r"collection 'cache' of the variables\.$"):
        flax_nn.attention.Cache  # noqa: B018


def test_an_unknown_name_gets_the_error_that_python_has():
    with pytest.raises(AttributeError, match=r"^module 'flax\.nn' has no attribute 'Dens'$"):
        flax_nn.Dens  # noqa: B018
    with pytest.raises(AttributeError, match=r"^module 'flax\.nn' has no attribute 'Dens'$"):
        flax_nn.linear.Dens  # noqa: B018


def test_activations_are_those_of_jax_as_they_always_were():
    for name in ACTIVATIONS:
        served = getattr(flax_nn.activation, name)
        now = {"normalize": jax.nn.standardize, "tanh": jnp.tanh}.get(name)
        assert served is (now or getattr(jax.nn, name))
        if name in IN_PACKAGE:
            assert served is getattr(flax_nn, name)


def test_initializers_are_those_of_jax_as_they_always_were():
    for name in INITIALIZERS:
        assert getattr(flax_nn.initializers, name) is getattr(jax.nn.initializers, name)
    expected = jax.nn.initializers.lecun_normal()(KEY, (8, 4))
    assert (flax_nn.linear.default_kernel_init(KEY, (8, 4)) == expected).all()
    assert flax_nn.linear.default_embed_init(KEY, (9, 4)).shape == (9, 4)


def test_pooling_pads_and_divides_as_it_did():
    x = np.arange(1.0, 6.0, dtype=np.float32).reshape(1, 5, 1)
    assert flax_nn.max_pool(x, (2,)).ravel().tolist() == [2, 3, 4, 5]
    assert flax_nn.max_pool(x, (2,), strides=(2,), padding="SAME").ravel().tolist() == [2, 4, 5]
    # The padding counts: the last window is (5 + 0) / 2.
    same = flax_nn.avg_pool(x, (2,), strides=(2,), padding="SAME")
    assert same.ravel().tolist() == [1.5, 3.5, 2.5]
    padded = flax_nn.pooling.pool(x, 0.0, jax.lax.add, (3,), (3,), [(1, 0)])
    assert padded.ravel().tolist() == [3, 12]


def test_star_imports_what_is_served():
    assert all(hasattr(flax_nn, name) for name in flax_nn.__all__)
    assert set(flax_nn.__all__) <= set(IN_PACKAGE)
