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


@pytest.mark.parametrize(
    ("module", "restored"),
    [
        ("from clu import checkpoint", "checkpoint.Checkpoint('run').restore_or_initialize(o)"),
        ("from orbax import checkpoint", "checkpoint.Checkpointer().restore('run', item=o)"),
    ],
)
def test_an_object_of_a_package_restores_what_it_is_given(
    module: str, restored: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = (
        f"{module}\n\n\ndef train(params, grads):\n"
        "    o = optim.Adam(0.1).create(params)\n"
        f"    o = {restored}\n"
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
        ("checkpoints.restore_checkpoint('run', None)", True),
        ("checkpoints.restore_checkpoint('run', target=params)", True),
        ("serialization.to_bytes(o.target)", False),
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
        ("Adam(1e-3, weight_decay=0.1)", "optax.adamw"),
        ("LAMB(1e-3)", "tx=optax.chain("),
    ],
)
def test_only_definitions_with_the_same_stages_have(
    definition: str, expected: str, tmp_path: Path
) -> None:
    files = {"train": TRAIN, "evaluate": EVALUATE.format(definition)}
    assert expected in rewritten(tmp_path, **files)["evaluate.py"]


# What reads the entries of a checkpoint, with no word of optimizers in one of them.
READS = {
    "checkpoints": """\
from flax.training import checkpoints


def export():
    return checkpoints.restore_checkpoint("run", None)["target"]
""",
    "bytes": """\
import flax


def steps(file):
    return flax.serialization.msgpack_restore(file.read())["state"]["step"]
""",
    "nested": """\
from flax import serialization


def export(file):
    entries = serialization.msgpack_restore(file.read())
    return entries["optimizer"]['target']
""",
}
HOLDS = "# FOC215: The optimizer may be saved in train.py"


@pytest.mark.parametrize("reader", READS)
def test_what_is_read_by_its_entries_stays_until_the_line_has_changed(
    reader: str, tmp_path: Path
) -> None:
    files = {"train.py": IMPORTS + TRAIN, "export.py": READS[reader]}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    rewrite(tmp_path, "optax")
    found = texts(tmp_path)
    assert HOLDS in found["export.py"] and "optim.Adam" in found["train.py"]
    rewrite(tmp_path, "optax")
    assert texts(tmp_path) == found
    mended = READS[reader].replace("target", "params").replace('["state"]["step"]', '["step"]')
    (tmp_path / "export.py").write_text(mended)
    rewrite(tmp_path, "optax")
    assert texts(tmp_path)["export.py"] == mended
    assert "TrainState.create(" in texts(tmp_path)["train.py"]


def test_a_comment_says_that_other_checkpoints_are_read(tmp_path: Path) -> None:
    reader = READS["checkpoints"].replace('["target"]', '["target"]  # noqa: FOC215')
    (tmp_path / "train.py").write_text(IMPORTS + TRAIN)
    (tmp_path / "export.py").write_text(reader)
    rewrite(tmp_path, "optax")
    assert texts(tmp_path)["export.py"] == reader
    assert "TrainState.create(" in texts(tmp_path)["train.py"]


def test_who_restores_its_own_reads_those_of_others(tmp_path: Path) -> None:
    going_on = EVALUATE.format("Adam(1e-3)")
    pretrained = 'print(checkpoints.restore_checkpoint("pretrained", None)["target"])\n'
    found = rewritten(tmp_path, train=f"{TRAIN}\n\n{going_on}\n\n{pretrained}")["train.py"]
    assert "# FOC215: A saved optimizer has this entry" in found
    assert "optim.Adam" not in found


FINETUNE = """\
def finetune(params):
    optimizer = optim.Adam({}).create(params)
    optimizer = checkpoints.restore_checkpoint({}, optimizer)
    checkpoints.save_checkpoint("finetuned", optimizer, 3)
"""


