"""Scripts that restore what another one saves become TrainStates with the same entries."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.rewriting_folders import rewrite, texts
from tests.support.rewriting_texts import findings_of, rewrite_all

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


def test_an_object_of_a_package_restores_what_it_is_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = (
        "from clu import checkpoint\n\n\ndef train(params, grads):\n"
        "    o = optim.Adam(0.1).create(params)\n"
        "    o = checkpoint.Checkpoint('run').restore_or_initialize(o)\n"
        "    return o.apply_gradient(grads).target\n"
    )
    found = rewritten(tmp_path, train=program)["train.py"]
    assert "return o.apply_gradients(grads=grads).params" in found
    assert "checkpoint convert OLD NEW" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("saved", "is_converted"),
    [
        ("checkpoints.save_checkpoint('run', o, 1)", True),
        ("checkpoints.save_checkpoint('run', target=o.target, step=1)", False),
        ("checkpoints.restore_checkpoint('run', target=params)", True),
        ("serialization.to_bytes({'of': o})", True),
    ],
)
def test_checkpoints_of_parameters_alone_are_not_converted(
    saved: str, is_converted: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = (
        "from flax import serialization\n\n\ndef train(params):\n"
        f"    o = optim.Adam(0.1).create(params)\n    return {saved}\n"
    )
    rewritten(tmp_path, train=program)
    assert ("checkpoint convert OLD NEW" in capsys.readouterr().out) is is_converted


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
        ("LAMB(1e-3)", "tx=optax.chain("),
    ],
)
def test_only_definitions_of_the_same_class_have(
    definition: str, expected: str, tmp_path: Path
) -> None:
    files = {"train": TRAIN, "evaluate": EVALUATE.format(definition)}
    found = rewritten(tmp_path, **files)["evaluate.py"]
    assert expected in " ".join(found.replace("#", "").split())


@pytest.mark.parametrize(
    "read",
    [
        'checkpoints.restore_checkpoint("run", None)["target"]',
        'serialization.msgpack_restore(file.read())["state"]["step"]',
        'serialization.msgpack_restore(file.read())["state"]',
        'serialization.msgpack_restore(file.read())["optimizer"]["target"]',
        'checkpoint.load_state_dict("run")["optimizer"]["target"]',
    ],
)
def test_what_reads_entries_of_a_checkpoint_is_told_their_names(read: str, tmp_path: Path) -> None:
    imports = "from clu import checkpoint\nfrom flax import serialization\n"
    reader = f"{imports}\n\ndef export(file):\n    return {read}\n"
    found = rewritten(tmp_path, train=TRAIN, export=reader)
    assert "# FOC215: A saved optimizer has this entry" in found["export.py"]
    assert "TrainState.create(" in found["train.py"]
    told = reader.replace("]\n", "]  # noqa: FOC215\n")
    assert told in rewritten(tmp_path / "other", train=TRAIN, export=told)["export.py"]


def test_another_entry_may_be_called_state(tmp_path: Path) -> None:
    training = TRAIN.replace("optimizer, 3)", "{'optimizer': optimizer, 'state': grads}, 3)")
    reading = "print(checkpoints.restore_checkpoint('run', None)['state'])\n"
    assert reading in rewritten(tmp_path, train=training, export=reading)["export.py"]


def test_what_names_no_flax_reads_them_too(tmp_path: Path) -> None:
    reader = 'from clu import checkpoint\n\nprint(checkpoint.load_state_dict("run")["target"])\n'
    (tmp_path / "export.py").write_text(reader)
    found = rewritten(tmp_path, train=TRAIN)
    assert "# FOC215: A saved optimizer has this entry" in found["export.py"]


@pytest.mark.parametrize(
    ("training", "made", "is_told"),
    [
        (TRAIN, "TrainState.create(", True),
        (
            f"{TRAIN}    print(checkpoints.restore_checkpoint('run', None)['target'])\n",
            "TrainState.create(",
            True,
        ),
        (TRAIN.replace("optim.Adam(beta2=0.9)", "unknown(optim.Adam())"), "dual(optim.", True),
        (f"{TRAIN}    print(type(optimizer))\n", " = optim.Adam(beta2=0.9).create(", False),
    ],
)
def test_what_another_folder_saves_is_read(
    training: str, made: str, is_told: bool, tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    reader = (
        "from flax.training import checkpoints\n\n"
        'print(checkpoints.restore_checkpoint("run", None)["optimizer"]["target"])\n'
    )
    (tmp_path / "a/export.py").write_text(reader)
    found = rewritten(tmp_path, **{"b/train": training})
    assert made in found["b/train.py"]
    assert ("# FOC215: A saved optimizer has this entry" in found["a/export.py"]) is is_told


@pytest.mark.parametrize(("before", "count"), [("", 1), ("import unknown; unknown.keep(o)", 0)])
def test_the_call_that_restores_it_is_found_where_it_moves(before: str, count: int) -> None:
    program = (
        "from flax import optim\nfrom flax.training import checkpoints\n\n\n"
        f"def f(p):\n    o = optim.Adam(0.1).create(p)\n    {before}\n"
        "    return checkpoints.restore_checkpoint('run', o)\n"
    )
    (file,) = findings_of(program)
    found = [each for each in file.findings if each.code == "FOC215"]
    assert [each.instead.split(",")[0] for each in found] == [
        "flaxoptim-compat checkpoint convert"
    ] * count


def test_who_restores_its_own_reads_those_of_others(tmp_path: Path) -> None:
    going_on = EVALUATE.format("Adam(1e-3)")
    pretrained = 'print(checkpoints.restore_checkpoint("pretrained", None)["target"])\n'
    found = rewritten(tmp_path, train=f"{TRAIN}\n\n{going_on}\n\n{pretrained}")["train.py"]
    assert "# FOC215: A saved optimizer has this entry" in found
    assert "optim.Adam" not in found


@pytest.mark.parametrize(
    "handed_on",
    [
        "serialization.from_state_dict(main, serialization.to_state_dict(warm))",
        "serialization.from_bytes(main, data)",
    ],
)
def test_what_is_given_the_state_of_another_has_its_entries(handed_on: str) -> None:
    program = (
        "from flax import optim, serialization\n\n\n"
        "def hand_on(params, grads, rate):\n"
        "    warm = optim.Adam(0.1).create(params)\n"
        "    warm = warm.apply_gradient(grads, learning_rate=rate)\n"
        "    main = optim.Adam(0.1).create(params)\n"
        "    data = serialization.to_bytes(warm)\n"
        f"    main = {handed_on}\n"
        "    return main\n"
    )
    assert rewrite_all({"main": program}, "optax")["main"].count(INJECTED) == 2
