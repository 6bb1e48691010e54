"""The imports of a rewritten file: what is added, redirected, taken away, and what stays."""

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
from flaxoptim_compat.migrate import rewriting
from flaxoptim_compat.migrate.analysis import FileFindings
from flaxoptim_compat.migrate.document import Document
from flaxoptim_compat.migrate.edits import Edit
from flaxoptim_compat.migrate.imports import ImportPlan
from flaxoptim_compat.migrate.names import Names


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
        found = FileFindings(self.document, [], [], {"shim": edits})
        return rewriting.rewritten(found, "shim").text


EXPRESSIONS = {
    ("import optax\nHERE", "optax"): "optax",
    ("import optax as ox\nHERE", "optax"): "ox",
    ("import optax as ox\nHERE", "optax:adam"): "ox.adam",
    ("from optax import adam\nHERE", "optax:adam"): "adam",
    ("import jax.numpy as jnp\nHERE", "jax.numpy:prod"): "jnp.prod",
    ("from jax import numpy as jnp\nHERE", "jax.numpy:prod"): "jnp.prod",
    ("import jax\nHERE", "jax.numpy:prod"): "jax.numpy.prod",
    ("import jax\nHERE", "jax.tree.map"): "jax.tree.map",
    ("import jax\nHERE", "jax:tree.map"): "jax.tree.map",
    ("import jax\nfrom jax import tree\nHERE", "jax.tree:map"): "tree.map",
    ("from functools import partial as p\nHERE", "functools:partial"): "p",
    ("import functools\nHERE", "functools:partial"): "functools.partial",
    ("import jax.experimental.pjit\nHERE", "jax.experimental.pjit"): "jax.experimental.pjit",
    ("from flax.training import train_state as ts\nHERE", "flax.training.train_state"): "ts",
    ("from flax import optim\nHERE", "flaxoptim_compat.optim"): "optim",
    ("from flax.optim import Adam\nHERE", "flaxoptim_compat.optim:Adam"): "Adam",
    ("def f():\n    import optax\n    HERE", "optax"): "optax",
    ("import optax; HERE", "optax"): "optax",
    ("HERE", "builtins:float"): "float",
}


@pytest.mark.parametrize(("text", "wanted"), EXPRESSIONS)
def test_uses_what_is_imported(text: str, wanted: str) -> None:
    file = File(text)
    assert file.name_of(wanted) == EXPRESSIONS[text, wanted]
    if "optim" not in text:
        assert file.result() == text


# {(text, what is wanted, under which name): (the expression, the text)}
PLANNED = {
    ("import jax\nHERE", "optax", ""): ("optax", "import jax\nimport optax\nHERE"),
    ("HERE", "jax.numpy:prod", ""): ("jnp.prod", "import jax.numpy as jnp\n\nHERE"),
    ("HERE", "numpy:prod", ""): ("np.prod", "import numpy as np\n\nHERE"),
    ("HERE", "jax.tree.map", ""): ("jax.tree.map", "import jax\n\nHERE"),
    ("HERE", "flax.training.train_state", ""): (
        "train_state",
        "from flax.training import train_state\n\nHERE",
    ),
    ("HERE", "flax.training.train_state", "ts"): (
        "ts",
        "from flax.training import train_state as ts\n\nHERE",
    ),
    ("import flax\nHERE", "flax.training.train_state", ""): (
        "train_state",
        "import flax\nfrom flax.training import train_state\nHERE",
    ),
    ("train_state = 1\nHERE", "flax.training.train_state", ""): (
        "flax_train_state",
        "from flax.training import train_state as flax_train_state\n\ntrain_state = 1\nHERE",
    ),
    ("def f(optax):\n    HERE", "optax", ""): (
        "optax_lib",
        "import optax as optax_lib\n\ndef f(optax):\n    HERE",
    ),
    ("import optax\ndef f(optax):\n    HERE", "optax", ""): (
        "optax_lib",
        "import optax\nimport optax as optax_lib\ndef f(optax):\n    HERE",
    ),
    ("float = 1\nHERE", "builtins:float", ""): (
        "builtins.float",
        "import builtins\n\nfloat = 1\nHERE",
    ),
    ("HERE\nimport optax", "optax", ""): (
        "optax_lib",
        "import optax as optax_lib\n\nHERE\nimport optax",
    ),
    ("try:\n    import optax\nexcept ImportError:\n    pass\nHERE", "optax", ""): (
        "optax_lib",
        "import optax as optax_lib\n\ntry:\n    import optax\nexcept ImportError:\n    pass\nHERE",
    ),
    ("def f():\n    import optax\nHERE", "optax", ""): (
        "optax_lib",
        "import optax as optax_lib\n\ndef f():\n    import optax\nHERE",
    ),
    ("'''Doc.'''\nimport jax  # arrays\nimport os\nx = 1\nHERE", "optax", ""): (
        "optax",
        "'''Doc.'''\nimport jax  # arrays\nimport os\nimport optax\nx = 1\nHERE",
    ),
    ("import jax\nHERE\nimport os", "optax", ""): (
        "optax",
        "import jax\nimport optax\nHERE\nimport os",
    ),
    ("#!/usr/bin/python\n'''Doc.'''\n\n@HERE\ndef f(): ...", "optax", ""): (
        "optax",
        "#!/usr/bin/python\n'''Doc.'''\n\nimport optax\n\n@HERE\ndef f(): ...",
    ),
    ("from __future__ import annotations\nHERE", "optax", ""): (
        "optax",
        "from __future__ import annotations\nimport optax\nHERE",
    ),
    ("import jax; HERE", "optax", ""): ("optax", "import jax; import optax; HERE"),
}


