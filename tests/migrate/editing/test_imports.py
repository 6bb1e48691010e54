"""The imports of a rewritten file: what is new, used, redirected, taken away, and what stays."""

from __future__ import annotations

import ast
import io
import random
import tokenize
import typing
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path

import pytest

from flaxoptim_compat import migrate
from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.names.names import Names
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.run import rewriting
from flaxoptim_compat.migrate.run.analysis import FileFindings
from tests.support.rewriting_texts import rewrite, rewrite_alone


class File:
    """A file, and what rules do with its imports."""

    def __init__(
        self, text: str, module: str = "", is_package: bool = False, needed: Collection[str] = ()
    ) -> None:
        self.document = Document(Path("a.py"), text, ast.parse(text), module, is_package)
        self.names = Names(self.document)
        self.plan = ImportPlan(self.document, self.names, needed)
        self.edits: list[Edit] = []

    def here(self, mark: str = "HERE") -> ast.AST:
        return next(
            node
            for node in ast.walk(self.document.tree)
            if isinstance(node, ast.Name) and node.id == mark
        )

    def name_of(self, wanted: str, name: str = "", mark: str = "HERE") -> str:
        return self.plan.name_of(wanted, self.here(mark), name)

    def use(self, old: str, new: str) -> None:
        """Replace every use of a name by another name."""
        for use in self.names.uses:
            if use.name == old and isinstance(use.node, ast.expr):
                text = self.plan.name_of(new, use.node)
                self.edits.append(Edit(*self.document.span(use.node), (text,)))
                self.plan.release(use.node)

    def redirect(self, old: str, new: str) -> None:
        for use in self.names.uses:
            if use.name == old and isinstance(use.node, ast.alias):
                self.plan.redirect(use.node, new)

    def release(self, *names: str) -> None:
        for use in self.names.uses:
            if use.name in names and not isinstance(use.node, ast.alias):
                self.plan.release(use.node)

    def result(self) -> str:
        edits = [*self.edits, *self.plan.edits()]
        found = FileFindings(self.document, [], [], edits)
        return rewriting.rewritten(found, "shim").text


Change = Callable[[File], None]


def moved(old: str, new: str) -> Change:
    return lambda file: file.redirect(old, new)


def used(old: str, new: str) -> Change:
    return lambda file: file.use(old, new)


def released(*names: str) -> Change:
    return lambda file: file.release(*names)


