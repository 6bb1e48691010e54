"""What is not to be reported or read: settings in pyproject.toml, and on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from flaxoptim_compat.cli import main
from flaxoptim_compat.migrate.run.settings import (
    ProjectSettings,
    SettingsError,
    read_settings,
)

CODES = ("FOC101", "FOC102", "FOC151", "FOC201")


def ignored(path: str, **settings: object) -> set[str]:
    return set(ProjectSettings(folder=Path.cwd(), **settings).ignored_in(Path(path), CODES))  # type: ignore[arg-type]


def test_which_rules_count() -> None:
    assert ignored("a.py") == set()
    assert ignored("a.py", select=("FOC1",)) == {"FOC201"}
    assert ignored("a.py", select=("FOC15", "FOC2")) == {"FOC101", "FOC102"}
    assert ignored("a.py", select=("FOC1",), ignore=("FOC10",)) == {"FOC101", "FOC102", "FOC201"}
    ignores = (("tests/*", ("FOC2",)), ("a.py", ("FOC151",)))
    assert ignored("tests/b/c.py", per_file_ignores=ignores) == {"FOC201"}
    assert ignored("tests/a.py", per_file_ignores=ignores) == {"FOC201", "FOC151"}
    assert ignored("b.py", per_file_ignores=ignores) == set()


def test_what_is_excluded() -> None:
    settings = ProjectSettings(exclude=("old", "examples/*.py", "src/gen/"), folder=Path.cwd())
    for path, is_excluded in {
        "old": True,
        "a/old": True,
        "a/old.py": False,
        "examples/a.py": True,
        "x/examples/a.py": False,
        "src/gen": True,
        "/elsewhere/examples/a.py": False,
    }.items():
        assert settings.is_excluded(Path(path)) == is_excluded, path


PYPROJECT = """
[tool.flaxoptim-compat]
select = ["FOC1"]
ignore = ["FOC102"]
exclude = ["old"]
per-file-ignores = {"tests/*" = ["FOC151"]}
"""


def test_the_nearest_pyproject(tmp_path: Path) -> None:
    (tmp_path / "a/b/c").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("[tool.flaxoptim-compat]\nselect = ['FOC2']")
    (tmp_path / "a" / "pyproject.toml").write_text(PYPROJECT)
    expected = ProjectSettings(
        ("FOC1",), ("FOC102",), ("old",), (("tests/*", ("FOC151",)),), tmp_path / "a"
    )
    for path in ("a", "a/b/c", "a/b/c/d.py"):
        assert read_settings(tmp_path / path) == expected
    assert read_settings(tmp_path).select == ("FOC2",)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[tool.flaxoptim-compat]\nslect = []", "has no key 'slect', only select, ignore, exclude"),
        ("[tool.flaxoptim-compat]\nselect = 'FOC1'", "select in .* must be a list of strings"),
        ("[tool.flaxoptim-compat]\nignore = [1]", "ignore in .* must be a list of strings"),
        (
            "[tool.flaxoptim-compat]\nper-file-ignores = []",
            "per-file-ignores in .* must be a table",
        ),
        ("[tool]\nflaxoptim-compat = 1", "'flaxoptim-compat' is 1, no table"),
        ("tool = 3", "'tool' is 3, no table"),
        (f"a = {'[' * 5000}", "cannot be read"),
        ("[tool", "cannot be read"),
    ],
)
def test_settings_that_mean_nothing(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(SettingsError, match=why):
        read_settings(tmp_path)


PROGRAM = "import jax\nimport numpy as np\njax.tree_map\nnp.float_  # noqa: FOC155\nnp.float_\n"


@pytest.mark.parametrize(
    ("options", "text", "expected"),
    [
        ((), "", ["3 FOC151", "5 FOC155"]),
        (("--select", "FOC155"), "", ["5 FOC155"]),
        (("--ignore", "FOC155, FOC2"), "", ["3 FOC151"]),
        ((), "ignore = ['FOC151']", ["5 FOC155"]),
        # What is asked for on the command line is selected; what is ignored stays so.
        (("--select", "FOC1"), "select = ['FOC151']", ["3 FOC151", "5 FOC155"]),
        (("--ignore", "FOC151"), "ignore = ['FOC155']", []),
        ((), "per-file-ignores = {'*.py' = ['FOC15']}", []),
    ],
)
def test_the_commands_obey(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    text: str,
    expected: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text(f"[tool.flaxoptim-compat]\n{text}\n")
    Path("a.py").write_text(PROGRAM)
    assert main(["scan", "a.py", "--format", "concise", *options]) == (1 if expected else 0)
    lines = capsys.readouterr().out.splitlines()
    found = [line.split(":")[1] + line.split(":")[3][:7] for line in lines if " FOC" in line]
    assert found == expected
    # rewrite leaves what is not reported.
    main(["rewrite", "a.py", "--to", "shim", "--write", *options])
    new = Path("a.py").read_text().splitlines()
    assert new[2] == ("jax.tree.map" if "3 FOC151" in expected else "jax.tree_map")
    assert new[3] == "np.float_  # noqa: FOC155"
    assert new[4] == ("np.float64" if "5 FOC155" in expected else "np.float_")


def test_what_is_excluded_is_said_even_if_it_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text("[tool.flaxoptim-compat]\nexclude = ['a.py', 'old']\n")
    Path("a.py").write_text(PROGRAM)
    Path("old").mkdir()
    for paths in ([".", "old/../a.py"], ["a.py"]):
        assert main(["rewrite", "--to", "shim", "--write", *paths]) == 0
        assert "a.py: left out: excluded by the settings" in capsys.readouterr().out
    assert Path("a.py").read_text() == PROGRAM


@pytest.mark.parametrize("command", [["scan"], ["rewrite", "--to", "shim"]])
def test_trouble_with_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    (tmp_path / "a.py").write_text(PROGRAM)
    assert main([*command, str(tmp_path), "--select", "X1"]) == 2
    assert "select: no rule has the code 'X1'" in capsys.readouterr().err
    (tmp_path / "pyproject.toml").write_text("[tool.flaxoptim-compat]\nx = 1\n")
    assert main([*command, str(tmp_path)]) == 2
    assert "has no key 'x'" in capsys.readouterr().err
