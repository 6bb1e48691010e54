"""Recordings made where the genuine flax.optim runs, by a copied recorder.py, are exact."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import optax
import pytest

from flaxoptim_compat import optim
from flaxoptim_compat.parity import compare
from flaxoptim_compat.parity.recordings.recording import Recording
from tests.support.oracle.environments import run_in_old_environment
from tests.support.places import DATA, ROOT
from tests.support.side_by_side import bits

RECORDER = ROOT / "flaxoptim_compat" / "parity" / "recordings" / "recorder.py"
SCRIPT = DATA / "recorded_programs" / "in_old_environment.py"
PROGRAMS = {
    "adam-yields": ["grad_ema", "grad_sq_ema"],
    "adam-step": ["grad_ema", "grad_sq_ema"],
    "parts-multi": ["momentum", "grad_ema", "grad_sq_ema"],
    "parts-weight_norm": ["direction_state.momentum", "scale_state.momentum", "direction", "scale"],
    "pmapped-unreplicated": ["momentum"],
    "old_layouts-model": ["momentum"],
    "old_layouts-list_of_states": ["grad_ema", "grad_sq_ema", "momentum"],
}


@pytest.fixture(scope="module")
def recorded(old_environment: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with all recordings, and what direct runs gave."""
    folder = tmp_path_factory.mktemp("recorded")
    copy = shutil.copy(RECORDER, folder / "recorder.py")
    run_in_old_environment(SCRIPT, str(copy), str(folder))
    return folder


def as_bits(arrays: list[Any]) -> list[tuple[Any, bytes]]:
    return [(np.shape(array), bits(array)) for array in arrays if array is not None]


def leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return [leaf for name in sorted(tree) for leaf in leaves(tree[name])]
    return [tree]


def by_parameter(moments: dict[str, list[Any]]) -> list[Any]:
    """All moments of the first parameter, then those of the second: the order in a state."""
    return [moments[name][i] for i in range(len(next(iter(moments.values())))) for name in moments]


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_number_is_that_of_a_run_without_the_recorder(name: str, recorded: Path) -> None:
    direct = np.load(recorded / f"{name}-direct.npz")

    def expected(what: str) -> list[tuple[Any, bytes]]:
        found = [direct[f"{what}-{k}"] for k in range(100) if f"{what}-{k}" in direct]
        return [(array.shape, array.tobytes()) for array in found]

    with Recording.open(recorded / f"{name}.npz") as recording:
        assert recording.steps == 4
        assert list(recording.start_moments) == PROGRAMS[name]
        assert as_bits(leaves(recording.params)) == expected("0-target")
        for i in range(4):
            assert as_bits(leaves(recording.gradients(i))) == expected(f"{i}-grads")
            assert as_bits(leaves(recording.params_after(i))) == expected(f"{i + 1}-target")
            found = as_bits(by_parameter(recording.moments_after(i)))
            state = expected(f"{i + 1}-state")
            if name == "old_layouts-list_of_states":
                # There, all of one part come before those of the other.
                found, state = sorted(found, key=repr), sorted(state, key=repr)
            assert found == state
    assert len(expected("4-target")) == len(recording.names)


def test_form_b_equals_form_a_up_to_the_fusions_of_the_compiler(recorded: Path) -> None:
    """The recorder opens jit, else it could not see the gradients."""
    a = Recording.open(recorded / "adam-yields.npz")
    b = Recording.open(recorded / "adam-step.npz")
    for name in ("overrides", "start_step", "names"):
        np.testing.assert_equal(getattr(a, name), getattr(b, name))
    for mine, other in zip(leaves(a.params_after(3)), leaves(b.params_after(3)), strict=True):
        # Four updates, each of which rounds a few times.
        np.testing.assert_allclose(mine, other, rtol=1e-5)


def test_it_says_where_it_comes_from(recorded: Path) -> None:
    with Recording.open(recorded / "adam-yields.npz") as recording:
        assert recording.versions["jax"] == recording.versions["jaxlib"] == "0.4.13"
        assert recording.versions["flax"] == "0.5.3"
        assert recording.versions["numpy"] == "1.25.2"
        assert recording.versions["device"].startswith("cpu")
        assert recording.definition == {
            "class": "Adam",
            "module": "flax.optim.adam",
            "hyper_params": {
                "learning_rate": 0.1,
                "beta1": 0.9,
                "beta2": 0.999,
                "eps": 1e-8,
                "weight_decay": 0.01,
            },
            "parts": [],
        }
        expected = [0.1 * 0.9**i for i in range(4)]
        assert recording.overrides["learning_rate"].tolist() == expected


def test_parameters_that_no_optimizer_matches_have_no_moments(recorded: Path) -> None:
    with Recording.open(recorded / "parts-multi.npz") as recording:
        assert recording.names == ["first/kernel", "frozen", "second/bias"]
        found = {
            name: [array is not None for array in column]
            for name, column in recording.moments_after(3).items()
        }
        assert found == {
            "momentum": [True, False, False],
            "grad_ema": [False, False, True],
            "grad_sq_ema": [False, False, True],
        }
        assert recording.params["second"]["bias"].dtype.name == "bfloat16"
        assert recording.gradients(0)["second"]["bias"].dtype.name == "bfloat16"
        parts = recording.definition["parts"]
        assert [part["class"] for part in parts] == ["Momentum", "Adam"]


def test_the_moments_of_a_list_of_states_stand_at_their_parameters(recorded: Path) -> None:
    with Recording.open(recorded / "old_layouts-list_of_states.npz") as recording:
        shapes = [np.shape(leaf) for leaf in leaves(recording.params)]
        for name, column in recording.moments_after(3).items():
            part = "bias" if name == "momentum" else "kernel"
            expected = [
                shape if part in path else None
                for path, shape in zip(recording.names, shapes, strict=True)
            ]
            assert [None if each is None else each.shape for each in column] == expected


def test_a_model_is_recorded_as_its_parameters(recorded: Path) -> None:
    with Recording.open(recorded / "old_layouts-model.npz") as recording:
        assert recording.names == ["dense/bias", "dense/kernel"]
        assert set(recording.params) == {"dense"}


@pytest.mark.parametrize(
    ("name", "new", "equal"),
    [
        ("adam-step", optim.Adam(0.1, weight_decay=0.01), True),
        ("adam-step", optim.Adam(0.1), False),
        ("pmapped-unreplicated", optax.sgd(0.1, momentum=0.9), True),
        ("pmapped-unreplicated", optax.sgd(0.1, momentum=0.9, nesterov=True), False),
    ],
)
def test_it_is_replayed_here(name: str, new: Any, equal: bool, recorded: Path) -> None:
    with Recording.open(recorded / f"{name}.npz") as recording:
        assert compare(recording, new, None, recording).equal is equal
