"""An optimizer is followed through files that are imported by a name the program makes."""

from __future__ import annotations

import pytest

from tests.support.rewriting_texts import rewrite_all

MADE = "from flax import optim\n\n\ndef made(p):\n    return optim.Adam(0.1).create(p)\n"
OTHER = "def made(p):\n    return p\n"


@pytest.mark.parametrize(
    "module",
    [
        "importlib.import_module('project.first')",
        "importlib.import_module('.first', __package__)",
        "importlib.import_module('.' + name, package=__package__)",
        "importlib.import_module(f'project.{name}')",
        "importlib.import_module(f'{__package__}.{name}')",
        "importlib.import_module('project.%s' % name)",
        "importlib.import_module('project.{}'.format(name))",
        "importlib.import_module(name)",
        "__import__('project.first', fromlist=['made'])",
    ],
)
@pytest.mark.parametrize(
    "made", ["module.made(p)", "getattr(module, 'made')(p)", "list(map(module.made, [p]))[0]"]
)
def test_it_is_followed(module: str, made: str) -> None:
    main = (
        f"import importlib\n\n\ndef f(p, name):\n    module = {module}\n    return {made}.target\n"
    )
    program = {"project/__init__": "", "project/first": MADE, "project/main": main}
    texts = rewrite_all({each.replace("/", "."): text for each, text in program.items()}, "optax")
    assert texts["project.main"].endswith(".params\n")
    assert "TrainState.create(" in texts["project.first"]


def test_a_name_tells_which_files_are_meant() -> None:
    main = (
        "import importlib\n\n\ndef f(p, name):\n"
        "    config = importlib.import_module(f'configs.{name}')\n"
        "    models = importlib.import_module('models.' + name)\n"
        "    return config.made(p).target, models.made(p).target\n"
    )
    texts = rewrite_all({"configs.a": MADE, "models.a": OTHER, "main": main}, "optax")
    assert texts["main"].endswith("return config.made(p).params, models.made(p).target\n")


@pytest.mark.parametrize(
    "module",
    [
        "importlib.util.module_from_spec(importlib.util.spec_from_file_location('a', name))",
        "__import__('configs.a').a",
        "types.SimpleNamespace(**runpy.run_path(name))",
    ],
)
def test_a_file_that_is_run_otherwise_holds_what_it_makes(module: str) -> None:
    main = (
        "import importlib.util\nimport runpy\nimport types\n\n\n"
        f"def f(p, name):\n    config = {module}\n    return config.made(p).target\n"
    )
    texts = rewrite_all({"configs.a": MADE, "configs.__init__": "", "main": main}, "optax")
    assert "# FOC218: The result of" in texts["main"] and texts["main"].endswith(".target\n")
    assert "optim.Adam(0.1).create(p)" in texts["configs.a"]


def test_one_of_more_files_than_are_followed_holds_what_they_make() -> None:
    main = (
        "import importlib\n\n\ndef f(p, name):\n"
        "    return importlib.import_module(f'configs.{name}').made(p).target\n"
    )
    texts = rewrite_all({**{f"configs.c{n}": MADE for n in range(11)}, "main": main}, "optax")
    assert "# FOC218: The result of `importlib.import_module(f'configs.{name}')`" in texts["main"]
    assert texts["main"].endswith(".target\n")
    assert "optim.Adam(0.1).create(p)" in texts["configs.c10"]
