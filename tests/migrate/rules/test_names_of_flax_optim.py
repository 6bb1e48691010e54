"""The rules about names of flax.optim: what they find, what they write, what they leave."""

from __future__ import annotations

import importlib
import json
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat import optim
from flaxoptim_compat.migrate.editing.finding import Finding
from tests.migrate.unmarked import without_marks
from tests.support.oracle.in_process import genuine_optim
from tests.support.places import DATA
from tests.support.rewriting_texts import (
    findings_alone,
    findings_of,
    rewrite,
    rewrite_all,
    rewrite_alone,
)

SHIM = "flaxoptim_compat.optim"


def codes(text: str, found: list[Finding] | None = None) -> list[str]:
    found = findings_alone(text) if found is None else found
    found = sorted(found, key=lambda each: (each.start, each.code))
    return [f"{each.code} {text[each.start : each.end]}" for each in found]


def run(text: str) -> dict[str, Any]:
    scope: dict[str, Any] = {"__name__": "program"}
    exec(compile(text, "program.py", "exec"), scope)
    return scope


NOTHING = """\
'''flax.optim.Adam'''
import jax
from typing import Literal
from flax.training.dynamic_scale import DynamicScale
from flaxoptim_compat import optim
from torch import optim as other
def f():
    'flax.optim'  # flax.optim.Adam
x: Literal['optim.Adam']
name = 'tree'
print('flax.optim is gone', optim.Adam(0.1), other.Adam, DynamicScale())
getattr(jax, name), hasattr(jax, 'optim')
class OptimizerDef: pass
class Adam(OptimizerDef): pass
"""


def test_nothing_to_find() -> None:
    assert findings_alone(NOTHING) == []
    assert rewrite_alone(NOTHING) == NOTHING


FIXES = {
    "by an attribute of flax": (
        "import flax\nx = flax.optim.Adam(0.1)\n",
        "from flaxoptim_compat import optim\nx = optim.Adam(0.1)\n",
    ),
    "names of its modules": (
        "from flax.optim.adam import Adam, _AdamParamState\nfrom flax.optim import base as b\n"
        "x = Adam, _AdamParamState, b\n",
        f"from {SHIM}.adam import Adam, _AdamParamState\nfrom {SHIM} import base as b\n"
        "x = Adam, _AdamParamState, b\n",
    ),
    "the module, and flax": (
        "import flax.optim\nx = flax.optim.Adam, flax.struct\n",
        "import flax\nfrom flaxoptim_compat import optim\nx = optim.Adam, flax.struct\n",
    ),
    "on one line": (
        "import jax; import flax; x = flax.optim.Adam(0.1)\n",
        "from flaxoptim_compat import optim\nimport jax; pass; x = optim.Adam(0.1)\n",
    ),
    "in functions": (
        "def f():\n    import flax\n    return flax.optim.Adam(0.1)\n"
        "def g():\n    import flax\n    return flax.optim.Adam(0.1)\nx = f(), g()\n",
        "from flaxoptim_compat import optim\n\n\ndef f():\n    return optim.Adam(0.1)\n"
        "def g():\n    return optim.Adam(0.1)\nx = f(), g()\n",
    ),
    "in annotations": (
        "import flax\nclass S:\n    o: flax.optim.Optimizer\n"
        "    p: 'dict[str, flax.optim.Optimizer]'\n",
        "from flaxoptim_compat import optim\nclass S:\n    o: optim.Optimizer\n"
        "    p: 'dict[str, optim.Optimizer]'\n",
    ),
    "by getattr": (
        "import flax\nx = getattr(flax.optim, 'Adam')(0.1), getattr(flax, 'optim').Adam\n",
        "from flaxoptim_compat import optim\nx = getattr(optim, 'Adam')(0.1), optim.Adam\n",
    ),
    "by a variable": (
        "import flax\no = flax.optim\nAdam = o.Adam\nx = Adam(0.1)\n",
        "from flaxoptim_compat import optim\no = optim\nAdam = o.Adam\nx = Adam(0.1)\n",
    ),
    "all names": (
        "from flax.optim import *\nx = Adam(0.1), adam.Adam\n",
        f"from {SHIM} import *\nfrom flaxoptim_compat import optim\n"
        f"x = Adam(0.1), optim.adam.Adam\n",
    ),
    "DynamicScale": (
        "from flax.optim import Adam, DynamicScale\nx = DynamicScale(), Adam\n",
        f"from flax.training.dynamic_scale import DynamicScale\nfrom {SHIM} import Adam\n"
        "x = DynamicScale(), Adam\n",
    ),
    "DynamicScale by flax": (
        "import flax\nx = flax.optim.DynamicScale(), flax.optim.dynamic_scale.DynamicScaleResult\n",
        "from flax.training import dynamic_scale as dynamic_scale_lib\n"
        "x = dynamic_scale_lib.DynamicScale(), dynamic_scale_lib.DynamicScaleResult\n",
    ),
    "assigned to": (
        "import flax\nflax.optim.Adam.x = 1\nsetattr(flax.optim.Adam, 'x', 2)\n"
        "del flax.optim.Adam.x\n",
        "from flaxoptim_compat import optim\noptim.Adam.x = 1\nsetattr(optim.Adam, 'x', 2)\n"
        "del optim.Adam.x\n",
    ),
}


