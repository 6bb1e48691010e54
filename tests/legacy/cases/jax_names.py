"""What programs did with names that jax dropped.

Those that jax has in another module by the same name are not here: that they are there, the tests
of the tables say.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.legacy.cases import jax_updates as jax_update_cases
from tests.legacy.cases.jax_updates import EXACT, FLAGS, INTEGERS, MATRIX, VECTOR
from tests.legacy.cases.old_names import Case, Old


def _key(old: Old, seed: int = 0) -> Any:
    return old("jax.random.PRNGKey")(seed)


def _printed(old: Old, value: Any, **how: Any) -> str:
    stream = io.StringIO()
    old("jax.experimental.host_callback.id_print")(value, output_stream=stream, **how)
    old("jax.experimental.host_callback.barrier_wait")()
    return stream.getvalue()


def _tapped(old: Old, program: Callable[[Any, Any], Any]) -> list[Any]:
    seen: list[Any] = []

    def tap(value: Any, transforms: Any) -> None:
        seen.append([np.asarray(value), [list(each) for each in transforms]])

    result = program(old, lambda x: old("jax.experimental.host_callback.id_tap")(tap, x))
    old("jax.experimental.host_callback.barrier_wait")()
    return [result, *seen]


def _multimap(old: Old) -> Any:
    first = {"a": None, "b": 1, "c": {"d": None}}
    second = {"a": {"x": 5}, "b": 2, "c": {"d": [7, 8]}}
    return old("jax.tree_map")(lambda *leaves: list(leaves), first, second)


def _none_as_leaf(old: Old) -> Any:
    is_none = lambda node: node is None
    return old("jax.tree_map")(lambda *leaves: str(leaves), [None, 1], [2, 3], is_leaf=is_none)


def _raising(old: Old) -> Any:
    return old("jax.tree_map")(lambda *leaves: leaves, {"a": 1}, {"b": 1})


def _grad_of_a_tap(old: Old, tap: Any) -> Any:
    return old("jax.grad")(lambda x: tap(x) ** 2)(3.0)


def _vmap_of_a_tap(old: Old, tap: Any) -> Any:
    return old("jax.jit")(old("jax.vmap")(lambda x: tap(2.0 * x) ** 2))(VECTOR)


def _scan_of_a_tap(old: Old, tap: Any) -> Any:
    return old("jax.lax.scan")(lambda carry, x: (tap(carry + x), x), np.float32(0), VECTOR)


def _call(old: Old) -> Any:
    shape = old("jax.ShapeDtypeStruct")((3,), np.float32)
    call = old("jax.experimental.host_callback.call")
    on_host = lambda pair: np.sort(pair[0])[:3] * pair[1]
    return old("jax.jit")(lambda x: call(on_host, (x, 2.0), result_shape=shape) + 1)(VECTOR)


def _normalized(old: Old, *args: Any, **kwargs: Any) -> list[Any]:
    result = np.asarray(old("jax.nn.normalize")(MATRIX, *args, **kwargs))
    # The last bits are different with each XLA, but where both names are, they mean the same.
    successor = np.asarray(old("jax.nn.standardize")(MATRIX, *args, **kwargs))
    return [result.tobytes() == successor.tobytes(), np.round(result, 4)]


def _is_value_error(program: Callable[[], Any]) -> bool:
    try:
        program()
    except ValueError:
        return True
    return False


def _with(context: Any, old: Old, value: Any) -> list[Any]:
    with context:
        inside = old("jax.numpy.asarray")(value)
    return [inside, old("jax.numpy.asarray")(value)]


def _split_merge(old: Old) -> list[Any]:
    even, odd, merge = old("jax.util.split_merge")(lambda x: x % 2 == 0, [1, 2, 3, 4, 6])
    return [even, odd, merge([20, 40, 60], [10, 30])]


def _jaxpr_of(old: Old, function: Any) -> Any:
    return old("jax.make_jaxpr")(function)(EXACT).jaxpr


def _squared(old: Old) -> Any:
    return _jaxpr_of(old, lambda x: old("jax.lax.integer_pow")(x, 2))


def _equation_of_ones_own(old: Old) -> Any:
    jaxpr = _squared(old)
    (square,), (out,) = jaxpr.eqns, jaxpr.outvars
    again = old("jax.core.gensym")()(out.aval)
    parts = ([out], [again], square.primitive, square.params, old("jax.core.no_effects"))
    added = old("jax.core.new_jaxpr_eqn")(*parts)
    twice = jaxpr.replace(eqns=[square, added], outvars=[again])
    return [old("jax.core.check_jaxpr")(twice), old("jax.core.eval_jaxpr")(twice, (), EXACT)]


def _mistaken_jaxpr(old: Old) -> bool:
    jaxpr = _squared(old)
    nowhere = old("jax.core.gensym")()(jaxpr.outvars[0].aval)
    try:
        old("jax.core.check_jaxpr")(jaxpr.replace(outvars=[nowhere]))
    except old("jax.core.JaxprTypeError"):
        return True
    return False


def _primitive(old: Old, made: Any, function: Callable[..., Any], slopes: list[float]) -> Any:
    """What comes of a primitive of one's own, and of what transforms it."""
    mlir = {
        name: old(f"jax.interpreters.mlir.{name}") for name in ("lower_fun", "register_lowering")
    }
    mlir["register_lowering"](made, mlir["lower_fun"](function, multiple_results=False))
    rules = [lambda g, *_, slope=slope: slope * g for slope in slopes]
    old("jax.interpreters.ad.defjvp")(made, *rules)
    x = [EXACT] * len(slopes)
    return [
        made.bind(*map(old("jax.numpy.asarray"), x)),
        old("jax.jit")(made.bind)(*x),
        old("jax.vmap")(made.bind)(*x),
        old("jax.grad")(lambda *args: made.bind(*args).sum())(*x),
        str(old("jax.make_jaxpr")(made.bind)(*x)).split()[-4:],
    ]


