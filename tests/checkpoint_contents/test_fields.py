"""The fields by which checkpoints are recognised without jax are those that the classes have."""

from __future__ import annotations

import dataclasses
from typing import Any

from flaxoptim_compat import catalogue, optim
from flaxoptim_compat.checkpoint_contents import fields
from flaxoptim_compat.optim.legacy_loop import LegacyState
from flaxoptim_compat.transforms.weight_norm import WeightNormState
from tests.support.cases import CASES
from tests.support.optax_states import named_tuples

PLAIN = [getattr(optim, row.name) for row in catalogue.PLAIN]


def test_the_fields_of_legacy_states_are_those_of_the_classes() -> None:
    expected: dict[frozenset[str], list[str]] = {frozenset({"v"}): ["RMSProp"]}
    for definition in PLAIN:
        state: Any = definition.formula.state
        names = [] if state is None else [field.name for field in dataclasses.fields(state)]
        expected.setdefault(frozenset(names), []).append(definition.__name__)
    assert {names: tuple(each) for names, each in expected.items()} == fields.LEGACY_KINDS


def test_the_fields_of_optax_states_are_those_of_the_classes() -> None:
    states = {LegacyState: {"param_states": ""}}
    for definition in PLAIN:
        states.update(definition.formula.state_fields)
    assert {frozenset(each._fields): names for each, names in states.items()} == fields.OPTAX_STATES
    assert frozenset(WeightNormState._fields) == fields.WEIGHT_NORM_STATE


def test_the_optax_states_of_a_definition_tell_its_kind() -> None:
    expected: dict[frozenset[tuple[str, ...]], list[str]] = {}
    for definition in PLAIN:
        for states in combinations_in_use(definition):
            found = frozenset(tuple(sorted(state._fields)) for state in states)
            expected.setdefault(found, []).append(definition.__name__)
    unique = {found: tuple(dict.fromkeys(names)) for found, names in expected.items()}
    assert unique == fields.OPTAX_KINDS


def combinations_in_use(definition: Any) -> list[tuple[Any, ...]]:
    """The optax states that definitions of a class have together, whatever hyper-parameters."""
    of_class = [entry for entry in CASES if entry.optimizer == definition.__name__]
    known = tuple(definition.formula.state_fields)
    found = []
    for entry in of_class:
        values = entry.build(optim)
        chain = values.formula.transformation(values.values(values.hyper_params))
        found.append(tuple(state for state in named_tuples(chain.init(())) if state in known))
    return found
