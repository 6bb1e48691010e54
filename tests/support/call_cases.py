"""How programs called functions that take other arguments today, as cases that run there and here.

The name of a case begins with that of the function, and a colon.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from tests.support.old_names import Case, Old

MODULES = ()

VECTOR = np.asarray([-2.5, 4.0, 0.0, 1.5, 3.0, -1.0], np.float32)
MATRIX = np.asarray([[1, 2, -4], [0.5, 3, 8]], np.float32)


def called(name: str, *args: Any, **kwargs: Any) -> Case:
    """The case of a call with arrays of jax in the place of numpy's."""

    def case(old: Old) -> Any:
        asarray = old("jax.numpy.asarray")

        def prepared(value: Any) -> Any:
            return asarray(value) if isinstance(value, np.ndarray) else value

        return old(name)(*map(prepared, args), **{k: prepared(v) for k, v in kwargs.items()})

    return case


def method(name: str, x: Any, *args: Any, **kwargs: Any) -> Case:
    """The case of a method of an array."""

    def case(old: Old) -> Any:
        return getattr(old("jax.numpy.asarray")(x), name)(*args, **kwargs)

    return case


NUMPY: dict[str, Case] = {
    "jax.numpy.clip: both bounds": called("jax.numpy.clip", VECTOR, a_min=-1, a_max=2.5),
    "jax.numpy.clip: one bound": called("jax.numpy.clip", VECTOR, a_max=0),
    "jax.numpy.clip: one in order": called("jax.numpy.clip", VECTOR, 0, a_max=1),
    "jax.numpy.clip: None": called("jax.numpy.clip", VECTOR, a_min=None, a_max=1.0),
    "jax.numpy.clip: all by name": called(
        "jax.numpy.clip", a=VECTOR, a_min=VECTOR[::-1].copy(), a_max=9, out=None
    ),
    "jax.numpy.clip: out": called("jax.numpy.clip", VECTOR, 0, 1, None),
    "jax.numpy.reshape: newshape": called("jax.numpy.reshape", VECTOR, newshape=(3, -1)),
    "jax.numpy.reshape: order": called("jax.numpy.reshape", a=MATRIX, newshape=6, order="F"),
    **{
        f"jax.numpy.{name}: {interpolation}": called(
            f"jax.numpy.{name}", MATRIX, scale * 0.25, axis=0, interpolation=interpolation
        )
        for name, scale in (
            ("percentile", 100),
            ("quantile", 1),
            ("nanpercentile", 100),
            ("nanquantile", 1),
        )
        for interpolation in ("lower", "higher", "nearest", "midpoint", "linear", None)
    },
}


def _gradient_of_checkpoint(old: Old, *args: Any, **kwargs: Any) -> Any:
    doubled = old("jax.checkpoint")(lambda x: (2 * x * x).sum(), *args, **kwargs)
    return old("jax.grad")(doubled)(MATRIX)


def _twice(n: int, x: Any) -> Any:
    return x if n == 0 else 2 * _twice(n - 1, x)


JAX: dict[str, Case] = {
    "jax.lax.dot: precision": called("jax.lax.dot", MATRIX, MATRIX.T.copy(), None),
    "jax.lax.dot: both": called("jax.lax.dot", MATRIX, MATRIX.T.copy(), "highest", np.float32),
    "jax.checkpoint: not concrete": lambda old: _gradient_of_checkpoint(old, concrete=False),
    "jax.jit: shardings": lambda old: old("jax.jit")(lambda x: x + 1, None, None)(VECTOR),
    "jax.jit: fun": lambda old: old("jax.jit")(fun=lambda x: x + 1)(VECTOR),
    "jax.jit: numbers after shardings": lambda old: old("jax.jit")(_twice, None, None, (0,))(
        3, VECTOR
    ),
    "jax.jit: axes": lambda old: old("jax.jit")(abs, abstracted_axes=None)(VECTOR),
}

ARRAYS: dict[str, Case] = {
    "jax.Array.device(): of one": lambda old: str(
        old("jax.numpy.asarray")(VECTOR).device()
    ).lower()[-1],
}


def _filled(shapes: Any, old: Old) -> Any:
    """Parameters of these shapes, the same in all versions."""
    leaves, structure = old("jax.tree_util.tree_flatten")(shapes)
    values = [np.cos(np.arange(leaf.size, dtype=np.float32)).reshape(leaf.shape) for leaf in leaves]
    return old("jax.tree_util.tree_unflatten")(structure, values)


