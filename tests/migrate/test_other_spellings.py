"""The same program written otherwise becomes the same, or at least does the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.migrate.other_spellings import BLANKS, VALUES, comments_of
from tests.migrate.program_results import errors, results
from tests.migrate.test_wild_programs import FUSED_OTHERWISE, MARKED
from tests.support.options import each
from tests.support.places import DATA
from tests.support.rewriting_folders import PROGRAMS, copied, rewrite, texts, without_imports


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """All programs, rewritten as they are."""
    folder = tmp_path_factory.mktemp("usual")
    for name in PROGRAMS:
        rewrite(copied(DATA / name, folder / name), "optax")
    return texts(folder)


@pytest.mark.parametrize(
    "spelling", each(BLANKS, [spelling for spelling in BLANKS if spelling != "unparsed"])
)
def test_blanks_and_comments_change_nothing(
    spelling: str, usual: dict[str, str], tmp_path: Path
) -> None:
    before = {}
    for name in PROGRAMS:
        for path in copied(DATA / name, tmp_path / name).rglob("*.py"):
            text = BLANKS[spelling](path.read_text())
            before[str(path.relative_to(tmp_path))] = text
            path.write_bytes(text.encode())
        rewrite(tmp_path / name, "optax")
    for path, text in texts(tmp_path).items():
        assert without_imports(text) == without_imports(usual[path]), path
        assert comments_of(text) == comments_of(before[path]), path


@pytest.mark.exhaustive
@pytest.mark.parametrize("spelling", VALUES)
def test_what_is_done_otherwise_ends_on_the_same_numbers(spelling: str, tmp_path: Path) -> None:
    folder = copied(DATA / "wild_programs", tmp_path / "programs")
    for path in folder.rglob("*.py"):
        path.write_text(VALUES[spelling](path.read_text()))
    copied(folder, tmp_path / "before")
    for program in MARKED:
        rewrite(folder / program, "optax")
    changed = [path for path, text in texts(folder).items() if "train_state" in text]
    assert len(changed) > 20
    # Some of them look at how they are written.
    before = results(tmp_path / "before", tmp_path / "before.npz", "--install")
    broken = {name.partition("/")[0] for name in before if name.endswith("/error")}
    assert len(broken) < 3, broken
    of_these = {name: each for name, each in before.items() if not name.endswith("/error")}
    found = results(folder, tmp_path / "after.npz")
    after = {name: each for name, each in found.items() if name.partition("/")[0] not in broken}
    different = errors(after, of_these)
    assert {name: ulps for name, ulps in different.items() if ulps > FUSED_OTHERWISE} == {}
