"""The layers of Linen, and of flax.nn, and which variables they have."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from tests.support.nn_cases import CARRY, CASES, IMAGE_CARRY, IMAGES, KEY, TOKENS

# The names of variables, each with its shape and dtype.
Variables = dict[str, str]


def _cell(name: str, **scan: Any) -> Callable[[Any], Any]:
    """A recurrent layer, which has a number of features since Flax 0.6.12; scanned, if so asked."""

    def make(nn: Any) -> Any:
        cell = getattr(nn, name)
        features = {"features": 5} if "features" in cell.__dataclass_fields__ else {}
        return (nn.scan(cell, **scan) if scan else cell)(**features)

    return make


def _conv_lstm(nn: Any) -> Any:
    return (getattr(nn, "ConvLSTM", None) or nn.ConvLSTMCell)(3, (3, 3))


def _lifted(name: str, **settings: Any) -> Callable[[Any], Any]:
    return lambda nn: getattr(nn, name)(nn.Dense, **settings)(3)


LINEN: dict[str, tuple[Callable[[Any], Any], tuple[Any, ...]]] = {
    "Dense": (lambda nn: nn.Dense(3), (TOKENS,)),
    "Dense in bfloat16": (lambda nn: nn.Dense(3, dtype=jnp.bfloat16), (TOKENS,)),
    "DenseGeneral": (lambda nn: nn.DenseGeneral((2, 3)), (TOKENS,)),
    "DenseGeneral over two axes": (lambda nn: nn.DenseGeneral(4, axis=(1, -1)), (TOKENS,)),
    "DenseGeneral with batches": (lambda nn: nn.DenseGeneral(3, batch_dims=(0,)), (TOKENS,)),
    "Conv": (lambda nn: nn.Conv(3, (3, 2)), (IMAGES,)),
    "Conv in bfloat16": (lambda nn: nn.Conv(3, (3, 2), dtype=jnp.bfloat16), (IMAGES,)),
    "Conv in groups": (lambda nn: nn.Conv(4, (3, 3), feature_group_count=2), (IMAGES,)),
    "Conv of one axis": (lambda nn: nn.Conv(3, (3,)), (TOKENS,)),
    "Conv of one axis, by a number": (lambda nn: nn.Conv(3, 3), (TOKENS,)),
    "ConvTranspose": (lambda nn: nn.ConvTranspose(3, (3, 2), strides=(2, 2)), (IMAGES,)),
    "ConvLocal": (lambda nn: nn.ConvLocal(3, (3, 2)), (IMAGES,)),
    "Embed": (lambda nn: nn.Embed(7, 4), (jnp.asarray([[1, 2], [0, 6]]),)),
    "Embed in bfloat16": (
        lambda nn: nn.Embed(7, 4, dtype=jnp.bfloat16),
        (jnp.asarray([[1, 2], [0, 6]]),),
    ),
    "BatchNorm": (lambda nn: nn.BatchNorm(use_running_average=False), (IMAGES,)),
    "BatchNorm in bfloat16": (
        lambda nn: nn.BatchNorm(use_running_average=False, dtype=jnp.bfloat16),
        (IMAGES,),
    ),
    "BatchNorm over other axes": (
        lambda nn: nn.BatchNorm(use_running_average=False, axis=(-2, -1)),
        (IMAGES,),
    ),
    "LayerNorm": (lambda nn: nn.LayerNorm(), (TOKENS,)),
    "LayerNorm in bfloat16": (lambda nn: nn.LayerNorm(dtype=jnp.bfloat16), (TOKENS,)),
    "GroupNorm": (lambda nn: nn.GroupNorm(2), (IMAGES,)),
    "GroupNorm of sequences": (lambda nn: nn.GroupNorm(2), (TOKENS,)),
    "GroupNorm of vectors": (lambda nn: nn.GroupNorm(2), (TOKENS[:, 0],)),
    "GroupNorm in bfloat16": (lambda nn: nn.GroupNorm(2, dtype=jnp.bfloat16), (IMAGES,)),
    "SelfAttention": (lambda nn: nn.SelfAttention(2, deterministic=True), (TOKENS,)),
    "SelfAttention that decodes": (
        lambda nn: nn.SelfAttention(2, deterministic=True, decode=True),
        (TOKENS,),
    ),
    "MultiHeadDotProductAttention": (
        lambda nn: nn.MultiHeadDotProductAttention(2, deterministic=True),
        (TOKENS, TOKENS[:, :3]),
    ),
    "LSTMCell": (_cell("LSTMCell"), (CARRY, TOKENS[:, 0])),
    "OptimizedLSTMCell": (_cell("OptimizedLSTMCell"), (CARRY, TOKENS[:, 0])),
    "GRUCell": (_cell("GRUCell"), (CARRY[0], TOKENS[:, 0])),
    "ConvLSTM": (_conv_lstm, (IMAGE_CARRY, IMAGES)),
    "vmap": (_lifted("vmap", variable_axes={"params": 0}, split_rngs={"params": True}), (TOKENS,)),
    "scan": (
        _cell("LSTMCell", variable_broadcast="params", split_rngs={"params": False}),
        (CARRY, jnp.swapaxes(TOKENS, 0, 1)),
    ),
    "remat": (_lifted("remat"), (TOKENS,)),
    "checkpoint": (_lifted("checkpoint"), (TOKENS,)),
    "jit": (_lifted("jit"), (TOKENS,)),
}


def layers_of_linen(nn: Any) -> dict[str, Variables]:
    """The variables of each layer of Linen in a module without a name of its own for it."""

    def variables(case: tuple[Callable[[Any], Any], tuple[Any, ...]]) -> Any:
        make, inputs = case

        class Parent(nn.Module):
            @nn.compact
            def __call__(self, *inputs: Any) -> Any:
                return make(nn)(*inputs)

        return Parent().init(KEY, *inputs)

    return _of_each(LINEN, variables)


def layers_of_nn(nn: Any) -> dict[str, Variables]:
    """The same of flax.nn."""

    def variables(case: Any) -> Any:
        class Parent(nn.Module):
            def apply(self, *inputs: Any) -> Any:
                return getattr(nn, case.module)(*inputs, **case.settings)

        with nn.stateful() as state, nn.stochastic(KEY):
            _, params = Parent.init(KEY, *case.inputs)
        return {"params": params, "state": state.as_dict()}

    return _of_each(CASES, variables)


def _of_each(cases: Mapping[str, Any], variables: Callable[[Any], Any]) -> dict[str, Variables]:
    found = {}
    for name, case in cases.items():
        # Older releases lack a layer or an argument; those up to 0.4.1 scan by what jax 0.4.13 has
        # no longer.
        with contextlib.suppress(Exception):
            found[name] = dict(_described(jax.eval_shape(functools.partial(variables, case))))
    return found


def _described(tree: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(tree, Mapping):
        for name in sorted(tree):
            yield from _described(tree[name], f"{path}/{name}".lstrip("/"))
    else:
        yield path, f"{tree.dtype}{[*tree.shape]}"
