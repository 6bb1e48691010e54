"""Programs of the first years of Linen, rewritten by the command: what stays, and that they run."""

from __future__ import annotations

from pathlib import Path

import pytest

from flaxoptim_compat.migrate.editing.marks import marks_in
from tests.support.legacy_program_runs import OURS, assert_equal_up_to, final_of, losses_until
from tests.support.places import DATA
from tests.support.rewriting_folders import rewrite

PROGRAMS = DATA / "linen_programs"
PROTOCOL = ("--workdir", "work", "--steps", "7", "--save_every", "3")
# {program: the codes of what stays}
LEFT = {
    "low_precision": {"FOC167"},
    "lstm_lm": {"FOC171"},
    "masked_lm": {"FOC166"},
    "mip_nerf": {"FOC167"},
}
# What the marks say to write there; the cells of lstm_lm are made elsewhere than their carries.
WRITTEN = {
    "loss.device()": "next(iter(loss.devices()))",
    "loss.to_py()": "np.asarray(loss)",
    "image.to_py()": "np.asarray(image)",
    "memory, memory_mask": "memory, mask=memory_mask",
}
ALL = [path.stem for path in sorted(PROGRAMS.glob("*.py"))]


def rewritten(name: str, folder: Path) -> Path:
    """The program after ``rewrite --to shim``."""
    path = folder / f"{name}.py"
    path.write_text((PROGRAMS / path.name).read_text())
    rewrite(path, "shim")
    return path


@pytest.mark.parametrize("name", ALL)
def test_what_stays_is_marked(name: str, tmp_path: Path) -> None:
    marks = marks_in(rewritten(name, tmp_path).read_text())
    assert {mark.code for mark in marks} == LEFT.get(name, set())


# Every run of the tests runs the small programs after this rewrite.
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [name for name in ALL if name != "lstm_lm"])
def test_it_runs_by_itself_and_ends_on_the_same_parameters(name: str, tmp_path: Path) -> None:
    path = rewritten(name, tmp_path)
    for old, new in WRITTEN.items():
        path.write_text(path.read_text().replace(old, new))
    alone, served = tmp_path / "alone", tmp_path / "served"
    for folder in (alone, served):
        (folder / "work").mkdir(parents=True)
    expected = losses_until(None, [*OURS, str(PROGRAMS / path.name), *PROTOCOL], served)
    assert losses_until(None, [str(path), *PROTOCOL], alone) == expected
    assert expected.keys() == set(range(7))
    assert_equal_up_to(0.0, final_of(alone), final_of(served))
