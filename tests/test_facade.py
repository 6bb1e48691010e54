from __future__ import annotations

import sys
import types

import pytest

import flaxoptim_compat
from flaxoptim_compat import deprecation, optim
from flaxoptim_compat.bridge.compiled import compiled_steps
from flaxoptim_compat.catalogue import OPTIMIZERS
from flaxoptim_compat.legacy import installing
from flaxoptim_compat.optim import adam
from tests.support.options import each
from tests.support.places import ROOT
from tests.support.processes import output_of

MODULES = (
    *("adabelief", "adadelta", "adafactor", "adagrad", "adam", "base", "dynamic_scale", "lamb"),
    *("lars", "momentum", "rmsprop", "sgd", "weight_norm"),
)
HEAVY = "{'jax', 'flax', 'optax', 'numpy'} & set(sys.modules)"


def run_python(code: str) -> str:
    return output_of(["-c", code], ROOT)


# What else the command line does not import is in test_imports.
@pytest.mark.parametrize(
    "statement",
    [
        "import flaxoptim_compat as f; dir(f); f.__version__; hasattr(f, 'nothing')",
        "from flaxoptim_compat.cli import main\ntry: main(['demo', '-h'])\nexcept SystemExit: pass",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_used(statement: str) -> None:
    assert run_python(f"import sys\n{statement}\nprint({HEAVY})").endswith("set()\n")


def test_of_the_optimizers_only_those_are_imported_that_are_used() -> None:
    optimizers = {f"flaxoptim_compat.optim.{row.module}" for row in OPTIMIZERS}
    loaded = f"print({optimizers} & set(sys.modules))\n"
    start = "import sys\nfrom flaxoptim_compat import optim\n"
    shown = run_python(f"{start}{loaded}optim.LAMB(0.1)\n{loaded}").splitlines()
    assert (shown[0], shown[-1]) == ("set()", "{'flaxoptim_compat.optim.lamb'}")


WAYS = [
    "from flaxoptim_compat import optim; optim.Adam",
    "import flaxoptim_compat as optim; optim.Adam; optim.adam.Adam",
    "import flaxoptim_compat.optim as optim; optim.Adam",
    "from flaxoptim_compat.optim import Adam, adam; adam.Adam",
    "import flaxoptim_compat; flaxoptim_compat.optim.adam.Adam",
    "import flaxoptim_compat.optim.adam; flaxoptim_compat.Adam",
    "from flaxoptim_compat import Adam, compiled_steps; Adam",
    "from flaxoptim_compat import *; Adam; optim.Adam; adam.Adam; compiled_steps",
]


@pytest.mark.parametrize("code", each(WAYS, WAYS[-1:]))
def test_every_way_to_import(code: str) -> None:
    run_python(code)


def test_the_names_of_optim_are_names_of_the_package() -> None:
    own = {"era", "optim", "parity", *flaxoptim_compat._HOMES}
    assert set(flaxoptim_compat.__all__) == {*optim.__all__, *MODULES, *own}
    for name in optim.__all__:
        assert getattr(flaxoptim_compat, name) is getattr(optim, name)
    for name in MODULES:
        assert getattr(flaxoptim_compat, name) is sys.modules[f"flaxoptim_compat.optim.{name}"]


def test_its_own_names_are_those_of_their_modules() -> None:
    assert flaxoptim_compat.compiled_steps is compiled_steps
    assert flaxoptim_compat.install is installing.install
    assert flaxoptim_compat.FlaxOptimDeprecationWarning is deprecation.FlaxOptimDeprecationWarning


def test_dir_lists_every_name() -> None:
    assert {*flaxoptim_compat.__all__, "__version__", "__name__"} <= set(dir(flaxoptim_compat))


@pytest.mark.parametrize("module", [flaxoptim_compat, optim])
def test_an_unknown_name_fails_as_in_any_module(module: types.ModuleType) -> None:
    with pytest.raises(AttributeError) as ours:
        _ = module.Adams
    with pytest.raises(AttributeError) as pythons:
        _ = adam.Adams  # type: ignore[attr-defined]
    assert str(ours.value) == str(pythons.value).replace(adam.__name__, module.__name__)
    assert (ours.value.name, ours.value.obj) == ("Adams", module)
    with pytest.raises(ImportError, match=f"cannot import name 'Adams' from '{module.__name__}'"):
        exec(f"from {module.__name__} import Adams")