def _of_one(old: Old) -> Any:
    made = old("jax.lax.standard_unop")({np.floating}, "doubled")
    return _primitive(old, made, lambda x: 2 * x, [2.0])


def _of_two(old: Old) -> Any:
    made = old("jax.lax.standard_naryop")([{np.floating}] * 2, "added")
    return _primitive(old, made, lambda x, y: x + 2 * y, [1.0, 2.0])


def _of_no_such_dtype(old: Old) -> Any:
    return old("jax.lax.standard_unop")({np.floating}, "one").bind(
        old("jax.numpy.asarray")(INTEGERS)
    )


def _on_a_mesh(old: Old) -> Any:
    shard_map = "jax.experimental.shard_map."
    mesh = old(f"{shard_map}Mesh")(np.array(old("jax.local_devices")()[:1]), ("x",))
    spec = old(f"{shard_map}P")("x")
    doubled = old(f"{shard_map}shard_map")(lambda x: 2 * x, mesh, (spec,), spec)
    jaxpr = old("jax.make_jaxpr")(doubled)(EXACT)
    return [
        doubled(EXACT),
        [each.primitive is old(f"{shard_map}shard_map_p") for each in jaxpr.eqns],
        isinstance(old(f"{shard_map}shard_map_p"), old(f"{shard_map}ShardMapPrimitive")),
        old(f"{shard_map}pmap")(lambda x: 2 * x)(EXACT[None]),
        old(f"{shard_map}tree_map")(lambda x: x + 1, [1, {"a": 2}]),
        old(f"{shard_map}unzip3")([(1, 2, 3), (4, 5, 6)]),
        old(f"{shard_map}partition_list")([True, False, True], [1, 2, 3]),
        old(f"{shard_map}merge_lists")([True, False, True], [2], [1, 3]),
        old(f"{shard_map}map")(max, [1, 5], (3, 4)),
    ]


