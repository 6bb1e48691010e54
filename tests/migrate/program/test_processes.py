"""Which files can run in one process."""

from __future__ import annotations

import pytest

from flaxoptim_compat.migrate.program.imported_files import imported_files
from flaxoptim_compat.migrate.program.linking import Processes
from tests.support.rewriting_texts import document, rewrite_all


def together(program: dict[str, str], name: str) -> set[str]:
    documents = {each: document(text, each) for each, text in program.items()}
    processes = Processes(imported_files([*documents.values()]))
    names = {document: each for each, document in documents.items()}
    return {names[each] for each in processes.together_with(documents[name])}


# Programs, a file of each, and the other files that can run with it.
CASES = {
    "scripts with the same helpers": (
        {"a": "import helpers\n", "b": "import helpers\n", "helpers": ""},
        "a",
        "helpers",
    ),
    "files that import each other": ({"a": "import b\n", "b": "import a\n"}, "a", "b"),
    "a file that runs others by their names": (
        {
            "main": "import helpers, importlib\ntrain = importlib.import_module(NAME).train\n",
            "a": "import helpers\n",
            "helpers": "",
            "beside": "",
        },
        "a",
        "main helpers beside",
    ),
    "a file that runs text": (
        {"setup": "exec(text)\n", "a": "import helpers\n", "helpers": "", "b": ""},
        "a",
        "helpers",
    ),
    "the package around a file": (
        {"lib.__init__": "from . import a\n", "lib.a": "", "lib.b": "", "c": "import lib.b\n"},
        "lib.b",
        "lib.__init__ lib.a c",
    ),
    "fixtures of pytest": (
        {"conftest": "import helpers\n", "a": "import helpers\n", "helpers": ""},
        "a",
        "conftest helpers",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_runs_with_a_file(name: str) -> None:
    program, asked, others = CASES[name]
    assert together(program, asked) == {asked, *others.split()}


HELPERS = "def norm(grads):\n    return grads\n"
MAKES = (
    "import helpers\nfrom flax import optim\n\n\n"
    "def train(params, grads):\n    optimizer = optim.GradientDescent(0.1).create(params)\n"
    "    return optimizer.apply_gradient(helpers.norm(grads)).target\n"
)
STEPS = (
    "import helpers\nfrom flax import optim\n\n\n"
    "def step(optimizer: optim.Optimizer, grads):\n"
    "    return optimizer.apply_gradient(helpers.norm(grads)).lost\n"
)


@pytest.mark.parametrize("with_main", [False, True])
def test_an_obstacle_in_another_script_holds_nothing(with_main: bool) -> None:
    program = {"helpers": HELPERS, "a": MAKES, "b": STEPS}
    if with_main:
        program["main"] = "import a\nimport b\n\nb.step(a.train({}, {}), {})\n"
    rewritten = rewrite_all(program, "optax")
    assert (".apply_gradients(" in rewritten["a"]) is not with_main
    assert "optimizer.apply_gradient(helpers.norm(grads)).lost" in rewritten["b"]
