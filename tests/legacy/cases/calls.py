"""How programs called functions that take other arguments today, as cases that run there and here.

The name of a case begins with that of the function, and a colon.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from tests.legacy.cases.old_names import Case, Old

VECTOR = np.asarray([-2.5, 4.0, 0.0, 1.5, 3.0, -1.0], np.float32)
MATRIX = np.asarray([[1, 2, -4], [0.5, 3, 8]], np.float32)

FLAGS = np.asarray([True, False])


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
        # The four hand it on in the same way.
        if name == "quantile" or interpolation in ("nearest", None)
    },
    "jax.numpy.array: in order": called("jax.numpy.array", [1, 2], np.float32, True, "K", 2),
    "jax.numpy.sort: in order": called("jax.numpy.sort", MATRIX, -1, "quicksort"),
    "jax.numpy.sort: kind": called("jax.numpy.sort", MATRIX, axis=0, kind="quicksort"),
    "jax.numpy.argsort: in order": called("jax.numpy.argsort", MATRIX, 1, "stable", None),
    "jax.numpy.argsort: kind": called("jax.numpy.argsort", a=VECTOR, kind="stable"),
    "jax.numpy.compress: out": called("jax.numpy.compress", FLAGS, MATRIX, 0, None),
    "jax.numpy.where: all by name": called(
        "jax.numpy.where", condition=VECTOR > 1, x=VECTOR, y=np.float32(7)
    ),
    "jax.numpy.where: one by name": called("jax.numpy.where", VECTOR > 1, VECTOR, y=VECTOR * 2),
    "jax.numpy.where: the indices": called("jax.numpy.where", condition=VECTOR > 1, size=2),
    "jax.numpy.save: all": lambda old: _saved(old, True, fix_imports=False),
    "jax.numpy.save: in order": lambda old: _saved(old, True, True),
    "jax.numpy.from_dlpack: x": lambda old: (
        old("jax.numpy.from_dlpack")(x=old("jax.numpy.asarray")(VECTOR)) * 2
    ),
}


def _saved(old: Old, *args: Any, **kwargs: Any) -> Any:
    file = io.BytesIO()
    old("jax.numpy.save")(file, VECTOR, *args, **kwargs)
    return np.load(io.BytesIO(file.getvalue()))


def _gradient_of_checkpoint(old: Old, *args: Any, **kwargs: Any) -> Any:
    doubled = old("jax.checkpoint")(lambda x: (2 * x * x).sum(), *args, **kwargs)
    return old("jax.grad")(doubled)(MATRIX)


def _twice(n: int, x: Any) -> Any:
    return x if n == 0 else 2 * _twice(n - 1, x)


POSITIVE = np.asarray([[4, 1], [1, 3]], np.float32)


def _given(old: Old) -> Any:
    return old("jax.numpy.asarray")(VECTOR)


def _on_a_mesh(old: Old, resources: Callable[[Any], dict[str, Any]]) -> Any:
    mesh = old("jax.sharding.Mesh")(np.asarray(old("jax.devices")()[:1]), ("x",))
    with warnings.catch_warnings():
        # Of pjit, and of the mesh as a context.
        warnings.simplefilter("ignore")
        step = old("jax.experimental.pjit.pjit")(
            lambda x: x * 2, **resources(old("jax.sharding.PartitionSpec"))
        )
        with mesh:
            return step(VECTOR)


def _shape(struct: Any) -> Any:
    return [struct.shape, str(struct.dtype)]


def _softmax(old: Old, name: str) -> Any:
    return [
        _rounded(old(name)(MATRIX, initial=None)),
        _rounded(old(name)(MATRIX, -1, MATRIX > 0.75, -1e9)[:, 1]),
    ]


JAX: dict[str, Case] = {
    "jax.lax.dot: precision": called("jax.lax.dot", MATRIX, MATRIX.T.copy(), None),
    "jax.lax.dot: both": called("jax.lax.dot", MATRIX, MATRIX.T.copy(), "highest", np.float32),
    **{
        f"jax.lax.linalg.{name}: in order": lambda old, name=name, args=args: _rounded(
            old("jax.tree_util.tree_map")(abs, old(f"jax.lax.linalg.{name}")(POSITIVE, *args))
        )
        for name, args in (
            ("cholesky", (False,)),
            ("eig", (True, False)),
            ("eigh", (True, True)),
            ("qr", (False,)),
            ("schur", (True,)),
            ("svd", (False, True)),
            ("triangular_solve", (POSITIVE, True, True, False, False, True)),
        )
    },
    "jax.lax.cond: linear": lambda old: old("jax.lax.cond")(
        VECTOR[0] < 0, lambda x: 2 * x, lambda x: x, VECTOR, linear=(False,)
    ),
    "jax.make_jaxpr: abstracted_axes": lambda old: str(
        old("jax.make_jaxpr")(lambda x: x * 2, abstracted_axes=None)(VECTOR).in_avals
    ),
    "jax.pmap: global_arg_shapes": lambda old: old("jax.pmap")(
        lambda x: x * 2, devices=old("jax.local_devices")()[:1], global_arg_shapes=None
    )(VECTOR[None]),
    "jax.experimental.pjit.pjit: axis resources": lambda old: _on_a_mesh(
        old, lambda spec: {"in_axis_resources": spec("x"), "out_axis_resources": spec()}
    ),
    "jax.experimental.pjit.pjit: none": lambda old: _on_a_mesh(
        old, lambda spec: {"in_axis_resources": None, "out_axis_resources": None}
    ),
    "jax.ShapeDtypeStruct: in order": lambda old: _shape(
        old("jax.ShapeDtypeStruct")((2, 3), np.float32, None, None)
    ),
    "jax.ShapeDtypeStruct: named_shape": lambda old: _shape(
        old("jax.ShapeDtypeStruct")((2, 3), np.float32, named_shape={})
    ),
    "jax.nn.softmax: initial": lambda old: _softmax(old, "jax.nn.softmax"),
    "jax.nn.log_softmax: initial": lambda old: _softmax(old, "jax.nn.log_softmax"),
    "jax.nn.softmax: that of linen": lambda old: _softmax(old, "flax.linen.softmax"),
    "jax.nn.softmax: that of stax": lambda old: _softmax(old, "jax.example_libraries.stax.softmax"),
    "jax.nn.log_softmax: that of linen": lambda old: _softmax(
        old, "flax.linen.activation.log_softmax"
    ),
    "jax.scipy.special.exp1: module": lambda old: _rounded(
        old("jax.scipy.special.exp1")(np.float32([0.5, 2]), "jax.scipy.special")
    ),
    **{
        f"jax.dlpack.from_dlpack: {what}": lambda old, give=give: (
            give(old("jax.dlpack.from_dlpack"), old("jax.dlpack.to_dlpack")(2 * _given(old))) * 2
        )
        for what, give in (
            ("a capsule", lambda take, capsule: take(capsule)),
            ("dlpack", lambda take, capsule: take(dlpack=capsule)),
        )
    },
    "jax.dtypes.canonicalize_dtype: opaque": called(
        "jax.dtypes.canonicalize_dtype", "float64", allow_opaque_dtype=True
    ),
    "jax.scipy.linalg.solve: sym_pos": lambda old: _rounded(
        old("jax.scipy.linalg.solve")(POSITIVE, POSITIVE[0], sym_pos=True, lower=True)
    ),
    "jax.scipy.linalg.solve: in order": lambda old: _rounded(
        old("jax.scipy.linalg.solve")(
            POSITIVE, POSITIVE[0], False, False, False, False, False, True, "pos"
        )
    ),
    **{
        f"jax.scipy.stats.gennorm.{name}: p": lambda old, name=name: _rounded(
            old(f"jax.scipy.stats.gennorm.{name}")(VECTOR, p=np.float32(1.5))
        )
        for name in ("cdf", "pdf", "logpdf")
    },
    "jax.checkpoint: not concrete": lambda old: _gradient_of_checkpoint(old, concrete=False),
    "jax.jit: shardings": lambda old: old("jax.jit")(lambda x: x + 1, None, None)(VECTOR),
    "jax.jit: fun": lambda old: old("jax.jit")(fun=lambda x: x + 1)(VECTOR),
    "jax.jit: numbers after shardings": lambda old: old("jax.jit")(_twice, None, None, (0,))(
        3, VECTOR
    ),
    "jax.jit: axes": lambda old: old("jax.jit")(abs, abstracted_axes=None)(VECTOR),
}


def traced(case: Case) -> Case:
    """The case of a method, of a tracer in the place of the array that it would make."""

    def inside(old: Old) -> Any:
        def of_tracer(x: Any) -> Any:
            return case(lambda name: (lambda _: x) if name == "jax.numpy.asarray" else old(name))

        return old("jax.jit")(of_tracer)(MATRIX)

    return inside


METHODS: dict[str, Case] = {
    "jax.Array.argsort: in order": method("argsort", MATRIX, -1, "stable"),
    "jax.Array.sort: kind": method("sort", MATRIX, axis=0, kind="quicksort"),
    "jax.Array.clip: out": method("clip", MATRIX, 0, 1, None),
    "jax.Array.copy: in order": method("copy", MATRIX, None),
    "jax.Array.broadcast(): sizes": method("broadcast", MATRIX, (2, 1)),
    "jax.Array.broadcast_in_dim(): axes": method("broadcast_in_dim", MATRIX, (2, 5, 3), (0, 2)),
    "jax.Array.split(): along an axis": method("split", MATRIX, 3, axis=1),
}


def _conversions(old: Old) -> Any:
    one = old("jax.numpy.asarray")(VECTOR)[None, :1]
    return [float(one), int(one), complex(one).real]


def _none_for_something(old: Old) -> Any:
    mapped = old("jax.tree_util.tree_map")
    first, second = {"a": None, "b": [1, None]}, {"a": {"c": 2}, "b": [3, 4]}
    return [mapped(lambda x, y: x + y, first, second), mapped(lambda x, *_: x, None, 1, 2)]


VALUES: dict[str, Case] = {
    "jax.tree_util.tree_map: None for something": _none_for_something,
    "jax.random.fold_in: negative": lambda old: old("jax.random.fold_in")(
        old("jax.random.PRNGKey")(0), -3
    ),
    "jax.Array.__float__: of one number": _conversions,
    "jax.Array.__bool__: of none": lambda old: [bool(old("jax.numpy.asarray")(VECTOR)[:0])],
}

ARRAYS: dict[str, Case] = {
    **METHODS,
    **{f"{name}, traced": traced(case) for name, case in METHODS.items()},
    "jax.Array.device_buffer: of one": lambda old: old("jax.numpy.asarray")(VECTOR).device_buffer,
    "jax.Array.device_buffers: of one": lambda old: old("jax.numpy.asarray")(VECTOR).device_buffers,
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


PAIR = "flax.training.early_stopping.EarlyStopping.update() as a pair"


def _stopping(old: Old, take_apart: Callable[[Any], tuple[Any, Any]]) -> Any:
    stopping = old("flax.training.early_stopping.EarlyStopping")(min_delta=0.1, patience=1)
    seen: list[Any] = []
    for metric in (4.0, 3.0, 2.95, 3.5, 1.0, 0.99):
        improved, stopping = take_apart(stopping.update(metric))
        seen.append([improved, stopping.should_stop, stopping.best_metric, stopping.patience_count])
    return seen


TRAINING: dict[str, Case] = {
    f"{PAIR}: {how}": partial(_stopping, take_apart=take_apart)
    for how, take_apart in (
        ("unpacked", lambda pair: pair),
        ("by their places", lambda pair: (pair[0], pair[1])),
        ("from the end", lambda pair: (pair[-2], pair[-1])),
        ("as a slice", lambda pair: pair[:2]),
        ("as a tuple", tuple),
    )
}

CASES: dict[str, Case] = {**NUMPY, **JAX, **VALUES, **ARRAYS, **LINEN, **TRAINING}
