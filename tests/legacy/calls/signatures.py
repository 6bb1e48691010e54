"""What functions, classes and methods of jax and flax take, in the versions installed here."""

from __future__ import annotations

import enum
import importlib
import inspect
import pkgutil
import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

MODULES = (
    *("jax", "jax.lax", "jax.lax.linalg", "jax.nn", "jax.nn.initializers"),
    *("jax.numpy", "jax.numpy.fft", "jax.numpy.linalg", "jax.random", "jax.tree_util"),
    *("jax.ad_checkpoint", "jax.custom_batching", "jax.custom_derivatives", "jax.debug"),
    *("jax.dlpack", "jax.dtypes", "jax.flatten_util", "jax.image", "jax.ops", "jax.profiler"),
    *("jax.scipy.cluster.vq", "jax.scipy.fft", "jax.scipy.integrate", "jax.scipy.interpolate"),
    *("jax.scipy.linalg", "jax.scipy.ndimage", "jax.scipy.optimize", "jax.scipy.signal"),
    *("jax.scipy.sparse.linalg", "jax.scipy.special", "jax.sharding", "jax.distributed"),
    *("flax.core", "flax.core.frozen_dict", "flax.core.lift", "flax.core.nn", "flax.core.scope"),
    *("flax.linen", "flax.linen.initializers", "flax.linen.partitioning", "flax.jax_utils"),
    *("flax.serialization", "flax.struct", "flax.traverse_util", "flax.training.checkpoints"),
    *("flax.training.common_utils", "flax.training.early_stopping", "flax.training.lr_schedule"),
    *("flax.training.prefetch_iterator", "flax.training.train_state"),
    *("jax.example_libraries.optimizers", "jax.example_libraries.stax"),
)
# Packages of which all modules count that can be imported, and of jax.scipy those of distributions.
PACKAGES = ("jax.experimental", "jax.scipy.stats")
ARRAY = "jax.Array"
NO_SIGNATURE = "?"


def signatures() -> dict[str, list[str]]:
    """The parameters of each, by its full name, as Python writes them.

    A name for what has another name already has ``["=", that name]``; a method that is a property
    or has no parameters that Python knows has ``["?"]``.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dict(_all())


def _all() -> Iterator[tuple[str, list[str]]]:
    seen: dict[int, str] = {}
    kept: list[Any] = []
    for module in (*MODULES, *_modules_of_packages()):
        for name, value in _public(module):
            full = f"{module}.{name}"
            if id(value) in seen:
                yield full, ["=", seen[id(value)]]
                continue
            seen[id(value)] = full
            kept.append(value)  # so that no other object gets its id
            if inspect.isclass(value):
                if full != ARRAY:
                    yield full, parameters(value)
                    yield from _methods(full, value, seen, kept)
            else:
                yield full, parameters(value)
    yield from _of_arrays()


def _modules_of_packages() -> Iterator[str]:
    for package in PACKAGES:
        yield package
        found = importlib.import_module(package).__path__
        for each in pkgutil.walk_packages(found, f"{package}.", onerror=lambda _: None):
            if not any(part[0] == "_" or "test" in part for part in each.name.split(".")):
                yield each.name


def _public(module: str) -> Iterator[tuple[str, Any]]:
    try:
        found = importlib.import_module(module)
    except (ImportError, AttributeError):
        return
    for name in sorted(dir(found)):
        value = None if name[0] == "_" else getattr(found, name, None)
        if not callable(value) or isinstance(value, types.ModuleType) or _is_of_no_interest(value):
            continue
        home = str(getattr(value, "__module__", ""))
        if home.partition(".")[0] in ("jax", "jaxlib", "flax") or not inspect.isclass(value):
            yield name, value


def _is_of_no_interest(value: Any) -> bool:
    if not inspect.isclass(value):
        return not hasattr(value, "__name__") or value.__module__ == "typing"
    return issubclass(value, (enum.Enum, BaseException)) or hasattr(value, "_is_protocol")


def _methods(
    full: str, owner: type, seen: dict[int, str], kept: list[Any]
) -> Iterator[tuple[str, list[str]]]:
    fields = getattr(owner, "__dataclass_fields__", {})
    for name in dir(owner):
        value = inspect.getattr_static(owner, name, None)
        if (name[0] == "_" and name != "__call__") or name in fields:
            continue
        if id(value) in seen:
            yield f"{full}.{name}", ["=", seen[id(value)]]
            continue
        seen[id(value)] = f"{full}.{name}"
        kept.append(value)
        is_function = isinstance(value, (types.FunctionType, staticmethod, classmethod))
        yield f"{full}.{name}", parameters(getattr(owner, name)) if is_function else [NO_SIGNATURE]


def _of_arrays() -> Iterator[tuple[str, list[str]]]:
    import jax

    x = jax.numpy.ones((2, 2))
    for name in dir(x):
        if name[0] == "_":
            continue
        # Some are there to say that they are gone, or were never to be.
        try:
            value = getattr(x, name)
        except (AttributeError, NotImplementedError):
            continue
        yield f"{ARRAY}.{name}", parameters(value) if callable(value) else [NO_SIGNATURE]
    names: list[str] = []
    jax.eval_shape(lambda tracer: names.extend(dir(tracer)), x)
    for name in names:
        if name[0] != "_":
            yield f"jax.core.Tracer.{name}", [NO_SIGNATURE]


def parameters(function: Any) -> list[str]:
    """The parameters of a function, each as Python writes it, with ``/`` and ``*`` between them."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return [NO_SIGNATURE]
    kinds = inspect.Parameter
    written = []
    before = None
    for each in found:
        if before is kinds.POSITIONAL_ONLY and each.kind is not before:
            written.append("/")
        if each.kind is kinds.KEYWORD_ONLY and before not in (each.kind, kinds.VAR_POSITIONAL):
            written.append("*")
        stars = {kinds.VAR_POSITIONAL: "*", kinds.VAR_KEYWORD: "**"}.get(each.kind, "")
        default = "" if each.default is kinds.empty else f"={_default(each.default)}"
        written.append(f"{stars}{each.name}{default}")
        before = each.kind
    return [*written, "/"] if before is kinds.POSITIONAL_ONLY else written


def _default(value: Any) -> str:
    if hasattr(type(value), "__members__"):
        return str(getattr(value, "name", value))
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (bool, int, float, str, tuple, type(None))):
        return repr(value)
    if hasattr(value, "keys"):
        return repr({key: value[key] for key in value.keys()})  # noqa: SIM118 - a FrozenDict too
    name = getattr(value, "__name__", None) or getattr(value, "name", None)
    return str(name) if isinstance(name, str) else type(value).__name__
