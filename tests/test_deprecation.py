"""The warning: one category, once for each place, at the program's own line."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from pathlib import Path

import pytest

import flaxoptim_compat
from flaxoptim_compat import FlaxOptimDeprecationWarning, deprecation, optim
from tests.support.options import exhaustive
from tests.support.processes import output_of, start


def line_of(text: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return 1 + next(number for number, line in enumerate(lines) if line.endswith(text))


@pytest.mark.parametrize("action", ["always", "default"])
def test_once_for_each_place(action: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)  # type: ignore[arg-type]
        for rate in (0.1, 0.2, 0.3):
            optim.Adam(rate)  # the first place
            optim.Adam(rate)  # the second place
    assert [each.category for each in caught] == [FlaxOptimDeprecationWarning] * 2
    assert FlaxOptimDeprecationWarning.__mro__[1] is DeprecationWarning
    assert [each.filename for each in caught] == [__file__] * 2
    expected = [line_of("# the first place"), line_of("# the second place")]
    assert [each.lineno for each in caught] == expected


def test_two_definitions_on_one_line_are_two_places_and_the_same_text_is_shown_once() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = [(optim.Adam(0.1), optim.Momentum(0.2), optim.Adam(0.1)) for _ in range(2)]
    assert len(made) == 2
    texts = [str(each.message) for each in caught]
    assert len(texts) == 2 and "optax.adam" in texts[0] and "optax.sgd" in texts[1]


def test_whoever_opens_a_new_context_is_told_again() -> None:
    def place() -> None:
        optim.Adam(0.1)

    for _ in range(3):
        with pytest.warns(FlaxOptimDeprecationWarning):
            place()


def test_whoever_changes_the_filters_is_told_again() -> None:
    with warnings.catch_warnings(record=True) as caught:
        for action in ("ignore", "always"):
            warnings.simplefilter(action)  # type: ignore[arg-type]
            for _ in range(2):
                optim.Adam(0.1)
    assert len(caught) == 1


def test_the_line_is_that_of_the_program_not_of_a_subclass_of_ours() -> None:
    traversal = optim.ModelParamTraversal(lambda path, _: "a" in path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        optim.Adam(0.1).create({"a": 1.0}, focus=traversal)  # with a focus
    assert {(each.filename, each.lineno) for each in caught} == {
        (__file__, line_of("# with a focus"))
    }


IMPORTS = [
    "import flaxoptim_compat",
    "from flaxoptim_compat import *",
    "from flaxoptim_compat import optim",
    "import flaxoptim_compat; flaxoptim_compat.install(era=True); import flax; flax.optim.Adam",
    "import flaxoptim_compat; flaxoptim_compat.install(); from flax.optim import adam, Adam",
]


def test_importing_does_not_warn(tmp_path: Path) -> None:
    category = "flaxoptim_compat.FlaxOptimDeprecationWarning"
    code = f"import warnings, flaxoptim_compat; warnings.simplefilter('error', {category})"
    output_of(["-W", "error", "-c", "\n".join([code, *IMPORTS])], tmp_path)


ERRORS = """
import warnings
import flaxoptim_compat
flaxoptim_compat.install()
from flax import optim
{filter}
optim.Adam(0.1)
print("alive")
"""


@pytest.mark.parametrize(
    ("extra", "alive"),
    [
        # The program says flax.optim still: it is served, and lives.
        pytest.param("", True, marks=exhaustive),
        ("warnings.simplefilter('error')", True),
        # It says that it wants to know.
        ("warnings.simplefilter('error', flaxoptim_compat.FlaxOptimDeprecationWarning)", False),
    ],
)
def test_warnings_as_errors(extra: str, alive: bool, tmp_path: Path) -> None:
    program = ERRORS.format(filter=extra)
    (tmp_path / "program.py").write_text(program)
    done = start(["-W", "error", "program.py"], tmp_path)
    assert (done.stdout == "alive\n") is alive, done.stderr
    assert (done.returncode == 0) is alive
    assert "FlaxOptimDeprecationWarning: " in done.stderr
    assert "optax.adam(" in done.stderr


def test_old_names_name_their_successor() -> None:
    with flaxoptim_compat.installed(era=True):
        import jax

        with pytest.warns(FlaxOptimDeprecationWarning) as caught:
            jax.tree_multimap(abs, [1])  # type: ignore[attr-defined]
    (warning,) = caught
    assert str(warning.message) == (
        "jax.tree_multimap is gone since jax 0.3.16. Use jax.tree.map instead."
    )
    assert warning.filename == __file__


def test_a_name_in_a_module_that_is_gone_has_its_own_replacement() -> None:
    # Before jaxlib 0.6.1 this is no old name.
    has_extension = importlib.util.find_spec("jaxlib.xla_extension") is not None
    with flaxoptim_compat.installed(era=True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FlaxOptimDeprecationWarning)
        from flax.nn import relu  # noqa: F401
        from jax.experimental.optimizers import adam  # noqa: F401
        from jaxlib.xla_extension import XlaRuntimeError  # noqa: F401
    replacements = [str(each.message).partition(". Use ")[2] for each in caught]
    assert replacements == [
        "flax.linen.relu instead.",
        "jax.example_libraries.optimizers.adam instead.",
        *([] if has_extension else ["jax.errors.JaxRuntimeError instead."]),
    ]


def test_libraries_that_probe_for_old_names_are_not_warned() -> None:
    with flaxoptim_compat.installed(era=True), warnings.catch_warnings():
        warnings.simplefilter("error")
        import jax

        # The code of a library, as far as the file that it is from tells.
        library = Path(jax.__file__).with_name("imaginary.py")
        exec(compile("import jax; assert hasattr(jax, 'tree_multimap')", str(library), "exec"))


def test_no_program_no_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "_getframe", lambda _: None)
    deprecation.warn("nobody to tell")


def test_warnings_as_errors_where_the_import_was_changed(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("from flaxoptim_compat import optim\noptim.Adam(0.1)\n")
    path = {"PYTHONPATH": str(Path(flaxoptim_compat.__file__).parents[1])}
    done = start(["-W", "error", "train.py"], tmp_path, path)
    assert done.returncode == 1 and "FlaxOptimDeprecationWarning: flax.optim.Adam" in done.stderr
    assert "optax.adam(" in done.stderr
    done = start(["-W", "error", "-W", "ignore::DeprecationWarning", "train.py"], tmp_path, path)
    assert (done.returncode, done.stderr) == (0, "")
