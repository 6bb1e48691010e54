"""Scripts that restore what another one saves become TrainStates with the same entries."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.rewriting_folders import rewrite, texts
from tests.support.rewriting_texts import rewrite_all

IMPORTS = "from flax import optim\nfrom flax.training import checkpoints\n\n"
TRAIN = """\
def train(params, grads, rates):
    optimizer = optim.Adam(beta2=0.9).create(params)
    for rate in rates:
        optimizer = optimizer.apply_gradient(grads, learning_rate=rate)
    checkpoints.save_checkpoint("run", optimizer, 3)
"""
EVALUATE = """\
def evaluate(params):
    optimizer = optim.{}.create(params)
    return checkpoints.restore_checkpoint("run", optimizer).target
"""
INJECTED = "optax.inject_hyperparams("


def rewritten(folder: Path, **files: str) -> dict[str, str]:
    """The files after the rewrite, by name."""
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(IMPORTS + text)
    rewrite(folder, "optax")
    return texts(folder)


@pytest.mark.parametrize("evaluating", ["evaluate", "elsewhere/evaluate"])
def test_what_stands_beside_it_has_the_same_entries(evaluating: str, tmp_path: Path) -> None:
    files = {"train": TRAIN, evaluating: EVALUATE.format("Adam(1e-3)")}
    found = rewritten(tmp_path, **files)
    assert INJECTED in found["train.py"]
    assert (INJECTED in found[f"{evaluating}.py"]) == (evaluating == "evaluate")


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("Adam(1e-3, weight_decay=0)", INJECTED),
        ("Adam(1e-3, weight_decay=0.1)", ".create(params).to_train_state()"),
        ("LAMB(1e-3)", "tx=optax.chain("),
    ],
)
def test_only_definitions_with_the_same_stages_have(
    definition: str, expected: str, tmp_path: Path
) -> None:
    files = {"train": TRAIN, "evaluate": EVALUATE.format(definition)}
    assert expected in rewritten(tmp_path, **files)["evaluate.py"]


def test_what_goes_on_training_where_it_is_saved_is_its_own() -> None:
    step = "    return optimizer.apply_gradient(grads)\n"
    going_on = EVALUATE.format("Adam(1e-3)").replace("return ", "optimizer = ")
    text = f"{IMPORTS}{TRAIN}\n\n{going_on.replace('.target', '')}{step}"
    found = rewrite_all({"train": text}, "optax")["train"]
    assert found.count(INJECTED) == 1 and "tx=optax.adam(1e-3)" in found
