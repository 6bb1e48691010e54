"""The catalogue says of each optimizer what its class does."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
from collections import Counter
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import optax
import pytest

from flaxoptim_compat import optim
from flaxoptim_compat.catalogue import DTYPE, OPTIMIZERS, PLAIN, PUBLIC, REQUIRED, OptimizerRow
from flaxoptim_compat.optim.formula import Chain, Stage
from flaxoptim_compat.optim.kinds import KINDS
from tests.support.cases import CASES
from tests.support.optax_states import named_tuples

EACH = pytest.mark.parametrize("row", OPTIMIZERS, ids=lambda row: row.name)
EACH_PLAIN = pytest.mark.parametrize("row", PLAIN, ids=lambda row: row.name)


def class_of(row: OptimizerRow) -> Any:
    return getattr(optim, row.name)


def every_stage(row: OptimizerRow) -> list[Stage]:
    """The stages of a class, those that take the place of others included."""
    chain = class_of(row).formula
    assert isinstance(chain, Chain)
    stages = [*chain.stages.values()]
    return stages + [each.otherwise for each in stages if each.otherwise is not None]


def test_every_class_has_a_row_and_every_row_a_class() -> None:
    definitions = {
        name
        for module in pkgutil.iter_modules(optim.__path__, "flaxoptim_compat.optim.")
        for name, each in vars(importlib.import_module(module.name)).items()
        if inspect.isclass(each) and issubclass(each, optim.OptimizerDef) and name[0] != "_"
    }
    # These do what other definitions do.
    definitions -= {"OptimizerDef", "MultiOptimizer", "ReplicatedOptimizer", "FromOptax"}
    definitions -= {"OptaxMultiOptimizer"}
    assert definitions == {row.name for row in OPTIMIZERS}
    assert {kind.__name__ for kind in KINDS} == {row.name for row in PLAIN}
    assert set(optim.__all__) == set(PUBLIC)


@EACH
def test_its_module_has_its_names(row: OptimizerRow) -> None:
    module = inspect.getmodule(class_of(row))
    assert module is not None and module.__name__ == f"flaxoptim_compat.optim.{row.module}"
    own = {
        name
        for name, each in vars(module).items()
        if inspect.isclass(each) and each.__module__ == module.__name__ and name in row.names
    }
    assert own == set(row.names)


@EACH
def test_its_hyper_parameters_are_the_arguments_of_the_class(row: OptimizerRow) -> None:
    found = inspect.signature(class_of(row)).parameters
    assert list(found) == list(row.hyper_params)
    for name, default in row.hyper_params.items():
        real: Any = found[name].default
        if name == DTYPE:
            real = jnp.dtype(real).name
        assert real == (inspect.Parameter.empty if default is REQUIRED else default)


@EACH_PLAIN
def test_its_state_is_that_of_the_formula(row: OptimizerRow) -> None:
    state = class_of(row).formula.state
    fields = [] if state is None else [field.name for field in dataclasses.fields(state)]
    assert fields == list(row.state)


@EACH_PLAIN
def test_its_states_in_optax_are_those_of_definitions(row: OptimizerRow) -> None:
    known = class_of(row).formula.state_fields
    found = set()
    for case in CASES:
        if case.optimizer == row.name:
            definition = case.build(optim)
            chain = definition.formula.transformation(definition.values(definition.hyper_params))
            states = named_tuples(chain.init(()))
            found.add(tuple(described(each, known[each]) for each in states if each in known))
    assert found == set(row.optax_states)


def described(state: Any, legacy: Mapping[str, str]) -> str:
    """The fields of an optax state, each moment with the legacy field that it is."""
    fields = sorted(state._fields)
    return " ".join(f"{each}={legacy[each]}" if each in legacy else each for each in fields)


@EACH_PLAIN
def test_what_decides_repeats_and_may_be_missing(row: OptimizerRow) -> None:
    stages = every_stage(row)
    assert {each.when for each in stages} - {""} == set(row.decides)
    taken = Counter(
        value
        for each in class_of(row).formula.stages.values()
        for value in each.arguments.values()
        if isinstance(value, str)
    )
    assert {name for name, count in taken.items() if count > 1} == set(row.repeated)
    always = {value for each in stages if not each.when for value in each.arguments.values()}
    sometimes = {value for each in stages if each.when for value in each.arguments.values()}
    conditional = {name for name in row.hyper_params if name in sometimes - always}
    assert conditional - set(row.decides) == set(row.conditional)


@EACH_PLAIN
def test_what_is_not_in_optax(row: OptimizerRow) -> None:
    functions = [each.named_function for each in every_stage(row)]
    around = [each for stage in every_stage(row) for each in stage.within]
    ours = [each for each in (*functions, *around) if not each.__module__.startswith("optax.")]
    # This one is never written: with a learning rate, it is optax.rmsprop.
    assert bool({each.__name__ for each in ours} - {"scale_by_rms"}) == row.needs_transforms


@EACH_PLAIN
def test_the_names_that_the_suggested_function_has(row: OptimizerRow) -> None:
    parameters = inspect.signature(getattr(optax, row.namesake)).parameters
    assert set(row.called) <= set(row.hyper_params)
    assert set(row.called.values()) <= set(parameters)