CASES: dict[str, Case] = {
    **jax_update_cases.CASES,
    "a primitive of one's own": _of_one,
    "a primitive of two arrays": _of_two,
    "a primitive of another dtype": _of_no_such_dtype,
    "what shard_map has": _on_a_mesh,
    "no TPU of Colab": lambda old: old("jax.tools.colab_tpu.setup_tpu")(),
    "tree_map where the first tree has None": _multimap,
    "tree_map with None as a leaf": _none_as_leaf,
    "tree_map of what does not fit": _raising,
    "tree_map of one tree": lambda old: old("jax.tree_map")(lambda x: x + 1, {"a": (1, None)}),
    "tree_leaves": lambda old: old("jax.tree_leaves")({"b": 1, "a": [2, None, (3,)]}),
    "tree_flatten": lambda old: old("jax.tree_flatten")({"b": 1, "a": [2, (3,)]})[0],
    "tree_unflatten": lambda old: old("jax.tree_unflatten")(
        old("jax.tree_structure")({"b": 1, "a": [2]}), [5, 6]
    ),
    "tree_transpose": lambda old: old("jax.tree_transpose")(
        old("jax.tree_structure")([0, 0]),
        old("jax.tree_structure")({"a": 0}),
        [{"a": 1}, {"a": 2}],
    ),
    "shuffle a vector": lambda old: old("jax.random.shuffle")(_key(old), VECTOR),
    "shuffle rows": lambda old: old("jax.random.shuffle")(_key(old, 1), MATRIX),
    "shuffle columns": lambda old: old("jax.random.shuffle")(_key(old, 2), INTEGERS, axis=1),
    "shuffle the last axis": lambda old: old("jax.random.shuffle")(_key(old, 3), MATRIX, -1),
    "threefry2x32_key": lambda old: old("jax.random.threefry2x32_key")(2**31 + 5),
    "in1d": lambda old: old("jax.numpy.in1d")(INTEGERS, VECTOR.astype(np.int32)),
    "in1d, inverted": lambda old: old("jax.numpy.in1d")(INTEGERS, INTEGERS[0], False, invert=True),
    "trapz": lambda old: old("jax.numpy.trapz")(EXACT),
    "fix": lambda old: old("jax.numpy.fix")(VECTOR * 1.7),
    "fix of integers, which later remained integers": lambda old: np.float32(
        old("jax.numpy.fix")(INTEGERS)
    ),
    "fix of a number": lambda old: old("jax.numpy.fix")(-2.7),
    "round_": lambda old: old("jax.numpy.round_")(VECTOR * 1.37, 1),
    "row_stack": lambda old: old("jax.numpy.row_stack")((VECTOR, VECTOR + 1)),
    "product": lambda old: old("jax.numpy.product")(EXACT, axis=1, keepdims=True),
    "cumproduct": lambda old: old("jax.numpy.cumproduct")(INTEGERS, axis=1),
    "alltrue": lambda old: old("jax.numpy.alltrue")(FLAGS, axis=0),
    "sometrue": lambda old: old("jax.numpy.sometrue")(FLAGS),
    "issubsctype": lambda old: [
        old("jax.numpy.issubsctype")(each, old("jax.numpy.floating"))
        for each in (np.float32, np.int8, "float16", np.dtype("complex64"))
    ],
    "constants": lambda old: [str(old(f"jax.numpy.{name}")) for name in ("NINF", "NZERO", "PZERO")],
    "DeviceArray": lambda old: isinstance(old("jax.numpy.zeros")(2), old("jax.numpy.DeviceArray")),
    "tie_in": lambda old: old("jax.lax.tie_in")(VECTOR, MATRIX),
    "zeros_like_array": lambda old: old("jax.lax.zeros_like_array")(INTEGERS),
    "normalize": lambda old: _normalized(old),
    "normalize along an axis": lambda old: _normalized(old, 0, epsilon=1e-2),
    "normalize by given numbers": lambda old: _normalized(
        old, mean=np.float32(0.5), variance=np.float32(2.0)
    ),
    "enable_x64": lambda old: _with(old("jax.experimental.enable_x64")(), old, np.arange(3.0)),
    "disable_x64": lambda old: _with(old("jax.experimental.disable_x64")(), old, np.arange(3.0)),
    "safe_map": lambda old: old("jax.util.safe_map")(max, [1, 5], (3, 4)),
    "safe_map of different lengths": lambda old: _is_value_error(
        lambda: old("jax.util.safe_map")(max, [1], (3, 4))
    ),
    "safe_zip": lambda old: old("jax.util.safe_zip")([1, 5], "ab"),
    "safe_zip of different lengths": lambda old: _is_value_error(
        lambda: old("jax.util.safe_zip")([1], "ab")
    ),
    "unzip2": lambda old: old("jax.util.unzip2")([(1, "a"), (2, "b")]),
    "unzip2 of nothing": lambda old: old("jax.util.unzip2")(iter(())),
    "split_list": lambda old: old("jax.util.split_list")([1, 2, 3, 4, 5], [2, 1]),
    "split_dict": lambda old: old("jax.util.split_dict")({"a": 1, "b": 2}, ["b", "a"]),
    "split_dict without all": lambda old: old("jax.util.split_dict")({"a": 1, "b": 2}, ["b"]),
    "subvals": lambda old: old("jax.util.subvals")([1, 2, 3], [(0, 7), (2, 9)]),
    "split_merge": lambda old: _split_merge(old),
    "wrap_name": lambda old: old("jax.util.wrap_name")("f", "jit"),
    "an equation of one's own": _equation_of_ones_own,
    "a jaxpr with a mistake": _mistaken_jaxpr,
    "replicated": lambda old: old("jax.device_put_replicated")(
        {"a": MATRIX, "b": 1}, old("jax.local_devices")()[:1]
    ),
    "sharded": lambda old: old("jax.device_put_sharded")(
        [{"a": INTEGERS, "b": 2.5}], old("jax.local_devices")()[:1]
    ),
    "sharded on too few devices": lambda old: old("jax.device_put_sharded")(
        [1, 2], old("jax.local_devices")()[:1]
    ),
    "xla_computation": lambda old: str(
        old("jax.xla_computation")(lambda x: (x, x.sum()), return_shape=True)(MATRIX)[1]
    ).replace("ShapeDtypeStruct", ""),
    "id_print": lambda old: _printed(old, VECTOR, what="x", a=3),
    "id_print of a tree": lambda old: _printed(
        old, (VECTOR[:3], [1, {"b": MATRIX[:2], "a": None}], ()), label="tree"
    ),
    "id_print of a wide tree": lambda old: _printed(
        old, {"v": (MATRIX, VECTOR), "u": [VECTOR, [VECTOR, {"w": 1.5}]], "n": 3}
    ),
    "id_print of much": lambda old: _printed(old, np.arange(3000.0), threshold=10),
    "id_tap": lambda old: _tapped(old, lambda old, tap: tap(VECTOR) + 1),
    "id_tap under jit": lambda old: _tapped(old, lambda old, tap: old("jax.jit")(tap)(INTEGERS)),
    "id_tap under grad": lambda old: _tapped(old, _grad_of_a_tap),
    "id_tap under vmap": lambda old: _tapped(old, _vmap_of_a_tap),
    "id_tap in a scan": lambda old: _tapped(old, _scan_of_a_tap),
    "host_callback.call": _call,
}
