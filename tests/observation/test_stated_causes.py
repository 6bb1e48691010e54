"""Causes that two programs state by themselves."""

from __future__ import annotations

import pytest

from flaxoptim_compat.observation.stated_causes import stated_causes

OLD = b"from flax import optim\n\ndef make(params):\n  return optim.RMSProp(0.01).create(params)\n"


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        (OLD, b"tx = optax.rmsprop(1e-2)", "eps-inside-root"),
        pytest.param(
            b"from flax.optim import Adam as A\nA(0.01, weight_decay=0.1)",
            b"tx = optax.chain(optax.add_decayed_weights(0.1), optax.adam(0.01))",
            "decay-before-moments",
            marks=pytest.mark.exhaustive,
        ),
        (OLD, b"tx = optax.rmsprop(rate)", None),
        (OLD, b"tx = [optax.rmsprop(0.01), optax.sgd(0.1)]", None),
        (b"optim.Momentum().create(params)", b"tx = optax.sgd(0.1)", None),
        (OLD, b"tx = optax.rmsprop(", None),
        (b"optim.__import__('os').abort()", b"optax.contrib._x.exit(0)", None),
    ],
)
def test_plain_expressions_have_known_causes(old: bytes, new: bytes, key: str | None) -> None:
    found = stated_causes(old, new)
    assert (found and found.causes[0].key) == key
