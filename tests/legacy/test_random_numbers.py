"""``--random then``: a seed gives the numbers of jax 0.4.13, and who says otherwise is obeyed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import pytest

import flaxoptim_compat
from tests.legacy.cases import random_numbers
from tests.legacy.cases.random_numbers import (
    CASES,
    OFTEN,
    OTHERS,
    ROUNDED,
    assert_alike,
    row_of,
)
from tests.support.options import exhaustive
from tests.support.places import DATA, ROOT
from tests.support.processes import compat, output_of
from tests.support.written_programs import write

RECORDED = json.loads((DATA / "random_numbers.json").read_text())
OPTION = "jax_threefry_partitionable"
VARIABLE = OPTION.upper()
SETTING = "FLAXOPTIM_COMPAT_RANDOM"

pytestmark = pytest.mark.skipif(
    jax.__version_info__ < (0, 5), reason="its numbers are the old ones"
)


def is_often(name: str) -> bool:
    return name.startswith(OFTEN) and name not in OTHERS


@pytest.fixture(scope="session")  # a worker may come here several times
def found(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Any:
    """What the cases give, in the machine code that users have, which rounds otherwise."""
    names = CASES if request.config.getoption("exhaustive") else filter(is_often, CASES)
    command = ["run", "--random", "then", "--quiet", "-m", random_numbers.__name__]
    done = compat(
        [*command, *names],
        tmp_path_factory.mktemp("run"),
        {"PYTHONPATH": str(ROOT), "XLA_FLAGS": ""},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_case_is_recorded() -> None:
    assert list(RECORDED) == list(CASES)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if is_often(name) else pytest.mark.exhaustive) for name in CASES],
)
def test_it_gives_what_it_gave_on_jax_0_4_13(name: str, found: Any) -> None:
    mine, theirs = found[name], RECORDED[name]
    if row_of(name, OTHERS):
        assert [each[:2] for each in mine] == [each[:2] for each in theirs]
        assert mine != theirs or jax.__version_info__ < (0, 10)
    else:
        assert_alike(mine, theirs, row_of(name, ROUNDED))


def test_today_only_keys_are_the_same() -> None:
    same = ["key", "jax.random.fold_in(key, 7)"]
    others = [
        "jax.random.split(key, 2)",
        "jax.random.bits(key, (5,))",
        "jax.random.uniform(key, (5,))",
    ]
    for name in [*same, *others]:
        bits = [each.tobytes().hex() for each in CASES[name](str)]
        assert (bits == [each[2] for each in RECORDED[name]]) == (name in same)


def test_install_and_uninstall(monkeypatch: pytest.MonkeyPatch) -> None:
    assert getattr(jax.config, OPTION)
    flaxoptim_compat.install(random="then")
    flaxoptim_compat.install()
    assert not getattr(jax.config, OPTION)
    with flaxoptim_compat.installed(random="then"):
        pass
    assert not getattr(jax.config, OPTION)
    flaxoptim_compat.uninstall()
    assert getattr(jax.config, OPTION)
    with flaxoptim_compat.installed(era=True):
        assert getattr(jax.config, OPTION)
    monkeypatch.setenv(SETTING, "then")
    with flaxoptim_compat.installed():
        assert not getattr(jax.config, OPTION)
    assert getattr(jax.config, OPTION)


def test_another_word(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"random is '2021'\. Set it to 'then', or leave it out\."):
        flaxoptim_compat.install(random="2021")  # type: ignore[arg-type]
    monkeypatch.setenv(SETTING, "yes")
    with pytest.raises(ValueError, match=f"{SETTING} is 'yes'. Set it to 'then'"):
        flaxoptim_compat.install()


@pytest.mark.parametrize(
    ("options", "variables", "first", "expected"),
    [
        pytest.param([], {SETTING: "then"}, "", False, marks=exhaustive),
        pytest.param([], {SETTING: ""}, "", True, marks=exhaustive),
        pytest.param(["--only-optim", "--random", "then"], {}, "", False, marks=exhaustive),
        (["--random", "then"], {VARIABLE: "1"}, "", True),
        pytest.param(
            ["--random", "then"], {}, f"jax.config.update('{OPTION}', True)", True, marks=exhaustive
        ),
        pytest.param([], {}, f"jax.config.update('{OPTION}', False)", False, marks=exhaustive),
    ],
)
def test_who_says_otherwise_is_obeyed(
    options: list[str], variables: dict[str, str], first: str, expected: bool, tmp_path: Path
) -> None:
    text = f"import jax\n{first}\njax.random.PRNGKey(0)\nprint(jax.config.{OPTION})\n"
    write(tmp_path, program=text)
    done = compat(["run", *options, "program.py"], tmp_path, variables)
    assert done.stdout == f"{expected}\n", done.stderr
    assert ("; run --random then gives the old ones." in done.stderr) == expected


def test_a_program_that_makes_no_keys_is_told_nothing_and_may_pickle_what_makes_them(
    tmp_path: Path,
) -> None:
    text = "assert pickle.loads(pickle.dumps(PRNGKey)) is PRNGKey"
    write(tmp_path, program=f"import flax, pickle\nfrom jax.random import PRNGKey\n{text}\n")
    done = compat(["run", "program.py"], tmp_path)
    assert (done.returncode, done.stderr) == (
        0,
        "flaxoptim-compat: no legacy names were used.\n",
    )


def test_the_import_has_no_effect(tmp_path: Path) -> None:
    text = f"import flaxoptim_compat, jax; flaxoptim_compat.optim; print(jax.config.{OPTION})"
    assert output_of(["-c", text], tmp_path, {SETTING: "then"}) == "True\n"
