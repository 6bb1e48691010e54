"""The transformation for RMSProp is both of optax's, with their defaults."""

from __future__ import annotations

import inspect

import optax
import pytest

from flaxoptim_compat.transforms import scale_by_rms


@pytest.mark.parametrize("genuine", [optax.scale_by_rms, optax.scale_by_stddev])
def test_its_defaults_are_those_of_optax(genuine: object) -> None:
    ours = inspect.signature(scale_by_rms).parameters
    theirs = inspect.signature(genuine).parameters  # type: ignore[arg-type]
    both = ours.keys() & theirs.keys()
    assert both >= {"decay", "eps", "eps_in_sqrt", "bias_correction"}
    assert {each: ours[each].default for each in both} == {
        each: theirs[each].default for each in both
    }
