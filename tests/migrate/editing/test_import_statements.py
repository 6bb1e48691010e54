"""Import statements: where new ones are written, and what of the old ones is used and stays."""

from __future__ import annotations

import pytest

from tests.migrate.editing.planned_imports import File
from tests.support.rewriting_texts import rewrite_alone


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
    ("float = 1\nHERE", "builtins:float", ""): (
        "builtins.float",
        "import builtins\n\nfloat = 1\nHERE",
    ),
    ("try:\n    import optax\nexcept ImportError:\n    pass\nHERE", "optax", ""): (
        "optax_lib",
        "import optax as optax_lib\n\ntry:\n    import optax\nexcept ImportError:\n    pass\nHERE",
    ),
    ("def f():\n    import optax\nHERE", "optax", ""): (
        "optax_lib",
        "import optax as optax_lib\n\n\ndef f():\n    import optax\nHERE",
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
    "before those of the other form": (
        "import os\n\nfrom flax import nn\nfrom jax import lax\n",
        "optax",
        "import os\n\nimport optax\nfrom flax import nn\nfrom jax import lax\n",
    ),
    "both forms as one": (
        "from absl import app\nimport flax\nfrom flax import nn\nimport jax\nimport numpy as np\n",
        "flax.training.train_state",
        "from absl import app\nimport flax\nfrom flax import nn\n"
        "from flax.training import train_state\nimport jax\nimport numpy as np\n",
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
