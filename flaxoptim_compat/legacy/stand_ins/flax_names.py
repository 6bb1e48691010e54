"""``flax.core.lift.named_call`` and ``flax.linen.ConvLSTM``, which Flax 0.6 dropped or renamed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from flax import linen

from flaxoptim_compat import nn


def named_call(fn: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function of a scope with a name in profiles."""
    return jax.named_call(fn, name=name)


class ConvLSTM(linen.ConvLSTMCell):
    """``flax.linen.ConvLSTMCell`` with its old carry, and its old names of parameters.

    A cell without a name is called ``ConvLSTM_0`` in its module, as in old checkpoints.
    """

    # That of flax.nn, whose arguments it has.
    initialize_carry = staticmethod(nn.ConvLSTM.initialize_carry)  # type: ignore[assignment]