@pytest.mark.parametrize(("text", "wanted", "name"), PLANNED)
def test_plans_an_import(text: str, wanted: str, name: str) -> None:
    file = File(text)
    assert (file.name_of(wanted, name), file.result()) == PLANNED[text, wanted, name]


def test_one_import_for_all_places() -> None:
    file = File("import jax\nHERE\nTHERE")
    names = [file.name_of("optax"), file.name_of("optax:sgd", mark="THERE"), file.name_of("flax")]
    assert names == ["optax", "optax.sgd", "flax"]
    assert file.result() == "import jax\nimport flax\nimport optax\nHERE\nTHERE"


def test_imports_are_sorted_as_isort_does() -> None:
    file = File("HERE")
    for each in ("flax.training.train_state", "optax", "flax.struct", "jax.numpy:prod"):
        file.name_of(each)
    assert file.result() == (
        "import jax.numpy as jnp\nimport optax\nfrom flax import struct\n"
        "from flax.training import train_state\n\nHERE"
    )


Change = Callable[[File], None]


def moved(old: str, new: str) -> Change:
    return lambda file: file.redirect(old, new)


def used(old: str, new: str) -> Change:
    return lambda file: file.use(old, new)


def released(*names: str) -> Change:
    return lambda file: file.release(*names)


