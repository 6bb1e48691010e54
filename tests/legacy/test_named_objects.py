from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import optax
import pytest
from flax.core import freeze

from flaxoptim_compat import optax_source, optim
from flaxoptim_compat.legacy.named_code import NamedCode
from flaxoptim_compat.legacy.named_objects import NamingError, named
from tests.support.places import ROOT

pytestmark = pytest.mark.usefixtures("folder_of_its_own")

PROGRAM = """\
from flax import optim
import jax

def definition():
    return optim.Adam(0.25)

made = definition()
rate = jax.tree_map(lambda x: 2 * x, {"a": 1})["a"]

class Nested:
    definition = staticmethod(definition)
"""


def value(text: str) -> Any:
    with NamedCode() as code:
        return named(text, code)


def message(text: str) -> str:
    with pytest.raises(NamingError) as caught:
        value(text)
    return str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "program:definition",
        "program:made",
        "program:Nested.definition",
        "program.py:definition",
        "./program.py:made",
        "flax.optim.Adam(0.25)",
        "optim.Adam(0.25)",
        " flaxoptim_compat.optim.Adam(1 / 4)",
    ],
)
def test_definitions(text: str) -> None:
    Path("program.py").write_text(PROGRAM)
    found = value(text)
    assert type(found) is optim.Adam and found.hyper_params.learning_rate == 0.25
    assert "flax.optim" not in sys.modules and not hasattr(optim, "flax")


def test_a_file_in_another_folder_and_a_module_in_a_package() -> None:
    folder = Path("old", "inner")
    folder.mkdir(parents=True)
    Path(folder, "settings.py").write_text("rate = 0.5\n")
    Path(folder, "train.py").write_text("import settings\nrate = settings.rate\n")
    Path(folder, "relative.py").write_text("from .settings import rate\n")
    assert value("old/inner/train.py:rate") == 0.5
    assert value("old.inner.relative:rate") == 0.5
    assert "Name the module with its package" in message("old/inner/relative.py:rate")


def test_two_programs_with_files_of_the_same_names() -> None:
    for folder, rate in (("old", 1.0), ("new", 2.0)):
        Path(folder).mkdir()
        Path(folder, "settings.py").write_text(f"rate = {rate}\n")
        Path(folder, "train.py").write_text(
            "import settings\nfirst = settings.rate\n"
            "def later():\n    import settings\n    return settings.rate\n"
        )
    with NamedCode() as code:
        assert named("old/train.py:first", code) == 1.0
        module = code._files[Path("old/train.py").resolve()]
        assert named("old/train.py:later", code) == 1.0
        assert named("new/train.py:first", code) == named("new/train.py:later", code) == 2.0
        assert named("old/train.py:first", code) == 1.0
        assert code._files[Path("old/train.py").resolve()] is module


def test_a_file_and_a_module_of_the_same_name() -> None:
    Path("old").mkdir()
    for folder, rate in (("old", 1.0), (".", 2.0)):
        Path(folder, "settings.py").write_text(f"rate = {rate}\n")
        Path(folder, "train.py").write_text("import settings\nrate = settings.rate\n")
    for texts in (["old/train.py:rate", "train:rate"], ["train:rate", "old/train.py:rate"]):
        with NamedCode() as code:
            found = {text: named(text, code) for text in (*texts, texts[0])}
        assert found == {"old/train.py:rate": 1.0, "train:rate": 2.0}
        for name in ("train", "settings"):
            del sys.modules[name]


def test_a_file_named_like_a_module_that_is_there() -> None:
    Path("numpy.py").write_text(
        "import dataclasses\n\n@dataclasses.dataclass\nclass A:\n    x = 1\n"
    )
    Path("sub").mkdir()
    Path("sub", "optax.py").write_text(Path("numpy.py").read_text())
    assert value("sub/optax.py:A.x") == 1
    assert sys.modules["optax"] is optax


def test_what_is_in_expressions() -> None:
    for name in ("optim", "flax", "optax", "transforms", "jax", "jnp", "np"):
        assert value(name).__name__.rpartition(".")[2] in {name, "numpy"}
    assert isinstance(value("optax.adam(0.1)"), optax.GradientTransformation)
    init, step = value("(lambda params: (), lambda params, state, grads: (params, state))")
    assert callable(init) and callable(step)
    assert value("freeze({'a': 1})") == freeze({"a": 1})
    definition = optim.Adafactor(0.1, beta1=0.9, dtype_momentum=jnp.bfloat16)
    printed = optax_source(definition).partition("tx = ")[2]
    assert isinstance(value(printed), optax.GradientTransformation)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("optim.Adam(", "no Python expression: '(' was never closed. Write MODULE:NAME"),
        ("Adam(1)", "NameError: name 'Adam' is not defined. An expression can use optim, "),
        ("optax.adam", "TypeError: adam() missing 1 required positional argument"),
        ("nowhere:definition", "ModuleNotFoundError: No module named 'nowhere'"),
        ("nowhere.py:definition", "there is no file nowhere.py."),
        ("old/nowhere", "there is no such file. Write"),
        (
            "bad.py",
            "the text names a file, but no object in the file. Write MODULE:NAME, or FILE.py:NAME",
        ),
        ("bad.py:missing", "AttributeError: module 'bad in {module}' has no attribute 'missing'"),
        ("bad.py:fails", "ZeroDivisionError at {folder}/bad.py:2: division by zero"),
        ("bad:through_jax", "ValueError at {folder}/bad.py:6: no"),
        ("leaves.py:anything", "SystemExit at {folder}/leaves.py:1: 3"),
        ("syntax.py:anything", "SyntaxError: '(' was never closed (syntax.py, line 1)"),
    ],
)
def test_mistakes(text: str, said: str, tmp_path: Path) -> None:
    Path("bad.py").write_text(
        "def fails():\n    return 1 / 0\n\ndef through_jax():\n    import jax\n"
        "    def f(x): raise ValueError('no')\n    return jax.jit(f)(1.0)\n"
    )
    Path("leaves.py").write_text("raise SystemExit(3)\n")
    Path("syntax.py").write_text("f(\n")
    said = said.replace("{folder}", str(tmp_path))
    said = said.replace("{module}", str(tmp_path).replace(".", "_"))
    found = message(text)
    assert found.startswith(f"{text}: ") and said in found


def test_the_folder_of_the_tests_is_found_as_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert value("tests.support.cases:LEARNING_RATE") == 0.05
