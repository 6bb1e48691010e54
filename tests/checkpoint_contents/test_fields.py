"""The fields by which checkpoints are recognised without jax are those that the classes have."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

from flaxoptim_compat import optim
from flaxoptim_compat.checkpoint_contents import fields
from flaxoptim_compat.optim.legacy_loop import LegacyState
from flaxoptim_compat.transforms.weight_norm import WeightNormState
from tests.support.cases import CASES

PLAIN = [
    optim.Adam,
    optim.AdaBelief,
    optim.LAMB,
    optim.Momentum,
    optim.LARS,
    optim.RMSProp,
    optim.Adadelta,
    optim.Adagrad,
    optim.Adafactor,
    optim.GradientDescent,
]


def test_the_fields_of_legacy_states_are_those_of_the_classes() -> None:
    expected: dict[frozenset[str], list[str]] = {frozenset({"v"}): ["RMSProp"]}
    for definition in PLAIN:
        state: Any = definition.param_state_class
        names = [] if state is None else [field.name for field in dataclasses.fields(state)]
        expected.setdefault(frozenset(names), []).append(definition.__name__)
    assert {names: tuple(each) for names, each in expected.items()} == fields.LEGACY_KINDS


def test_the_fields_of_optax_states_are_those_of_the_classes() -> None:
    states = {LegacyState: {"param_states": ""}}
    for definition in PLAIN:
        states.update(definition.optax_fields)
    expected = {frozenset(state._fields): set(names) for state, names in states.items()}
    assert expected == {names: set(trees) for names, trees in fields.OPTAX_STATES.items()}
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
    known = tuple(definition.optax_fields)
    found = []
    for entry in of_class:
        values = entry.build(optim)
        chain = values.optax_chain(values.hyper_params)
        found.append(tuple(state for state in flat(chain.init(())) if state in known))
    return found


def flat(state: Any) -> list[type]:
    """The types of all named tuples in an optax state."""
    if not isinstance(state, tuple):
        return []
    below = itertools.chain.from_iterable(map(flat, state))
    return [type(state), *below] if hasattr(state, "_fields") else [*below]