def _rounded(tree: Any) -> Any:
    """Numbers without the last digits, in which XLA's releases differ."""
    if isinstance(tree, (tuple, list)):
        return [_rounded(each) for each in tree]
    if isinstance(tree, Mapping):
        return {key: _rounded(value) for key, value in tree.items()}
    array = np.asarray(tree)
    return [list(array.shape), array.dtype.str, *np.round(array.astype(float), 4).ravel().tolist()]


def _applied(old: Old, module: Any, *args: Any, **kwargs: Any) -> Any:
    key = old("jax.random.PRNGKey")(0)
    variables = _filled(old("jax.eval_shape")(module.init, key, *args, **kwargs), old)
    return [_rounded(variables["params"]), _rounded(module.apply(variables, *args, **kwargs))]


X = np.sin(np.arange(30, dtype=np.float32)).reshape(2, 5, 3)


def _cell(
    old: Old, name: str, made_with: Mapping[str, Any], gates: tuple[Callable[..., Any], ...] = ()
) -> Any:
    cell = old(f"flax.linen.{name}")
    ones = old("jax.nn.initializers.ones")
    carry = cell.initialize_carry(old("jax.random.PRNGKey")(0), (2,), 4, ones)
    return _applied(old, cell(*gates, **made_with), carry, X[:, 0])


def _carry(old: Old, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    try:
        cell = old(f"flax.linen.{name}")
    except ImportError:
        # Its name until flax 0.6.4.
        cell = old("flax.linen.ConvLSTM")
    return _rounded(cell.initialize_carry(old("jax.random.PRNGKey")(0), *args, **kwargs))


def _scanned(old: Old, name: str) -> Any:
    scan = partial(
        old("flax.linen.scan"),
        variable_broadcast="params",
        split_rngs={"params": False},
        in_axes=1,
        out_axes=1,
    )
    layer = scan(old(f"flax.linen.{name}"))
    carry = layer.initialize_carry(old("jax.random.PRNGKey")(0), (2,), 4)
    return _applied(old, layer(), carry, X)


def _attention(old: Old, call: Callable[[Any, Any, Any], Any]) -> Any:
    linen = {name: old(f"flax.linen.{name}") for name in ("Module", "compact", "make_causal_mask")}
    asarray = old("jax.numpy.asarray")

    class Block(linen["Module"]):  # type: ignore[misc]
        @linen["compact"]
        def __call__(self, x: Any) -> Any:
            attention = old("flax.linen.MultiHeadDotProductAttention")(num_heads=1)
            return call(attention, x, linen["make_causal_mask"](x[..., 0]))

    return _applied(old, Block(), asarray(X))


def halved(x: Any) -> Any:
    """The gate of a cell."""
    return 0.5 * x


LINEN: dict[str, Case] = {
    **{
        f"flax.linen.{name}: {what}": partial(_cell, name=name, made_with=made_with)
        for name in ("LSTMCell", "OptimizedLSTMCell", "GRUCell")
        for what, made_with in (
            ("without features", {}),
            ("with a gate", {"gate_fn": halved}),
        )
    },
    "flax.linen.GRUCell: with a gate in its place": partial(
        _cell, name="GRUCell", made_with={}, gates=(halved,)
    ),
    **{
        f"flax.linen.{name}: in scan": partial(_scanned, name=name)
        for name in ("LSTMCell", "OptimizedLSTMCell", "GRUCell")
    },
    **{
        f"flax.linen.{name}.initialize_carry: {what}": partial(
            _carry, name=name, args=args, kwargs=kwargs
        )
        for name, size in (
            ("LSTMCell", 4),
            ("OptimizedLSTMCell", 4),
            ("GRUCell", 4),
            ("ConvLSTMCell", (3, 3, 2)),
        )
        for what, args, kwargs in (
            ("in order", ((2,), size), {}),
            ("by name", (), {"size": size, "batch_dims": (2, 3)}),
        )
    },
    "flax.linen.MultiHeadDotProductAttention(...): mask third": partial(
        _attention, call=lambda attend, x, mask: attend(x, x, mask)
    ),
    "flax.linen.MultiHeadDotProductAttention(...): no mask": partial(
        _attention, call=lambda attend, x, mask: attend(x, x, None, True)
    ),
    "flax.linen.MultiHeadDotProductAttention(...): by name": partial(
        _attention, call=lambda attend, x, mask: attend(x, inputs_kv=x, mask=mask)
    ),
}

CASES: dict[str, Case] = {**NUMPY, **JAX, **ARRAYS, **LINEN}
