"""Fields of dataclasses with arrays as defaults."""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, ClassVar

import flax
import jax.numpy as jnp
import numpy as np
import pytest

import flaxoptim_compat
from flaxoptim_compat.legacy import usage
from flaxoptim_compat.legacy.array_defaults import accept_array_defaults

ARRAY = np.arange(3.0)


def fields(kind: Any) -> Any:
    @kind
    class State:
        step: int
        x: np.ndarray = ARRAY
        y: Any = dataclasses.field(default=ARRAY, repr=False)
        shared: ClassVar[Any] = ARRAY

    return State


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python refuses them since 3.11")
def test_python_refuses_them() -> None:
    for kind in (dataclass, flax.struct.dataclass):
        with pytest.raises(ValueError, match="mutable default"):
            fields(kind)


@pytest.mark.parametrize("kind", [dataclass, dataclass(frozen=True), flax.struct.dataclass])
def test_they_are_accepted_under_run(kind: Any) -> None:
    with flaxoptim_compat.installed(era=True):
        state = fields(kind)
    assert state(1).x is ARRAY and state(1).y is ARRAY
    # As the attribute of a class with a default is the default.
    assert state.x is ARRAY and state.y is ARRAY and state.shared is ARRAY
    assert state(1, x=2).x == 2
    assert [field.name for field in dataclasses.fields(state)] == ["step", "x", "y"]
    assert "y=" not in repr(state(1))


def test_linen_modules_have_them() -> None:
    with flaxoptim_compat.installed(era=True):

        class Scaled(flax.linen.Module):
            scale: Any = ARRAY

            def __call__(self, x: Any) -> Any:
                return self.scale * x

    np.testing.assert_array_equal(Scaled().apply({}, 2.0), 2 * ARRAY)
    np.testing.assert_array_equal(Scaled(scale=jnp.ones(1)).apply({}, 2.0), [2.0])


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python refuses them since 3.11")
def test_those_of_the_program_count_as_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "counts", Counter[str]())
    body = {"__annotations__": {"x": Any}, "x": ARRAY}
    with flaxoptim_compat.installed(era=True):
        dataclass(type("State", (), {**body, "__module__": __name__}))
        dataclass(type("OfAPackage", (), {**body, "__module__": "jax"}))
    assert usage.counts == {"the default of State.x": 1}


@pytest.mark.parametrize("default", [[], {}, set()])
def test_what_was_always_refused_is(default: Any) -> None:
    with flaxoptim_compat.installed(era=True), pytest.raises(ValueError, match="mutable default"):
        dataclass(type("State", (), {"__annotations__": {"x": Any}, "x": default}))


def test_other_errors_stay() -> None:
    before = vars(dataclasses)["_process_class"]
    with ExitStack() as undo:
        accept_array_defaults(undo)
        with pytest.raises(TypeError, match="non-default argument"):
            dataclass(type("State", (), {"__annotations__": {"x": Any, "y": Any}, "x": 1}))
    assert vars(dataclasses)["_process_class"] is before