MULTIMAP = used("jax.tree_multimap", "jax.tree:map")
CHANGES: dict[str, tuple[str, Change, str]] = {
    "to another module": (
        "from jax.interpreters.xla import DeviceArray\nDeviceArray",
        moved("jax.interpreters.xla.DeviceArray", "jax:Array"),
        "from jax import Array as DeviceArray\nDeviceArray",
    ),
    "a module": (
        "from jax.experimental import optimizers\noptimizers",
        moved("jax.experimental.optimizers", "jax.example_libraries.optimizers"),
        "from jax.example_libraries import optimizers\noptimizers",
    ),
    "a module by its full name": (
        "import jax.experimental.optimizers\njax.jit",
        moved("jax.experimental.optimizers", "jax.example_libraries.optimizers"),
        "import jax.example_libraries.optimizers\njax.jit",
    ),
    "a module that is its package now": (
        "import jax.config\njax.config.update",
        moved("jax.config", "jax"),
        "import jax\njax.config.update",
    ),
    "a module that is its package, imported already": (
        "import jax\nimport jax.config\njax.config.update",
        moved("jax.config", "jax"),
        "import jax\njax.config.update",
    ),
    "from a module that is the package now": (
        "from jax import api\napi.jit",
        moved("jax.api", "jax"),
        "import jax as api\napi.jit",
    ),
    "out of several": (
        "from jax import api, jit\napi.jit, jit",
        moved("jax.api", "jax"),
        "from jax import jit\nimport jax as api\napi.jit, jit",
    ),
    "to an object": (
        "import jax.config as c\nc.update",
        moved("jax.config", "jax:config"),
        "from jax import config as c\nc.update",
    ),
    "to several modules": (
        "from jax.core import a, b, c\na, b, c",
        lambda file: [file.redirect("jax.core.a", "p:a"), file.redirect("jax.core.b", "q:b")],
        "from jax.core import c\nfrom p import a\nfrom q import b\na, b, c",
    ),
    "a name that is renamed on the spot": (
        "from jax import tree_multimap\ntree_multimap(f, x)",
        MULTIMAP,
        "import jax\njax.tree.map(f, x)",
    ),
    "a name that is renamed, beside others": (
        "from jax import jit, tree_multimap\njit(tree_multimap(f, x))",
        MULTIMAP,
        "from jax import jit\nimport jax\njit(jax.tree.map(f, x))",
    ),
    "a name that is renamed where its package is imported": (
        "import jax\nfrom jax import tree_multimap\ntree_multimap(f, x)",
        MULTIMAP,
        "import jax\njax.tree.map(f, x)",
    ),
    "every use is gone": (
        "import os\nimport numpy as np\nos, np.float",
        released("numpy.float"),
        "import os\nos, np.float",
    ),
    "one use is not": (
        "import numpy as np\nnp.float, np.int",
        released("numpy.float"),
        "import numpy as np\nnp.float, np.int",
    ),
    "a use by the module alone": (
        "import numpy as np\nnp.float, f(np)",
        released("numpy.float"),
        "import numpy as np\nnp.float, f(np)",
    ),
    "a deletion": (
        "import numpy as np\nnp.float\ndel np",
        released("numpy.float"),
        "import numpy as np\nnp.float\ndel np",
    ),
    "imported twice": (
        "import numpy as np\nnp.float\nimport numpy as np\nnp.float",
        released("numpy.float"),
        "np.float\nnp.float",
    ),
    "several on a line": (
        "import os; import numpy as np; import jax; import sys\nnp.x, jax.y",
        released("numpy.x", "jax.y"),
        "import os; import sys\nnp.x, jax.y",
    ),
    "the last of several on a line": (
        "import os ; import numpy as np ; import jax  # both\nnp.x, jax.y",
        released("numpy.x", "jax.y"),
        "import os  # both\nnp.x, jax.y",
    ),
    "all on a line": (
        "import numpy as np; import jax;\nnp.x, jax.y",
        released("numpy.x", "jax.y"),
        "np.x, jax.y",
    ),
    "dots without blanks": (
        "from.old import a\nfrom..import b\na, b",
        lambda file: [file.redirect("p.q.old.a", "new.a"), file.redirect("p.b", "new.b")],
        "from new import a\nfrom new import b\na, b",
    ),
    "unused from the start": ("import numpy as np", released("numpy"), "import numpy as np"),
    "for what it does": (
        "import jax\nimport jax.experimental.pjit\njax.float",
        released("jax.float"),
        "import jax.experimental.pjit\njax.float",
    ),
    "in a list": (
        "import os, numpy as np, sys\nnp.float",
        released("numpy.float"),
        "import os, sys\nnp.float",
    ),
    "the last of a list": (
        "import os, numpy as np  # arrays\nnp.float",
        released("numpy.float"),
        "import os  # arrays\nnp.float",
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
    "on a line with others, first": (
        "import numpy as np; import os\nnp.float",
        released("numpy.float"),
        "import os\nnp.float",
    ),
    "on a line with others, last": (
        "import os; import numpy as np\nnp.float",
        released("numpy.float"),
        "import os\nnp.float",
    ),
    "alone in a function": (
        "def f():\n    import numpy as np\n\ndef g():\n    import numpy as np\n    np.float",
        released("numpy.float"),
        "def f():\n    import numpy as np\n\ndef g():\n    np.float",
    ),
    "alone in a block": (
        "if x:\n    import numpy as np\nnp.float",
        released("numpy.float"),
        "if x:\n    pass\nnp.float",
    ),
    "two alone in a block": (
        "if x:\n    import numpy as np\n    import jax\nnp.float, jax.float",
        released("numpy.float", "jax.float"),
        "if x:\n    pass\nnp.float, jax.float",
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
        "import optax\n\ndef f():\n    HERE\n    a.x",
    ),
    "in a function, behind it": (
        "def f():\n    import jax.api as a\n    a.x\n    HERE",
        lambda file: [file.release("jax.api.x"), file.name_of("optax")],
        "def f():\n    import optax\n    a.x\n    HERE",
    ),
    "all names of a module, all uses gone": (
        "from flax.optim import *\nadam.Adam, Adam",
        released("flax.optim.adam.Adam", "flax.optim.Adam"),
        "adam.Adam, Adam",
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
    "added to __all__": (
        "from numpy import float\n__all__ = []\n__all__ += ['float']\nfloat",
        released("numpy.float"),
        "from numpy import float\n__all__ = []\n__all__ += ['float']\nfloat",
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
        "if x:\n\tfrom  jax . experimental  import \\\n\t\tstax\n"
        "\tfrom p import optimizers\noptimizers",
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


def test_releases() -> None:
    file = File("import flax\ngetattr(flax.optim, 'Adam')(flax.x)")
    _, adam, other = file.names.uses
    file.plan.release(adam.node)
    assert file.plan.is_released(adam.node) and not file.plan.is_released(other.node)


FILES = sorted(Path(migrate.__file__).parent.rglob("*s.py"))[::3]


@pytest.mark.parametrize("path", [*FILES, Path(typing.__file__)], ids=lambda path: path.stem)
@pytest.mark.parametrize("seed", range(3))
def test_any_changes_leave_the_other_imports_and_every_comment(path: Path, seed: int) -> None:
    text = path.read_text()
    file = File(text, "a.b")
    chance = random.Random(f"{path.stem}{seed}")
    expected = imports_in(file.document.tree)
    for statement, _ in file.names.walk.imports:
        module = getattr(statement, "module", "")
        for alias in statement.names if module != "__future__" else ():
            bound = alias.asname or alias.name
            action = chance.choice(["drop", "redirect", "keep"])
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
