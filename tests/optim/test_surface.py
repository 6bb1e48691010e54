"""Every name, signature and field that flax.optim had, from Flax 0.2 to 0.5.3, exists here."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import pytest
from flax import struct

from tests.support.places import DATA

SURFACE = json.loads((DATA / "legacy_surface.json").read_text())["surface"]
MODULES = sorted(SURFACE)

# A later release renamed the parameter; the name of the last release is the one served.
RENAMED = {("MultiOptimizer", "apply_gradient", "states"): "state"}


def entries() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every name of every module, once for each form it had."""
    for module, names in SURFACE.items():
        for name, forms in names.items():
            for form in forms:
                yield module, name, form


ENTRIES = list(entries())
IDS = [f"{module}.{name}-{index}" for index, (module, name, _) in enumerate(ENTRIES)]


def ours(module: str, name: str) -> Any:
    served = importlib.import_module(module.replace("flax.optim", "flaxoptim_compat.optim"))
    return getattr(served, name)


def parameters_of(signature: str) -> dict[str, Any]:
    """The parameters of a signature written as text, without ``cls``."""
    scope: dict[str, Any] = {"jnp": jnp, "struct": struct}
    exec(f"def function{signature}: ...", scope)
    parameters = dict(inspect.signature(scope["function"]).parameters)
    parameters.pop("cls", None)
    return parameters


@pytest.mark.parametrize(("module", "name", "form"), ENTRIES, ids=IDS)
def test_a_name_is_what_it_was(module: str, name: str, form: dict[str, Any]) -> None:
    served = ours(module, name)
    last = form is SURFACE[module][name][-1]
    if "re-export" in form:
        origin = form["re-export"].rpartition(".")[2]
        assert served is ours(f"flax.optim.{origin}", name)
    for base in form.get("bases", ()):
        ancestors = {cls.__name__ for cls in served.__mro__} | {"NamedTuple"}
        assert base.rpartition(".")[2] in ancestors
    for method, signature in form.get("methods", {}).items():
        assert_same_arguments(getattr(served, method), signature, name, last)
    for field in form.get("fields", ()):
        field_name, _, default = field.partition("=")
        assert hasattr(served, field_name) or field_name in fields_of(served), field
        if default:
            assert_same_field(served, field_name, default)
    if last and name not in ("DynamicScale", "Optimizer") and form.get("fields"):
        assert fields_of(served) == [field.partition("=")[0] for field in form["fields"]]


def assert_same_arguments(method: Any, signature: str, owner: str, last: bool) -> None:
    expected = parameters_of(signature)
    found = dict(inspect.signature(method).parameters)
    found.pop("self", None)
    names = [RENAMED.get((owner, method.__name__, each), each) for each in expected]
    if last:
        assert list(found) == names, method
    else:  # Later releases added parameters in the middle, so only keywords carry over.
        assert set(names) <= set(found), method
    for each, old in zip(names, expected.values(), strict=True):
        default = found[each].default
        assert found[each].kind == old.kind, (method, each)
        assert type(default) is type(old.default) and default == old.default, (method, each)


def fields_of(served: Any) -> list[str]:
    if hasattr(served, "_fields"):
        return list(served._fields)
    return [field.name for field in dataclasses.fields(served)]


def assert_same_field(served: Any, name: str, default: str) -> None:
    field = next(each for each in dataclasses.fields(served) if each.name == name)
    expected = eval(default, {"struct": struct})  # text of a file in this folder
    if not isinstance(expected, dataclasses.Field):
        assert field.default == expected
        return
    assert field.default == expected.default
    assert field.metadata.get("pytree_node", True) == expected.metadata["pytree_node"]


@pytest.mark.parametrize("module", MODULES)
def test_the_modules_list_is_complete(module: str, genuine: Any) -> None:
    """The surface file misses no public name of the last release."""
    suffix = module.removeprefix("flax.optim")
    real = importlib.import_module(genuine.__name__ + suffix)
    public = {
        name
        for name, value in vars(real).items()
        if inspect.isclass(value)
        and not name.startswith("_")
        and (value.__module__.startswith(genuine.__name__) or name == "ModelParamTraversal")
        and (value.__module__ == real.__name__ or not suffix)
    }
    assert public <= set(SURFACE[module])


def test_the_module_of_the_base_class_has_no_other_name() -> None:
    base = importlib.import_module("flaxoptim_compat.optim.base")
    with pytest.raises(AttributeError, match=r"flaxoptim_compat\.optim\.base.*'Nothing'"):
        _ = base.Nothing
    assert base.MultiOptimizer is ours("flax.optim", "MultiOptimizer")
