"""Errors of this package: parameters that they are about, and what all of them must be like."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import pytest

import flaxoptim_compat
from flaxoptim_compat import optim

PACKAGE = str(Path(flaxoptim_compat.__file__).parent)
PARAMS = {
    "dense": {"bias": jnp.ones(3), "kernel": jnp.ones((2, 3))},
    "pair": {"0": jnp.ones(2), "1": jnp.ones(4)},
}


@contextmanager
def raises(kind: type[Exception], *parts: str) -> Iterator[Any]:
    """Expect an error of ours whose message has these parts, with no other error before it."""
    with pytest.raises(kind) as caught:
        yield caught
    error = caught.value
    assert type(error) is kind
    assert [part for part in parts if part not in str(error)] == [], str(error)
    assert traceback.extract_tb(error.__traceback__)[-1].filename.startswith(PACKAGE)
    # Before Python 3.11 jax puts one there that is about its own frames in the traceback.
    assert error.__cause__ is None or type(error.__cause__).__module__.startswith("jax.")
    assert error.__context__ is None or error.__suppress_context__


def having(part: str) -> optim.ModelParamTraversal:
    return optim.ModelParamTraversal(lambda path, _: part in path)


def in_weight_norm(definition: Any) -> Any:
    return optim.WeightNorm(definition)


def in_multi_optimizer(definition: Any) -> Any:
    return optim.MultiOptimizer((having("pair"), optim.Adam(0.1)), (having("dense"), definition))


def edited(tree: Any, path: str, *value: Any) -> Any:
    """A copy of nested dicts with the entry at a path replaced, added, or, without one, deleted."""
    name, _, rest = path.partition("/")
    copy = dict(tree)
    if rest:
        copy[name] = edited(tree[name], rest, *value)
    elif value:
        (copy[name],) = value
    else:
        del copy[name]
    return copy