MULTIMAP = used("jax.tree_multimap", "jax.tree:map")
CHANGES: dict[str, tuple[str, Change, str]] = {
    "a module by its full name": (
        "import jax.experimental.optimizers\njax.jit",
        moved("jax.experimental.optimizers", "jax.example_libraries.optimizers"),
        "import jax.example_libraries.optimizers\njax.jit",
    ),
    "a module that is its package, imported already": (
        "import jax\nimport jax.config\njax.config.update",
        moved("jax.config", "jax"),
        "import jax\njax.config.update",
    ),
    "a module of a package that is imported as well": (
        "import jax\nimport jax.profiler\njax.jit\njax.profiler.StepTraceContext",
        used("jax.profiler.StepTraceContext", "jax.profiler:StepTraceAnnotation"),
        "import jax\nimport jax.profiler\njax.jit\njax.profiler.StepTraceAnnotation",
    ),
    "a name that is renamed, beside others": (
        "from jax import jit, tree_multimap\njit(tree_multimap(f, x))",
        MULTIMAP,
        "import jax\nfrom jax import jit\njit(jax.tree.map(f, x))",
    ),
    "a deletion": (
        "import numpy as np\nnp.float\ndel np",
        released("numpy.float"),
        "import numpy as np\nnp.float\ndel np",
    ),
    "dots without blanks": (
        "from.old import a\nfrom..import b\na, b",
        lambda file: [file.redirect("p.q.old.a", "new.a"), file.redirect("p.b", "new.b")],
        "from new import a\nfrom new import b\na, b",
    ),
    "a comment behind it": (
        "import numpy as np  # arrays\nnp.float",
        released("numpy.float"),
        "# arrays\nnp.float",
    ),
    "comments inside of it": (
        "from a import (  # one\n    b,  # two\n    # three\n)\nb",
        released("a.b"),
        "# one\n# two\n# three\nb",
    ),
    "alone behind a colon": (
        "if x: import numpy as np\nnp.float",
        released("numpy.float"),
        "if x: pass\nnp.float",
    ),
    "tried": (
        "try:\n    import numpy as np\nexcept ImportError:\n    np = None\nnp.float",
        released("numpy.float"),
        "try:\n    import numpy as np\nexcept ImportError:\n    np = None\nnp.float",
    ),
    "in a function, before and behind it": (
        "def f():\n    HERE\n    import jax.api as a\n    a.x",
        lambda file: [file.release("jax.api.x"), file.name_of("optax")],
        "import optax\n\n\ndef f():\n    HERE\n    a.x",
    ),
    "all names of a module, one use left": (
        "from flax.optim import *\nadam.Adam, Adam",
        released("flax.optim.Adam"),
        "from flax.optim import *\nadam.Adam, Adam",
    ),
    "in __all__": (
        "from numpy import float\n__all__ = ['float']\nfloat",
        released("numpy.float"),
        "from numpy import float\n__all__ = ['float']\nfloat",
    ),
    "exported by its alias": (
        "from numpy import float as float\nfloat",
        released("numpy.float"),
        "from numpy import float as float\nfloat",
    ),
    "all names of a module": (
        "from jax.experimental.stax import *\nDense",
        moved("jax.experimental.stax", "jax.example_libraries.stax"),
        "from jax.example_libraries.stax import *\nDense",
    ),
    "tabs, backslashes and blanks": (
        "if x:\n\tfrom  jax . experimental  import \\\n\t\toptimizers , stax\noptimizers",
        moved("jax.experimental.optimizers", "p.optimizers"),
        "if x:\n\tfrom jax.experimental import stax\n\tfrom p import optimizers\noptimizers",
    ),
    "letters beyond ASCII": (
        "x = 'ä→'; from jax import api, jit; y = 'ö'\napi.jit, jit",
        moved("jax.api", "p.api"),
        "x = 'ä→'; from jax import jit; from p import api; y = 'ö'\napi.jit, jit",
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_changes(case: str) -> None:
    before, change, after = CHANGES[case]
    file = File(before, "p.q.r" if ".." in before else "")
    change(file)
    assert file.result() == after


def test_a_name_that_was_promised_is_kept() -> None:
    file = File("import optax\noptax.sgd\nHERE")
    file.release("optax.sgd")
    file.name_of("optax")
    assert file.result() == file.document.text


def test_an_import_that_is_released_is_dropped() -> None:
    file = File("from jax import masking\nx = 1")
    (use,) = file.names.uses
    assert not file.plan.is_released(use.node)
    file.plan.release(use.node)
    assert file.plan.is_released(use.node)
    assert file.result() == "x = 1"


FILES = sorted(Path(migrate.__file__).parent.rglob("*s.py"))[::3]


@pytest.mark.parametrize("path", [*FILES, Path(typing.__file__)], ids=lambda path: path.stem)
@pytest.mark.parametrize("seed", range(2))
def test_any_changes_leave_the_other_imports_and_every_comment(path: Path, seed: int) -> None:
    text = path.read_text()
    file = File(text, "a.b")
    chance = random.Random(f"{path.stem}{seed}")
    expected = imports_in(file.document.tree)
    # What `__all__` names may be imported from here, so nothing drops it.
    constants = (each for each in ast.walk(file.document.tree) if isinstance(each, ast.Constant))
    said = {each.value for each in constants}
    for statement, _ in file.names.walk.imports:
        module = getattr(statement, "module", "")
        for alias in statement.names if module != "__future__" else ():
            bound = alias.asname or alias.name
            action = chance.choice(["drop", "redirect", "keep"])
            if bound in said:
                continue
            # `import a` cannot bring something else under that name.
            if action == "keep" or (action == "redirect" and not (module or alias.asname)):
                continue
            expected[module, alias.name, bound] -= 1
            if action == "drop":
                file.plan.release(alias)
            else:
                file.plan.redirect(alias, "new.home:thing")
                expected["new.home", "thing", bound] += 1
    calls = [each for each in ast.walk(file.document.tree) if isinstance(each, ast.Call)]
    places = calls or file.document.tree.body[-1:]
    for name in ("first", "second"):
        bound = file.plan.name_of(f"new.{name}", chance.choice(places))
        expected["new", name, bound] += 1
    after = file.result()
    assert imports_in(ast.parse(after)) == +expected
    assert comments_in(after) == comments_in(text)


def imports_in(tree: ast.AST) -> Counter[tuple[str, str, str]]:
    found: Counter[tuple[str, str, str]] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = getattr(node, "module", "")
            found.update((module, each.name, each.asname or each.name) for each in node.names)
    return found


def comments_in(text: str) -> Counter[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return Counter(each.string for each in tokens if each.type == tokenize.COMMENT)


@pytest.mark.parametrize(
    ("program", "moved"),
    [
        (
            "from flax import linen, optim\n\nprint(linen)\n",
            "from flax import linen\n\nprint(linen)\n",
        ),
        ("from flax import optim\n\n__all__ = ['optim']\n", None),
        ("try:\n    from flax import optim\nexcept ImportError:\n    pass\n", None),
    ],
)
def test_what_nothing_uses_does_not_come_from_this_package(program: str, moved: str | None) -> None:
    assert "flaxoptim_compat" in rewrite(program, "shim")
    on_optax = rewrite(program, "optax")
    assert on_optax == moved if moved is not None else "flaxoptim_compat" in on_optax


def test_comments_within_a_statement_that_changes_stand_above_it() -> None:
    text = (
        "from jax import (\n    numpy,  # arrays\n    tree_map,  # maps\n    tree_leaves,\n)\n\n"
        "tree_map(tree_leaves, numpy)\n"
    )
    assert rewrite_alone(text) == (
        "# arrays\n# maps\nfrom jax import numpy\n"
        "from jax.tree_util import tree_map, tree_leaves\n\n"
        "tree_map(tree_leaves, numpy)\n"
    )


@pytest.mark.parametrize(
    ("comment", "left"),
    [
        ("# type: ignore[import]", ""),
        ("#type: ignore  # no stubs", ""),
        ("# pylint: disable=unused-import", ""),
        ("# noqa: F401", ""),
        ("# for its optimizers", "# for its optimizers\n"),
        ("# types of layers", "# types of layers\n"),
    ],
)
def test_a_comment_for_linters_goes_with_its_statement(comment: str, left: str) -> None:
    text = f"import os\nfrom flax import optim  {comment}\nimport jax\n\nprint(os, jax)\n"
    assert rewrite(text, "optax") == f"import os\n{left}import jax\n\nprint(os, jax)\n"


def test_a_list_of_names_that_is_too_long_has_a_line_for_each() -> None:
    names = ["tree_map", *(f"a_name_of_some_length_{number}" for number in range(4))]
    text = f"from jax import (\n    {', '.join(names)}\n)\n\nprint({', '.join(names)})\n"
    lines = rewrite_alone(text).splitlines()
    assert lines[0] == "from jax import ("
    assert lines[1] == "    a_name_of_some_length_0,"
    assert lines[5:7] == [")", "from jax.tree_util import tree_map"]


# {(text, what is wanted, under which name): (the expression, the text)}
PLANNED = {
    ("import jax\nHERE", "optax", ""): ("optax", "import jax\nimport optax\nHERE"),
    ("HERE", "jax.numpy:prod", ""): ("jnp.prod", "import jax.numpy as jnp\n\nHERE"),
    ("HERE", "flax.training.train_state", ""): (
        "train_state",
        "from flax.training import train_state\n\nHERE",
    ),
    ("HERE", "flax.training.train_state", "ts"): (
        "ts",
        "from flax.training import train_state as ts\n\nHERE",
    ),
    ("train_state = 1\nHERE", "flax.training.train_state", ""): (
        "flax_train_state",
        "from flax.training import train_state as flax_train_state\n\ntrain_state = 1\nHERE",
    ),
    ("def f(optax):\n    HERE", "optax", ""): (
        "optax_lib",
        "import optax as optax_lib\n\n\ndef f(optax):\n    HERE",
    ),
    ("import optax\ndef f(optax):\n    HERE", "optax", ""): (
        "optax_lib",
        "import optax\nimport optax as optax_lib\ndef f(optax):\n    HERE",
    ),
    ("try:\n    import optax\nexcept ImportError:\n    pass\nHERE", "optax", ""): (
        "optax_lib",
        "import optax as optax_lib\n\ntry:\n    import optax\nexcept ImportError:\n    pass\nHERE",
    ),
    ("'''Doc.'''\nimport jax  # arrays\nimport os\nx = 1\nHERE", "optax", ""): (
        "optax",
        "'''Doc.'''\nimport jax  # arrays\nimport optax\nimport os\nx = 1\nHERE",
    ),
    ("#!/usr/bin/python\n'''Doc.'''\n\n@HERE\ndef f(): ...", "optax", ""): (
        "optax",
        "#!/usr/bin/python\n'''Doc.'''\n\nimport optax\n\n\n@HERE\ndef f(): ...",
    ),
    ("from __future__ import annotations\nHERE", "optax", ""): (
        "optax",
        "from __future__ import annotations\n\nimport optax\nHERE",
    ),
    ("import jax; HERE", "optax", ""): ("optax", "import optax\nimport jax; HERE"),
}


@pytest.mark.parametrize(("text", "wanted", "name"), PLANNED)
def test_plans_an_import(text: str, wanted: str, name: str) -> None:
    file = File(text)
    assert (file.name_of(wanted, name), file.result()) == PLANNED[text, wanted, name]


def test_one_import_for_all_places() -> None:
    file = File("import jax\nHERE\nTHERE")
    names = [file.name_of("optax"), file.name_of("optax:sgd", mark="THERE"), file.name_of("flax")]
    assert names == ["optax", "optax.sgd", "flax"]
    assert file.result() == "import flax\nimport jax\nimport optax\nHERE\nTHERE"


# {what: (the imports, what is wanted, the imports then)}
PLACES = {
    "beside those of the same form": (
        "import flax\nimport jax\nfrom absl import app\nfrom flax import nn\nfrom jax import lax\n",
        "flax.training.train_state",
        "import flax\nimport jax\nfrom absl import app\nfrom flax import nn\n"
        "from flax.training import train_state\nfrom jax import lax\n",
    ),
    "beside the same package, where there is no order": (
        "import numpy\nfrom flax import struct\nimport jax\nimport os\n",
        "flax.core",
        "import numpy\nfrom flax import core\nfrom flax import struct\nimport jax\nimport os\n",
    ),
    "what was in flax, beside flax": (
        "import torch\nfrom flax import struct\nimport jax\n",
        "flaxoptim_compat.optim",
        "import torch\nfrom flax import struct\nfrom flaxoptim_compat import optim\nimport jax\n",
    ),
    "not among the modules of the program": (
        "import jax\nimport numpy\n\nimport models\nimport zoo\n",
        "optax",
        "import jax\nimport numpy\nimport optax\n\nimport models\nimport zoo\n",
    ),
    "not before what other statements prepare": (
        "from stubs import stub\nstub()\nfrom flax import nn\nimport jax\n",
        "optax",
        "from stubs import stub\nstub()\nfrom flax import nn\nimport jax\nimport optax\n",
    ),
    "in a paragraph of its own": (
        "import math\nimport os\n",
        "optax",
        "import math\nimport os\n\nimport optax\n",
    ),
    "above relative imports": (
        "from . import models\n",
        "optax",
        "import optax\n\nfrom . import models\n",
    ),
}


@pytest.mark.parametrize(("text", "wanted", "expected"), PLACES.values(), ids=PLACES)
def test_beside_which_import(text: str, wanted: str, expected: str) -> None:
    file = File(f"{text}\nHERE\n")
    file.name_of(wanted)
    assert file.result() == f"{expected}\nHERE\n"


def test_of_two_sections_behind_one_import() -> None:
    file = File("import abc\n\nHERE\n")
    for each in ("optax", "math", "jax"):
        file.name_of(each)
    assert file.result() == "import abc\nimport math\n\nimport jax\nimport optax\n\nHERE\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import os\n\nimport numpy as np\n\n\nnp.x\n", "import os\n\n\nnp.x\n"),
        ("import os\n\nimport numpy as np\nnp.x\n", "import os\n\nnp.x\n"),
    ],
)
def test_what_goes_leaves_one_gap(text: str, expected: str) -> None:
    file = File(text)
    file.release("numpy.x")
    assert file.result() == expected


