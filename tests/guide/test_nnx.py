"""``migration_guide/nnx.md``: the program moves step by step, with the losses that it had."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from flax import linen

from flaxoptim_compat.cli import main
from tests.support.nnx_models import needs_nnx
from tests.support.places import GUIDE
from tests.support.processes import compat

PAGE = (GUIDE / "nnx.md").read_text()
BLOCK = re.compile(r"^```(py|sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@needs_nnx
def test_the_program_moves_and_keeps_its_losses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    scope: dict[str, Any] = {"__name__": "example"}
    languages = [match[1] for match in BLOCK.finditer(PAGE)]
    assert languages == ["py", "sh", "py", "py", "py", "py", "sh", "text", "py", "sh"]
    printed = ""
    for match in BLOCK.finditer(PAGE):
        language, text = match[1], match[2]
        if language == "sh":
            arguments = shlex.split(text.replace("\\\n", " "))[1:]
            assert main(arguments) == 0
            printed = capsys.readouterr().out
        elif language == "text":
            assert text == printed
        elif file := re.match(r"# (\w+\.py)\n", text):
            (tmp_path / file[1]).write_text(text)
            unedited = compat(["run", file[1]], tmp_path)
        else:
            exec(compile(text, "<example>", "exec"), scope)
    # What the unedited program printed, before anything was moved.
    assert unedited.returncode == 0, unedited.stderr
    assert unedited.stdout.strip() == str(scope["expected"])
    assert "from flaxoptim_compat import optim" in (tmp_path / "old.py").read_text()
    del sys.modules["old"]
    # What went to NNX and came back is what the old program had written.
    assert (tmp_path / "again.msgpack").read_bytes() == (
        tmp_path / "run" / "checkpoint_10"
    ).read_bytes()


@needs_nnx
def test_of_one_seed_other_parameters_are_made_and_other_elements_dropped() -> None:
    from flax import nnx

    key, ones = jax.random.key(0), jnp.ones((1, 64))
    kernel = nnx.Linear(64, 3, rngs=nnx.Rngs(0)).kernel[...]
    assert (kernel != linen.Dense(3).init(key, ones)["params"]["kernel"]).any()
    dropped = nnx.Dropout(0.5, rngs=nnx.Rngs(0))(ones)
    theirs = linen.Dropout(0.5, deterministic=False).apply({}, ones, rngs={"dropout": key})
    assert (dropped != theirs).any()