@pytest.mark.parametrize("case", FIXES)
def test_fixes(case: str) -> None:
    before, after = FIXES[case]
    assert rewrite_alone(before) == after
    assert rewrite_alone(before, "optax") == after
    run(after)
    everything = {line: frozenset({""}) for line in range(1, before.count("\n") + 2)}
    assert findings_alone(before, everything) == []
    assert rewrite_alone(before, ignored=everything) == before


BY_STRING = "An import by a name in a string stays: import flaxoptim_compat.optim there."
ITS_TEXT = "Only the program knows what this text is for."
NOT_NEEDED = "Delete this stand-in once no file uses flax.optim."
GIN = "import gin\n"
MOCK = "from unittest import mock\n"
# {the reason and the code: {a program: what in it is left}}
REASONS = {
    ("flaxoptim_compat.optim has no adam.jnp.", "FOC102"): {
        "import flax\nx = flax.optim.adam.jnp\n": "flax.optim.adam.jnp",
    },
    ("flaxoptim_compat.optim has no base.traverse_util.", "FOC101"): {
        "from flax.optim.base import traverse_util\n": "traverse_util",
    },
    ("hasattr(flax, 'optim') is False since flax 0.6.0.", "FOC103"): {
        "import flax\nx = hasattr(flax, 'optim')\n": "hasattr(flax, 'optim')",
    },
    (BY_STRING, "FOC103"): {
        "import importlib\nx = lambda name: importlib.import_module(f'flax.optim.{name}')\n": (
            "importlib.import_module(f'flax.optim.{name}')"
        ),
        "import importlib\nx = importlib.import_module('flax.optim').Adam\n": (
            "importlib.import_module('flax.optim')"
        ),
        "x = __import__('flax').optim.Adam\n": "__import__('flax')",
        "x = __import__('flax.optim')\n": "__import__('flax.optim')",
    },
    (ITS_TEXT, "FOC104"): {
        "BINDINGS = ['flax.optim.Adam.beta1 = 0.8', '']\n": "'flax.optim.Adam.beta1 = 0.8'",
        f"{GIN}gin.external_configurable(A, module='flax.optim')\n": "'flax.optim'",
        f"{GIN}gin.bind_parameter('flax.optim.DynamicScale.scale', 1)\n": (
            "'flax.optim.DynamicScale.scale'"
        ),
        f"{GIN}DEFAULT = 'flax.optim.Adam'\n": "'flax.optim.Adam'",
        "BINDINGS = 'a.b = @flax.optim.Adam()'\n": "'a.b = @flax.optim.Adam()'",
        f"{MOCK}x = mock.patch('flax.optim.Adam')\n": "'flax.optim.Adam'",
        "config = dict(optimizer='flax.optim.Adam')\n": "'flax.optim.Adam'",
    },
    (NOT_NEEDED, "FOC108"): {
        "import sys\nsys.modules['flax.optim'] = None\n": "'flax.optim'",
        "import sys\nx = 'flax.optim' in sys.modules\n": "'flax.optim'",
        "import sys\nsys.modules.setdefault('flax.optim', 1)\n": "'flax.optim'",
        f"{MOCK}mock.patch.dict('sys.modules', {{'flax.optim': 1}})\n": "'flax.optim'",
        "import flax\nflax.optim = 1\n": "flax.optim",
        "import flax\nsetattr(flax, 'optim', 1)\n": "setattr(flax, 'optim', 1)",
    },
}
LEFT = {
    text: (f"{code} {place}", reason)
    for (reason, code), places in REASONS.items()
    for text, place in places.items()
}


@pytest.mark.parametrize("text", LEFT)
def test_left_with_a_reason(text: str) -> None:
    (found,) = (each for each in findings_alone(text) if each.reason)
    place = f"{found.code} {text[found.start : found.end]}"
    assert (place, found.reason) == LEFT[text]
    assert found.shim is None and found.optax is None
    for target in ("shim", "optax"):
        assert without_marks(rewrite_alone(text, target)) == text