@pytest.mark.parametrize(
    ("given", "place", "expected"),
    [
        ("1e-3", "'run'", INJECTED),
        ("1e-3", "'finetuned'", "tx=optax.adam(1e-3)"),
        ("1e-3, weight_decay=0.1", '"run"', "(learning_rate=1e-3, weight_decay=0.1)"),
        ("1e-3, weight_decay=0.1", '"finetuned"', "tx=optax.adamw(1e-3, weight_decay=0.1)"),
    ],
)
def test_what_saves_elsewhere_than_it_restores_is_not_its_own(
    given: str, place: str, expected: str, tmp_path: Path
) -> None:
    found = rewritten(tmp_path, train=TRAIN, finetune=FINETUNE.format(given, place))
    assert expected in found["finetune.py"]
    assert "FOC" not in found["finetune.py"]


PARTS = """\
def {name}(params):
    kernels = optim.ModelParamTraversal(lambda path, _: {path!r} in path)
    optimizer = optim.MultiOptimizer((kernels, optim.Adam({given}))).create(params)
"""
SAVES = '    checkpoints.save_checkpoint("run", optimizer.apply_gradient(params), 3)\n'
RESTORES = '    return checkpoints.restore_checkpoint("run", optimizer).target\n'
OTHER_PARTS = "FOC215: A checkpoint of the definition in train.py"


@pytest.mark.parametrize(
    ("path", "given", "expected"),
    [
        ("kernel", "0.1", "optax.partition("),
        ("kernel", "0.1, weight_decay=0.1", "optax.adamw(0.1, weight_decay=0.1)"),
        ("bias", "0.1", OTHER_PARTS),
    ],
)
def test_parts_that_are_moved_by_others_have_other_entries(
    path: str, given: str, expected: str, tmp_path: Path
) -> None:
    train = PARTS.format(name="train", path="kernel", given="0.1") + SAVES
    evaluate = PARTS.format(name="evaluate", path=path, given=given) + RESTORES
    found = rewritten(tmp_path, train=train, evaluate=evaluate)["evaluate.py"]
    assert expected in found
    assert (OTHER_PARTS in found) == (expected == OTHER_PARTS)


def test_what_one_optimizer_moves_stays_beside_parts(tmp_path: Path) -> None:
    train = PARTS.format(name="train", path="kernel", given="0.1") + SAVES
    files = {"train": train, "evaluate": EVALUATE.format("Adam(1e-3)")}
    found = rewritten(tmp_path, **files)
    assert OTHER_PARTS in found["evaluate.py"]
    assert "optim.MultiOptimizer(" in found["train.py"]
    # Until the line says that it is another file.
    line = 'restore_checkpoint("run", optimizer).target'
    files["evaluate"] = files["evaluate"].replace(line, f"{line}  # noqa: FOC215")
    found = rewritten(tmp_path / "other", **files)
    assert "TrainState.create(" in found["evaluate.py"]
    assert "TrainState.create(" in found["train.py"]


def test_of_several_that_save_the_first_file_is_named(tmp_path: Path) -> None:
    # So that a second run sets no second mark.
    files = {
        name: PARTS.format(name=name, path=name, given="0.1") + SAVES for name in ("train", "again")
    }
    found = rewritten(tmp_path, **files, evaluate=EVALUATE.format("Adam(1e-3)"))
    assert "of the definition in again.py" in found["evaluate.py"]
    rewrite(tmp_path, "optax")
    assert texts(tmp_path) == found


