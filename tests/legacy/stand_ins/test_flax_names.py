"""The ConvLSTM of linen's first releases: its names of parameters, and its carry."""

from __future__ import annotations

import jax
from flax import linen

from flaxoptim_compat.legacy.stand_ins.flax_names import ConvLSTM

KEY = jax.random.PRNGKey(0)


def test_conv_lstm_has_its_old_names_and_its_old_carry():
    class Encoder(linen.Module):
        @linen.compact
        def __call__(self, carry, x):
            return ConvLSTM(features=6, kernel_size=(3, 3))(carry, x)

    x = jax.random.normal(KEY, (2, 4, 4, 3))
    carry = ConvLSTM.initialize_carry(KEY, (2,), (4, 4, 6))
    (_, y), variables = Encoder().init_with_output(KEY, carry, x)
    params = variables["params"]["ConvLSTM_0"]
    assert y.shape == (2, 4, 4, 6) and set(params) == {"ih", "hh"}
    now = linen.ConvLSTMCell(features=6, kernel_size=(3, 3))
    assert (now.apply({"params": params}, now.initialize_carry(KEY, x.shape), x)[1] == y).all()
    ones = ConvLSTM.initialize_carry(KEY, (2,), (4, 4, 6), linen.initializers.ones)
    assert all((part == 1).all() for part in ones)
