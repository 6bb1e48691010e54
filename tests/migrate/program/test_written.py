"""What is written for old versions: another form, or the place as it is, and since when not."""

from __future__ import annotations

from pathlib import Path

import pytest

from flaxoptim_compat.cli import main
from flaxoptim_compat.migrate.editing.marks import marks_in
from flaxoptim_compat.migrate.program.releases import Releases
from tests.migrate.unmarked import without_marks
from tests.support.rewriting_folders import Rewrite, read
from tests.support.rewriting_texts import findings_alone, rewrite_alone

OLD = Releases((("jax", "0.4.30"), ("numpy", "1.26.4")))
# {what: a program, the version that knows the new name, what stays before, and what it becomes}
LEFT = {
    "a lost name that is there still": (
        "import jax\nx = jax.core.get_aval(1)\n",
        ("jax", "0.5.2", "0.5.3"),
        "FOC151: jax.core.get_aval, gone since jax 0.10.0: jax.typeof from jax 0.5.3 on;"
        " before, it can stay",
        "import jax\nx = jax.typeof(1)\n",
    ),
    "one that is not": (
        "from jax.lib.xla_bridge import host_ids\nhost_ids()\n",
        ("jax", "0.4.31", "0.4.33"),
        "FOC151: jax.lib.xla_bridge.host_ids, gone since jax 0.2.21: jax.process_indices from"
        " jax 0.4.33 on",
        "from jax import process_indices as host_ids\nhost_ids()\n",
    ),
    "a name in a module that has moved": (
        "from jax.lib import xla_bridge\nx = xla_bridge.get_backend()\n",
        ("jax", "0.4.30", "0.4.33"),
        "FOC151: jax.lib.xla_bridge.get_backend, gone since jax 0.9.0:"
        " jax.extend.backend.get_backend from jax 0.4.33 on; before, it can stay",
        "from jax.extend import backend\nx = backend.get_backend()\n",
    ),
}


@pytest.mark.parametrize("target", ["shim", "optax"])
@pytest.mark.parametrize("what", LEFT)
def test_what_stays_and_since_when_it_does_not(what: str, target: str) -> None:
    text, (package, before, since), mark, expected = LEFT[what]
    old, new = (Releases(((package, version),)) for version in (before, since))
    left = rewrite_alone(text, target, releases=old)
    assert without_marks(left) == text
    assert {each.text for each in marks_in(left)} == {mark}
    assert rewrite_alone(text, target, releases=new) == expected
    assert rewrite_alone(text, target) == expected


def test_what_is_written_is_what_the_versions_have_in_common() -> None:
    # What else is asked of a module whose import stays comes from elsewhere.
    text = (
        "from jax.lib import xla_bridge\n"
        "x = xla_bridge.get_backend()\n"
        "y = xla_bridge.get_device_backend()\n"
    )
    lines = rewrite_alone(text, releases=OLD).splitlines()
    assert "from jax.lib import xla_bridge" in lines and "x = xla_bridge.get_backend()" in lines
    assert "y = flax_xla_bridge.get_device_backend()" in lines
    found = findings_alone(text)
    assert all(each.shim is not None for each in found)


PROGRAM = "import jax\njax.core.get_aval(1)\n"


def test_versions_on_the_command_line(rewrite: Rewrite) -> None:
    for options in (
        ("--for", "jax==0.4.30"),
        ("--for", "numpy==1.26.4,jax==0.4.30"),
        ("--for", "numpy==1.26.4", "--for", "jax==0.7.0, jax==0.4.30"),
    ):
        done = rewrite("--check", *options, a=PROGRAM)
        assert "a.py:2:1: FOC151 left: " in done.output
    for options in (("--for", "jax==0.10.0"), ("--for", "jax==0.4.30", "--for", "jax==0.10.0")):
        # A run for other versions does not take its results from the cache.
        rewrite("--write", *options, a=PROGRAM)
        assert read("a.py") == PROGRAM.replace("core.get_aval", "typeof")


def test_versions_in_the_settings(rewrite: Rewrite) -> None:
    Path("pyproject.toml").write_text("[tool.flaxoptim-compat]\nfor = ['jax==0.4.30']\n")
    assert "1 left" in rewrite("--check", a=PROGRAM).output
    # What the command line says of a package counts.
    assert "1 left" in rewrite("--check", "--for", "numpy==2.0.0").output
    assert "0 left" in rewrite("--check", "--for", "jax==0.10.0").output


def test_scan_says_what_rewrite_will_do(
    rewrite: Rewrite, capsys: pytest.CaptureFixture[str]
) -> None:
    rewrite("--check", a=PROGRAM)
    assert main(["scan", "a.py", "--format", "concise", "--for", "jax==0.10.0"]) == 1
    assert "FOC151 [*] jax.core.get_aval" in capsys.readouterr().out
    assert main(["scan", "a.py", "--format", "concise", "--for", "jax==0.4.30"]) == 1
    assert "FOC151 [-] jax.core.get_aval" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["jax>=0.4.30", "jax==0.4.29", "torch==2.0"])
def test_versions_that_mean_nothing(rewrite: Rewrite, text: str) -> None:
    done = rewrite("--for", text, a=PROGRAM)
    assert (done.status, done.output) == (2, "")
    assert done.errors.startswith("flaxoptim-compat: for: ")
    Path("pyproject.toml").write_text(f"[tool.flaxoptim-compat]\nfor = ['{text}']\n")
    assert rewrite().errors == done.errors