@pytest.mark.parametrize(
    "handed_on",
    [
        "serialization.from_bytes(main, serialization.to_bytes(warm))",
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
        "    main = optim.Adam(0.1{}).create(params)\n"
        "    data = serialization.to_bytes(warm)\n"
        f"    main = {handed_on}\n"
        "    return main\n"
    )
    assert rewrite_all({"main": program.format("")}, "optax")["main"].count(INJECTED) == 2
    found = rewrite_all({"main": program.format(", weight_decay=0.1")}, "optax")["main"]
    # Of the one that has no decay, one of 0.0 is said.
    assert found.count("optax.adamw") == found.count(INJECTED) == 2
    assert found.count("weight_decay=0.0)") == found.count("weight_decay=0.1)") == 1


@pytest.mark.parametrize(
    ("place", "injected"),
    [('"run"', 2), ('"run", prefix="other_"', 1), ('ckpt_dir="run"', 2), ('"elsewhere"', 1)],
)
def test_what_is_saved_in_one_place_has_the_same_entries(place: str, injected: int) -> None:
    # The second of two phases saves where it reads, and so did the first.
    second = (
        "def again(params):\n    optimizer = optim.Adam(1e-3).create(params)\n"
        f"    optimizer = checkpoints.restore_checkpoint({place}, target=optimizer)\n"
        f"    checkpoints.save_checkpoint({place}, target=optimizer, step=3)\n"
    )
    text = f"{IMPORTS}{TRAIN}\n\n{second}"
    assert rewrite_all({"train": text}, "optax")["train"].count(INJECTED) == injected


@pytest.mark.parametrize(
    "read",
    [
        'checkpoints.restore_checkpoint("run", None)["target"]',
        'serialization.from_bytes(None, file.read())["target"]',
    ],
)
def test_what_a_process_reads_of_its_own_holds(read: str) -> None:
    going_on = '    return checkpoints.restore_checkpoint("run", optimizer)\n'
    for middle in ("", going_on) if "run" in read else ("",):
        text = (
            f"from flax import serialization\n{IMPORTS}{TRAIN}{middle}\n\n"
            f"def export(file):\n    return {read}\n"
        )
        found = rewrite_all({"train": text}, "optax")["train"]
        assert "# FOC215: The optimizer may be saved in train.py" in found
        assert "TrainState" not in found.replace("A TrainState has", "")


WRITTEN = "import json, pickle\n\nimport numpy as np\nfrom flax import optim, serialization\n\n\n"
MAKES = "def f(params, path):\n    o = optim.Adam(0.1).create(params)\n    d = {}\n"
READS_BACK = {
    "pickle": "    pickle.dump({'o': d}, open(path, 'wb'))\n"
    "    return pickle.load(open(path, 'rb'))['o']['target']\n",
    "an array of one object": "    np.save(path, d)\n"
    "    return np.load(path, allow_pickle=True).item()['target']\n",
    "a flat file": "    np.savez(path, **flat(d))\n"
    "    with np.load(path) as f:\n        return f['target/w']\n",
    "json": "    return json.loads(json.dumps(d))['state']['step']\n",
}


@pytest.mark.parametrize("reads", READS_BACK.values(), ids=READS_BACK)
@pytest.mark.parametrize("dicts", ["serialization.to_state_dict(o)", "o.state_dict()"])
def test_what_was_written_as_dicts_is_not_read_by_entries_of_others(reads: str, dicts: str) -> None:
    text = after_rewriting(WRITTEN + MAKES.format(dicts) + reads)
    assert text.count("# FOC215: The optimizer may be saved in") == 1
    # Data have such entries, too.
    apart = WRITTEN + MAKES.replace("    d = {}\n", "    d = o.target\n") + reads
    assert "FOC215" not in after_rewriting(apart)


def after_rewriting(text: str) -> str:
    return rewrite_all({"program": text}, "optax")["program"]


@pytest.mark.parametrize("named", ["p[0] == 'target'", "'target' in p", "True"])
def test_who_goes_through_all_entries_may_name_those_of_an_optimizer(named: str) -> None:
    text = after_rewriting(
        "from flax import optim, serialization, traverse_util\n\n\n"
        "def f(params):\n    o = optim.Adam(0.1).create(params)\n"
        "    flat = traverse_util.flatten_dict(serialization.to_state_dict(o))\n"
        f"    return {{p: v for p, v in flat.items() if {named}}}\n"
    )
    assert ("# FOC210: A TrainState has other entries" in text) == (named != "True")


def test_a_definition_that_stays_fits_none_with_another_decay(tmp_path: Path) -> None:
    # What `beta2` is given in a step keeps the definition, and so the stages that it has.
    train = TRAIN.replace("learning_rate=rate", "learning_rate=rate, beta2=0.99")
    files = {"train": train, "evaluate": EVALUATE.format("Adam(1e-3, weight_decay=0.1)")}
    found = rewritten(tmp_path, **files)
    mark = " ".join(found["evaluate.py"].replace("#", "").split())
    assert "one of the two has a weight decay" in mark
    assert "TrainState" not in found["train.py"]
