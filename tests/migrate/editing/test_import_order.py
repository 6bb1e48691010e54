"""A file whose imports are sorted has them sorted after its rewrite, in its own way."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from flaxoptim_compat.migrate.editing.import_order import in_order
from flaxoptim_compat.migrate.program.document import Document
from tests.support.places import ROOT
from tests.support.removed_behaviour_texts import FIXES as BEHAVIOURS
from tests.support.removed_name_texts import FIXES as NAMES
from tests.support.rewriting_texts import rewrite

DATA = ROOT / "tests" / "data"
PROGRAMS = {
    str(path.relative_to(DATA)): path.read_text(encoding="utf-8")
    for folder in ("legacy_programs", "wild_programs")
    for path in sorted((DATA / folder).rglob("*.py"))
}
TEXTS = {**PROGRAMS, **{name: before for name, (before, _) in (NAMES | BEHAVIOURS).items()}}
# How isort and ruff sort by themselves, and how programs of Google are sorted.
GOOGLES = ("lint.isort.force-sort-within-sections=true", "lint.isort.force-single-line=true")
STYLES = {"isort": (), "Google": GOOGLES}


def ruff(folder: Path, style: str, *arguments: str) -> str:
    """What ruff has to say of the order of the imports in a folder."""
    settings = [text for each in STYLES[style] for text in ("--config", each)]
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select=I"]
    done = subprocess.run(
        [*command, *settings, *arguments, "."], cwd=folder, capture_output=True, text=True
    )
    return done.stdout


@pytest.mark.skipif(importlib.util.find_spec("ruff") is None, reason="ruff is not installed")
@pytest.mark.parametrize("target", ["shim", "optax"])
@pytest.mark.parametrize("style", STYLES)
def test_what_was_sorted_is_sorted(style: str, target: str, tmp_path: Path) -> None:
    for number, text in enumerate(TEXTS.values()):
        (tmp_path / f"p{number}.py").write_text(text, encoding="utf-8")
    ruff(tmp_path, style, "--fix")
    if style == "Google":
        # Some have so few imports that both orders are theirs.
        others = set(
            re.findall(r"p\d+\.py(?=:)", ruff(tmp_path, "isort", "--output-format=concise"))
        )
        for path in tmp_path.iterdir():
            if path.name not in others:
                path.unlink()
    paths = list(tmp_path.iterdir())
    changed = 0
    for path in paths:
        before = path.read_text(encoding="utf-8")
        after = rewrite(before, target)
        changed += after != before
        path.write_text(after, encoding="utf-8")
    assert changed > len(paths) // 2
    assert "All checks passed!" in ruff(tmp_path, style), ruff(tmp_path, style, "--diff")


def ordered(before: str, after: str, path: str = "train.py") -> str:
    return in_order(Document(Path(path), before, ast.parse(before)), after, "    ")


SORTED = {
    "between": (
        "import jax\nimport numpy as np\n",
        "import jax\nimport numpy as np\nimport jax.numpy as jnp\n",
        "import jax\nimport jax.numpy as jnp\nimport numpy as np\n",
    ),
    "in a section of its own": (
        "import jax\n",
        "import jax\nimport math\n",
        "import math\n\nimport jax\n",
    ),
    "in the statement for its module": (
        "from flax import linen as nn\nfrom flax import struct\n",
        "from flax import linen as nn\nfrom flax import struct\nfrom flax import core\n",
        "from flax import core, struct\nfrom flax import linen as nn\n",
    ),
    "in a list of lines": (
        "from flax import (\n    jax_utils,\n    struct,\n)\n",
        "from flax import (\n    jax_utils,\n    struct,\n)\nfrom flax import serialization\n",
        "from flax import (\n    jax_utils,\n    serialization,\n    struct,\n)\n",
    ),
    "beside comments, which stay with theirs": (
        "# A license.\nimport jax\n# Why.\nimport numpy as np  # here\n",
        "# A license.\nimport jax\n# Why.\nimport numpy as np  # here\nimport flax\n",
        "# A license.\nimport flax\nimport jax\n# Why.\nimport numpy as np  # here\n",
    ),
    "above the packages of the program": (
        "import jax\n\nimport mine\n",
        "import jax\n\nimport mine\nimport optax\n",
        "import jax\nimport optax\n\nimport mine\n",
    ),
    "above relative imports": (
        "from . import models\n",
        "from . import models\nimport optax\n",
        "import optax\n\nfrom . import models\n",
    ),
    "in a function": (
        "def f():\n    import jax\n    import numpy as np\n\n    x\n",
        "def f():\n    import jax\n    import numpy as np\n    import math\n\n    x\n",
        "def f():\n    import math\n\n    import jax\n    import numpy as np\n\n    x\n",
    ),
    "where a section goes": (
        "import os\n\nimport numpy as np\n\n\ndef f(): ...\n",
        "import os\n\n\n\ndef f(): ...\n",
        "import os\n\n\ndef f(): ...\n",
    ),
    "and no blank line behind them": (
        "from flax import optim\nimport gin\n\n\ngin.constant(1)\n",
        "from flaxoptim_compat import optim\nimport gin\n\n\ngin.constant(1)\n",
        "from flaxoptim_compat import optim\nimport gin\n\n\ngin.constant(1)\n",
    ),
    "with a mark of ours": (
        "import jax\nimport numpy\n",
        "# FOC159: Why.\nimport jax\nimport numpy\nimport flax\n",
        "import flax\n# FOC159: Why.\nimport jax\nimport numpy\n",
    ),
}
UNSORTED = {
    "beside what is of the same package": (
        "import numpy\nfrom flax import struct\nimport jax\nimport os\n",
        "import numpy\nfrom flax import struct\nimport jax\nimport os\nfrom flax import core\n",
        "import numpy\nfrom flax import core\nfrom flax import struct\nimport jax\nimport os\n",
    ),
    "behind it": (
        "import jax\n\nimport os\nimport abc\n",
        "import jax\n\nimport os\nimport abc\nimport jax.numpy as jnp\n",
        "import jax\nimport jax.numpy as jnp\n\nimport os\nimport abc\n",
    ),
    "sorted in a paragraph that is, if there is none": (
        "import os\n\nfrom absl import logging\n\nfrom flax import core\n"
        "from flax import optim\nimport numpy as onp\nimport tensorflow as tf\n",
        "import os\n\nfrom absl import logging\n\nfrom flax import core\n"
        "import optax\nimport numpy as onp\nimport tensorflow as tf\n",
        "import os\n\nfrom absl import logging\n\nfrom flax import core\n"
        "import numpy as onp\nimport optax\nimport tensorflow as tf\n",
    ),
    "not between those of the standard library": (
        "import numpy\n\nimport jax\n\nimport abc\nimport ast\nimport os\n",
        "import numpy\n\nimport jax\n\nimport abc\nimport optax\nimport ast\nimport os\n",
        "import numpy\n\nimport jax\n\nimport abc\nimport optax\nimport ast\nimport os\n",
    ),
    "where it is if it stands for one that was not in order": (
        "import gin\nfrom flax import nn\nimport numpy as onp\n",
        "import gin\nfrom flaxoptim_compat import nn\nimport numpy as onp\n",
        "import gin\nfrom flaxoptim_compat import nn\nimport numpy as onp\n",
    ),
    "where it is if there is no order": (
        "import os\nimport abc\n",
        "import os\nimport optax\nimport abc\n",
        "import os\nimport optax\nimport abc\n",
    ),
    "two at once, of which the first began a paragraph": (
        "import os\n\nimport tqdm\nimport abc\nimport jax\n",
        "import os\n\nfrom jax import core\nfrom jax import lax\nimport tqdm\nimport abc\n"
        "import jax\n",
        "import os\n\nimport tqdm\nimport abc\nimport jax\nfrom jax import core\n"
        "from jax import lax\n",
    ),
    "on a line with others": (
        "import os; import abc\n",
        "import os; import abc; import optax\n",
        "import os; import abc; import optax\n",
    ),
}
KEPT = {
    "one name twice": (
        "from a import x\nfrom b import x\n",
        "from a import x\nfrom b import x\nimport a\n",
    ),
    "all names": ("from jax import *\n", "from jax import *\nfrom flax import *\n"),
    "cells of a notebook": (
        "import jax\n# flaxoptim-compat: cell 2\nimport numpy\n",
        "import jax\n# flaxoptim-compat: cell 2\nimport numpy\nimport optax\n",
    ),
    "nothing new": ("import os\nimport abc\nx = 1\n", "import os\nimport abc\nx = 2\n"),
}


@pytest.mark.parametrize(
    ("before", "after", "expected"), (SORTED | UNSORTED).values(), ids=SORTED | UNSORTED
)
def test_where_an_import_goes(before: str, after: str, expected: str) -> None:
    assert ordered(before, after) == expected
    assert ordered(expected, expected) == expected


@pytest.mark.parametrize(("before", "after"), KEPT.values(), ids=KEPT)
def test_what_keeps_its_order(before: str, after: str) -> None:
    assert ordered(before, after) == after


def test_the_packages_of_a_program_are_told_by_its_files(tmp_path: Path) -> None:
    (tmp_path / "mine.py").touch()
    before = "import mine\n"
    after = f"{before}import optax\n"
    assert ordered(before, after, str(tmp_path / "train.py")) == "import optax\n\nimport mine\n"
    assert ordered(before, after) == after
