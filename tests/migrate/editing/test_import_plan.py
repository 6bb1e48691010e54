"""The imports of a rewritten file: what is redirected, taken away, and what stays."""

from __future__ import annotations

import ast
import io
import random
import tokenize
import typing
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from flaxoptim_compat import migrate
from tests.migrate.editing.planned_imports import File
from tests.support.rewriting_texts import rewrite

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
    "a name that is renamed, beside others": (
        "from jax import jit, tree_multimap\njit(tree_multimap(f, x))",
        MULTIMAP,
        "import jax\nfrom jax import jit\njit(jax.tree.map(f, x))",
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
