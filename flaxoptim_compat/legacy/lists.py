"""Functions of jax that took lists for arrays once, and do so again."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

# Which functions took a list or a tuple in some release from 0.2.9 to 0.4.13, and in place of
# which arguments: in order, "-" for one that is no array, "*" for any number of them, and "[]"
# after one that is a sequence of arrays.
TOOK_LISTS: dict[str, dict[str, str]] = {
    "jax.numpy": {
        "allclose": "a b",
        "argwhere": "a",
        "atleast_1d": "*",
        "atleast_2d": "*",
        "atleast_3d": "*",
        "average": "a - weights",
        "broadcast_arrays": "*",
        "broadcast_to": "array",
        "column_stack": "tup[]",
        "compress": "condition a",
        "copy": "a",
        "digitize": "x bins",
        "dstack": "tup[]",
        "ediff1d": "ary to_end to_begin",
        "extract": "condition arr",
        "flatnonzero": "a",
        "frexp": "x",
        "histogram": "- bins",
        "histogram2d": "x y",
        "histogram_bin_edges": "a bins",
        "histogramdd": "- bins[]",
        "hstack": "tup[]",
        "intersect1d": "ar1 ar2",
        "isclose": "a b",
        "ix_": "*",
        "meshgrid": "*",
        "nanpercentile": "- q",
        "nonzero": "a",
        "packbits": "a",
        "pad": "array",
        "percentile": "- q",
        "polyadd": "a1 a2",
        "polyder": "p",
        "polysub": "a1 a2",
        "polyval": "p",
        "ravel": "a",
        "repeat": "- repeats",
        "reshape": "a",
        "roll": "a",
        "roots": "p",
        "searchsorted": "a v",
        "setdiff1d": "ar1 ar2",
        "take": "a indices",
        "tril_indices_from": "arr",
        "trim_zeros": "filt",
        "triu_indices_from": "arr",
        "unique": "ar",
        "unravel_index": "indices",
        "vander": "x",
        "vstack": "tup[]",
    },
    "jax.numpy.fft": {"fftshift": "x", "ifftshift": "x"},
    "jax.numpy.linalg": {
        "cholesky": "a",
        "det": "a",
        "eig": "a",
        "eigh": "a",
        "eigvalsh": "a",
        "matrix_power": "a",
        "matrix_rank": "M",
        "norm": "x",
        "qr": "a",
        "slogdet": "a",
        "solve": "a b",
        "svd": "a",
        "tensorinv": "a",
        "tensorsolve": "a b",
    },
    "jax.lax": {"reshape": "operand", "transpose": "operand"},
    "jax.nn": {"sigmoid": "x"},
    "jax.random": {"poisson": "- lam"},
    "jax.scipy.linalg": {"det": "a", "solve": "a b"},
    "jax.scipy.special": {"expit": "x", "logit": "x"},
}

# Those that took them longer than the oldest jax that there is to care for: the first release
# that does not.
UNTIL: dict[str, tuple[int, int]] = {
    "jax.numpy.atleast_1d": (0, 10),
    "jax.numpy.atleast_2d": (0, 10),
    "jax.numpy.atleast_3d": (0, 10),
    "jax.numpy.column_stack": (0, 10),
    "jax.numpy.hstack": (0, 10),
    "jax.numpy.trim_zeros": (0, 8),
    "jax.numpy.vstack": (0, 10),
}


def accept_lists() -> Callable[[], None]:
    """Let functions of jax take lists for arrays that took them once, and return what ends that.

    Only who looks a function up in its module gets the one that takes lists; jax itself does not.
    """
    replaced = []
    for module_name, functions in TOOK_LISTS.items():
        attributes = vars(importlib.import_module(module_name))
        for name, arguments in functions.items():
            original = attributes[name]
            if _refuses_lists(f"{module_name}.{name}") and not hasattr(original, "_takes_lists"):
                attributes[name] = taking = _taking_lists(original, arguments.split())
                replaced.append((attributes, name, taking, original))

    def undo() -> None:
        for attributes, name, taking, original in replaced:
            if attributes.get(name) is taking:
                attributes[name] = original

    return undo


def _refuses_lists(name: str) -> bool:
    version: tuple[int, ...] = jax.__version_info__
    return version[:2] >= UNTIL.get(name, (0, 0))


def _taking_lists(original: Callable[..., Any], arguments: list[str]) -> Callable[..., Any]:
    any_number = arguments == ["*"]
    converters = {
        name.removesuffix("[]"): _as_arrays if name.endswith("[]") else _as_array
        for name in arguments
        if name not in "-*"
    }
    in_order = [converters.get(name.removesuffix("[]")) for name in arguments]

    @functools.wraps(original)
    def taking(*args: Any, **kwargs: Any) -> Any:
        if any_number:
            return original(*map(_as_array, args), **kwargs)
        converted = [
            arg if convert is None else convert(arg)
            for arg, convert in zip(args, in_order, strict=False)
        ]
        for name in converters.keys() & kwargs.keys():
            kwargs[name] = converters[name](kwargs[name])
        return original(*converted, *args[len(in_order) :], **kwargs)

    # A jitted function has methods besides, such as lower.
    for name in set(dir(original)) - set(dir(taking)):
        setattr(taking, name, getattr(original, name))
    taking._takes_lists = True  # type: ignore[attr-defined]
    return taking


def _as_array(value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        return value
    if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(value)):
        return jnp.asarray(value)
    # Under jit too, a list of numbers is known at once, as repeat needs it.
    with jax.ensure_compile_time_eval():
        return jnp.asarray(value)


def _as_arrays(value: Any) -> Any:
    return [_as_array(each) for each in value] if isinstance(value, (list, tuple)) else value