FOUND = {
    "from flax import optim as o\nx = o.adam.Adam\n": ["FOC101 optim as o", "FOC102 o.adam.Adam"],
    "from flax.optim import Adam\nAdam(Adam)\n": ["FOC101 Adam", "FOC102 Adam", "FOC102 Adam"],
    "from flax.optim import *\nLAMB()\n": ["FOC109 *", "FOC102 LAMB"],
    "import flax\nx: 'list[flax.optim.Adam]'\n": ["FOC105 flax.optim.Adam"],
    "import flax\ngetattr(flax.optim, name)\n": [
        "FOC103 getattr(flax.optim, name)",
        "FOC102 flax.optim",
    ],
    "from flax import optim\nclass A(optim.OptimizerDef): ...\n": [
        "FOC101 optim",
        "FOC106 class A(optim.OptimizerDef",
        "FOC102 optim.OptimizerDef",
    ],
    "import flax.optim.dynamic_scale as d\nd.DynamicScale()\n": [
        "FOC107 flax.optim.dynamic_scale as d",
        "FOC107 d.DynamicScale",
    ],
    "import flaxoptim_compat as c\nc.install(era=True)\n": ["FOC111 c.install(era=True)"],
    "import flaxoptim_compat as c\nprint(c.install)\natexit(c.install)\n": [],
}


@pytest.mark.parametrize("text", FOUND)
def test_what_is_found_where(text: str) -> None:
    assert codes(text) == FOUND[text]


OTHER_FILES = {
    "from .optimizers import Adam\nprint(Adam)\n": ["FOC110 Adam", "FOC110 Adam"],
    "from . import optimizers as o\no.Adam, o.other\n": ["FOC110 o.Adam"],
    "from optimizers import *\nAdam\n": ["FOC110 Adam"],
    "from .others import Adam\nAdam\n": [],
}


@pytest.mark.parametrize("text", OTHER_FILES)
def test_names_from_other_files_are_changed_there(text: str) -> None:
    program = {"p.q": text, "p.optimizers": "from flax.optim import Adam\n"}
    assert codes(text, findings_of(program)[0].findings) == OTHER_FILES[text]
    for target in ("shim", "optax"):
        assert rewrite_all(program, target)["p.q"] == text


def test_what_is_left_for_optax_is_found_after_the_shim_too() -> None:
    for text, found in (
        ("from flax import optim\ngetattr(optim, name)\n", "FOC103 getattr(optim, name)"),
        ("from flax.optim import Adam\nclass A(Adam): ...\n", "FOC106 class A(Adam"),
    ):
        after = rewrite_alone(text)
        assert codes(after) == [found]
        assert rewrite(rewrite(after, "optax"), "optax") == rewrite(after, "optax")
    other = "import flaxoptim_compat\ngetattr(flaxoptim_compat.parity, name), hasattr(o, 'x')\n"
    assert codes(other + "setattr(flaxoptim_compat.optim, 'x', 1)\n") == []


def test_every_name_that_there_was_is_rewritten() -> None:
    """Each in a program of its own, that runs afterwards."""
    surface = json.loads((DATA / "legacy_surface.json").read_text())["surface"]
    for full in [f"{module}.{name}" for module, names in surface.items() for name in names]:
        module, _, name = full.rpartition(".")
        text = f"import flax\nimport {module} as m\nfrom {module} import {name}\n"
        text += f"x = flax{full.removeprefix('flax')}\ny = m.{name}\n"
        after = rewrite_alone(text)
        assert codes(after) == []
        scope = run(after)
        assert scope["x"] is scope["y"] is scope[name], full


def test_dynamic_scale_is_that_of_flax_0_5_3() -> None:
    """Bit for bit, until a bound is reached that Flax 0.5.3 had not."""
    genuine = importlib.import_module(f"{genuine_optim().__name__}.dynamic_scale")
    losses = [lambda x: 3.0 * x**2, lambda x: x * jnp.inf, lambda x: 1e-4 * x, lambda x: 1e35 * x]
    ours, theirs = (
        module.DynamicScale(growth_interval=2, growth_factor=4.0, scale=1024.0)
        for module in (optim.dynamic_scale, genuine)
    )
    for step in range(40):
        loss = losses[step * step % 7 % len(losses)]
        found, expected = (each.value_and_grad(loss)(1.1) for each in (ours, theirs))
        np.testing.assert_array_equal(found[1:], expected[1:])
        ours, theirs = found.dynamic_scale, expected.dynamic_scale
        assert float(ours.scale) == float(theirs.scale)
        assert int(ours.fin_steps) == int(theirs.fin_steps)


@pytest.mark.parametrize("target", ["shim", "optax"])
@pytest.mark.parametrize(
    "chosen",
    [
        "if hasattr(flax, 'optim'):\n    o = {}\nelse:\n    o = other",
        "if not hasattr(flax, 'optim'):\n    o = other\nelse:\n    o = {}",
        "o = {} if hasattr(flax, 'optim') else other",
    ],
)
def test_what_only_old_flax_runs_stays(chosen: str, target: str) -> None:
    text = chosen.format("flax.optim.Adam(0.1).create(p)")
    program = f"import flax\n{text}\nprint(o.target)\n"
    rewritten = rewrite(program, target)
    assert without_marks(rewritten) == program
    assert "# FOC103: hasattr(flax, 'optim') is False since" in rewritten
    other = program.replace("hasattr(flax,", "hasattr(args,")
    assert "flax.optim" not in without_marks(rewrite(other, target))