def test_imports_are_sorted_as_isort_does() -> None:
    file = File("HERE")
    for each in ("flax.training.train_state", "optax", "flax.struct", "jax.numpy:prod"):
        file.name_of(each)
    assert file.result() == (
        "import jax.numpy as jnp\nimport optax\nfrom flax import struct\n"
        "from flax.training import train_state\n\nHERE"
    )


# {(text, what is wanted): its expression}, where there is an import already
EXPRESSIONS = {
    ("import optax as ox\nHERE", "optax:adam"): "ox.adam",
    ("from optax import adam\nHERE", "optax:adam"): "adam",
    ("from jax import numpy as jnp\nHERE", "jax.numpy:prod"): "jnp.prod",
    ("import jax\nHERE", "jax.numpy:prod"): "jax.numpy.prod",
    ("import jax\nHERE", "jax.tree.map"): "jax.tree.map",
    ("import jax\nfrom jax import tree\nHERE", "jax.tree:map"): "tree.map",
    ("from functools import partial as p\nHERE", "functools:partial"): "p",
    ("import jax.experimental.pjit\nHERE", "jax.experimental.pjit"): "jax.experimental.pjit",
    ("from flax.training import train_state as ts\nHERE", "flax.training.train_state"): "ts",
    ("def f():\n    import optax\n    HERE", "optax"): "optax",
    ("HERE", "builtins:float"): "float",
}


@pytest.mark.parametrize(("text", "wanted"), EXPRESSIONS)
def test_uses_what_is_imported(text: str, wanted: str) -> None:
    file = File(text)
    assert file.name_of(wanted) == EXPRESSIONS[text, wanted]
    assert file.result() == text


KEPT = "from numpy import float\nfloat"


def test_what_a_package_passes_on_is_kept() -> None:
    file = File(KEPT, "p", is_package=True)
    file.release("numpy.float")
    assert file.result() == KEPT


def test_what_other_files_take_is_kept() -> None:
    file = File(KEPT, "p.q", needed={"float"})
    file.release("numpy.float")
    assert file.result() == KEPT
    file = File(KEPT, "p.q", needed={"int"})
    file.release("numpy.float")
    assert file.result() == "float"


def test_what_a_package_passes_on_is_redirected() -> None:
    file = File(KEPT, "p", is_package=True)
    file.release("numpy.float")
    file.redirect("numpy.float", "numpy:float64")
    assert file.result() == "from numpy import float64 as float\nfloat"
