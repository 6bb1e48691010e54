"""install() serves flax.optim by every way of importing it, and uninstall() leaves no trace."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import textwrap
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import flax
import pytest

import flaxoptim_compat
from flaxoptim_compat import optim
from flaxoptim_compat.legacy import installing
from tests.support.processes import output_of, start

# How programs reach the class, each as it stands in public code.
FORMS = {
    "import flax.optim": "import flax.optim\nfound = flax.optim.Adam",
    "import as": "import flax.optim as optimizers\nfound = optimizers.Adam",
    "from flax": "from flax import optim\nfound = optim.Adam",
    "from flax as": "from flax import optim as optimizers\nfound = optimizers.Adam",
    "from flax.optim": "from flax.optim import Adam as found",
    "from module": "from flax.optim.adam import Adam as found",
    "import module": "import flax.optim.adam\nfound = flax.optim.adam.Adam",
    "attribute": "import flax\nfound = flax.optim.Adam",
    "module attribute": "import flax\nfound = flax.optim.adam.Adam",
    "star": "from flax.optim import *\nfound = Adam",
    "getattr": "import flax\nfound = getattr(flax.optim, 'Adam')",
    "import_module": "import importlib\nfound = importlib.import_module('flax.optim').Adam",
    "annotation": "import flax\nclass State:\n  optimizer: flax.optim.Adam\n"
    "found = State.__annotations__['optimizer']",
}
DYNAMIC_SCALE = "from flax.optim import dynamic_scale\nfound = dynamic_scale.DynamicScale"


def run(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "program"}
    exec(compile(code, "<program>", "exec", dont_inherit=True), names)
    return names


@pytest.mark.parametrize("form", FORMS)
def test_flax_imported_before(form: str) -> None:
    with flaxoptim_compat.installed():
        assert run(FORMS[form])["found"] is optim.Adam


# Every run tries them above, where flax is there before; the first cell of IPython below, and the
# imports in test_finders, are where it is not.
@pytest.mark.exhaustive
@pytest.mark.parametrize("form", FORMS)
def test_flax_imported_after(form: str, tmp_path: Path) -> None:
    install = "import flaxoptim_compat, sys; flaxoptim_compat.install()"
    before = "assert not {'flax', 'jax'} & set(sys.modules)"
    after = "assert found.__module__ == 'flaxoptim_compat.optim.adam', found"
    output_of(["-c", "\n".join([install, before, FORMS[form], after])], tmp_path)


def test_dynamic_scale_and_the_other_modules() -> None:
    with flaxoptim_compat.installed():
        assert run(DYNAMIC_SCALE)["found"] is optim.DynamicScale
        for name in ("adabelief", "adagrad", "base", "lamb", "lars", "momentum", "sgd"):
            served = importlib.import_module(f"flax.optim.{name}")
            assert served.__name__ == f"flax.optim.{name}"
            assert set(dir(getattr(optim, name))) <= set(dir(served))


def test_private_names_and_what_is_missing() -> None:
    with flaxoptim_compat.installed():
        from flax import optim as served

        assert served.adam._AdamParamState is optim.adam._AdamParamState
        assert not hasattr(served, "AdamW")
        with pytest.raises(ImportError, match=r"cannot import name 'AdamW' from 'flax\.optim'"):
            run("from flax.optim import AdamW")
        with pytest.raises(ModuleNotFoundError, match=r"No module named 'flax\.optim\.adamw'"):
            importlib.import_module("flax.optim.adamw")
        assert served.__doc__ == optim.__doc__


def snapshot() -> dict[str, Any]:
    """Everything that install() could leave something in."""
    packages = ("flax", "jax", "numpy")
    modules = {
        name: module
        for name, module in sys.modules.items()
        if name.partition(".")[0] in packages and isinstance(module, ModuleType)
    }
    return {
        "meta_path": list(sys.meta_path),
        "path_hooks": list(sys.path_hooks),
        "path": list(sys.path),
        "loaded": set(modules),
        "flags": {name: getattr(flax.config, name) for name in FLAX_FLAGS},
        **{name: dict(vars(module)) for name, module in modules.items()},
    }


FLAX_FLAGS = ("flax_return_frozendict", "flax_use_orbax_checkpointing")


@pytest.mark.parametrize("era", [False, True])
def test_uninstall_leaves_no_trace(era: bool) -> None:
    # Once beforehand, so that what is imported on the way is imported already.
    for _ in range(2):
        before = snapshot()
        flaxoptim_compat.install(era=era)
        for code in FORMS.values():
            run(code)
        flaxoptim_compat.uninstall()
        after = snapshot()
    differing = {
        f"{group}: {name}"
        for group in before.keys() | after.keys()
        if isinstance(before.get(group), dict)
        for name in before[group].keys() | after.get(group, {}).keys()
        if before[group].get(name, "nothing") is not after[group].get(name, "nothing")
    }
    assert not differing
    assert before.keys() == after.keys()
    assert all(before[each] == after[each] for each in ("meta_path", "path", "loaded", "flags"))
    with pytest.raises(AttributeError, match="module 'flax' has no attribute 'optim'"):
        run("import flax\nflax.optim")
    with pytest.raises(ImportError, match="cannot import name 'optim' from 'flax'"):
        run("from flax import optim")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'flax\.optim'"):
        importlib.import_module("flax.optim")


def test_installing_twice_is_installing_once() -> None:
    flaxoptim_compat.install()
    finders = list(sys.meta_path)
    flaxoptim_compat.install()
    assert sys.meta_path == finders
    flaxoptim_compat.uninstall()
    flaxoptim_compat.uninstall()
    assert installing.existing_flax_optim() is None
    assert importlib.util.find_spec("flax.optim") is None


def test_a_block_leaves_what_was_installed_before_it() -> None:
    flaxoptim_compat.install()
    with flaxoptim_compat.installed(era=True):
        run("import jax\njax.tree_multimap")
        run("from flax import optim")
    with pytest.raises(AttributeError, match="tree_multimap"):
        run("import jax\njax.tree_multimap")
    run("from flax import optim")
    flaxoptim_compat.uninstall()


def test_a_block_that_raises_ends_all_the_same() -> None:
    with pytest.raises(KeyError), flaxoptim_compat.installed(era=True):
        raise KeyError
    assert not hasattr(flax, "optim")


def test_many_threads(tmp_path: Path) -> None:
    code = """
        import threading, flaxoptim_compat
        barrier, errors = threading.Barrier(12), []
        def work(number):
            barrier.wait()
            try:
                flaxoptim_compat.install(era=number % 2 == 0)
                from flax import optim
                import flax.optim.adam, jax
                assert optim.Adam is flax.optim.adam.Adam
                # Threads with even numbers have asked for the other names too.
                number % 2 or jax.tree_map
            except BaseException as error:
                errors.append(repr(error))
        threads = [threading.Thread(target=work, args=[number]) for number in range(12)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert not errors, errors
        flaxoptim_compat.uninstall()
        import sys
        assert not [name for name in sys.modules if name.startswith("flax.optim")]
    """
    output_of(["-c", textwrap.dedent(code)], tmp_path)


def test_threads_in_this_process() -> None:
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(20):
                with flaxoptim_compat.installed():
                    pass
        except BaseException as error:
            errors.append(error)

    with flaxoptim_compat.installed():
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        run("from flax import optim")
    assert not errors


def test_a_real_flax_optim_is_not_replaced(tmp_path: Path) -> None:
    package = tmp_path / "flax" / "optim"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    path = {"PYTHONPATH": str(tmp_path)}
    done = start(["-c", "import flaxoptim_compat; flaxoptim_compat.install()"], tmp_path, path)
    assert done.returncode == 1
    assert f"RuntimeError: There is a flax.optim already, {package / '__init__.py'}," in done.stderr
    assert "Leave install() out, or upgrade flax" in done.stderr


def test_a_home_made_flax_optim_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "flax.optim", ModuleType("flax.optim"))
    with pytest.raises(RuntimeError, match=r"There is a flax\.optim already, <module 'flax\.op"):
        flaxoptim_compat.install()


def test_ipython_loads_it_as_an_extension(tmp_path: Path) -> None:
    pytest.importorskip("IPython")
    code = """
        from IPython.core.interactiveshell import InteractiveShell
        shell = InteractiveShell.instance()
        def cell(text):
            result = shell.run_cell(text)
            result.raise_error()
        cell("%load_ext flaxoptim_compat")
        cell("from flax import optim\\nimport flax, jax\\nclass S:\\n  o: flax.optim.Optimizer")
        cell("o = optim.Adam(0.1).create(jax.numpy.ones(2)); jax.tree_map(lambda x: x, o)")
        cell("%unload_ext flaxoptim_compat")
        assert not hasattr(shell.user_ns["flax"], "optim")
    """
    output_of(["-c", textwrap.dedent(code)], tmp_path, {"IPYTHONDIR": str(tmp_path)})


def test_a_module_with_names_that_are_gone_for_good_is_as_before_afterwards() -> None:
    from flax import errors

    gone = pytest.raises(AttributeError, match="is gone for good")
    with flaxoptim_compat.installed(era=True), gone:
        _ = errors.GDACheckpointingRequiredError
    assert "__getattr__" not in vars(errors)
