"""Checkpoints whose entries are missing or of another kind give an error in words, if any."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path
from typing import Any

import jax
import numpy as np
import optax
import pytest
from flax import serialization

from flaxoptim_compat import optim
from flaxoptim_compat.checkpoint_contents.summary import summary
from flaxoptim_compat.checkpoint_conversion.convert import ConversionSettings, convert
from flaxoptim_compat.checkpoint_files import CheckpointError, array_in_memory
from flaxoptim_compat.checkpoint_files.opening import Checkpoint
from tests.attack.damage import MISSING, changed, paths_in
from tests.support.cases import case
from tests.support.options import each
from tests.support.training import create

NAMES = [
    "Adam-default",
    "Adafactor-default",
    "GradientDescent-default",
    "MultiOptimizer-single",
    "MultiOptimizer-two",
    "RMSProp-centered",
    "WeightNorm-over_Adam",
]
ODD: list[Any] = [
    MISSING,
    None,
    {},
    {"a": 1},
    {"0": {}},
    {"inner_state": {}},
    True,
    5,
    2**64 - 1,
    2.5,
    1j,
    "text",
    b"bytes",
    array_in_memory(np.zeros((3, 2), np.float32)),
    array_in_memory(np.zeros((), np.int32)),
    array_in_memory(np.zeros((0,), np.int8)),
]


@pytest.mark.parametrize("name", each(NAMES, ["Adafactor-default", "WeightNorm-over_Adam"]))
def test_no_entry_that_is_not_what_it_should_be_is_more_than_an_error(name: str) -> None:
    entry = case(name)
    optimizer = create(entry, optim)
    stored = [
        jax.tree.map(array_in_memory, serialization.to_state_dict(each))
        for each in (optimizer, optimizer.to_train_state())
    ]
    choose = random.Random(name)
    errors = 0
    for _ in range(100):
        form = choose.randrange(2)
        tree = stored[form]
        tree = changed(tree, choose.choice([*paths_in(tree)]), choose.choice(ODD))
        # A step that is none is refused by that, too.
        with contextlib.suppress(CheckpointError):
            summary(Checkpoint(Path("damaged"), "msgpack", tree))
        for definition in (None, entry.build(optim), *([] if form else [optax.adam(0.1)])):
            try:
                convert(tree, ConversionSettings(("train-state", "legacy")[form], None, definition))
            except CheckpointError:
                errors += 1
    assert errors > 100
