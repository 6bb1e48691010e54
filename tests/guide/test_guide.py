"""The guide as a whole: links, anchors, commands, and what single pages say in passing."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import serialization
from flax.training.dynamic_scale import DynamicScale
from flax.training.train_state import TrainState

import flaxoptim_compat
from flaxoptim_compat import cli, optim, transforms
from tests.support.legacy_program_runs import CASES
from tests.support.pages import blocks, text_of
from tests.support.places import ROOT
from tests.support.side_by_side import assert_same

GUIDE = ROOT / "migration_guide"
NOTEBOOKS = sorted((GUIDE / "notebooks").glob("*.ipynb"))
PAGES = [ROOT / "README.md", *sorted(GUIDE.rglob("*.md")), *NOTEBOOKS]
NAMED = [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES]

# --- links


def prose(page: Path) -> str:
    """A page without its code."""
    text = re.sub(r"^```.*?^```$", "", text_of(page), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", lambda code: re.sub(r"[\[\]]", "", code[0]), text)


@functools.cache
def anchors(page: Path) -> frozenset[str]:
    """Those that GitHub makes of the headings."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    texts = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return frozenset(re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in texts)


def links(page: Path) -> list[str]:
    return [
        target
        for target in re.findall(r"\]\(([^)\s]+)\)", prose(page))
        if not re.match(r"https?://", target)
    ]


@pytest.mark.parametrize("page", NAMED)
def test_links_and_their_anchors_lead_somewhere(page: Path) -> None:
    for target in links(page):
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def test_the_anchors_are_those_of_github() -> None:
    found = anchors(GUIDE / "checkpoints.md")
    assert {"weightnormmomentum", "createfocus", "what-becomes-what"} <= found


def test_every_page_can_be_reached_from_the_first_of_the_guide() -> None:
    reached, waiting = set(), [GUIDE / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            found = [(page.parent / target.partition("#")[0]).resolve() for target in links(page)]
            pages = [file for file in found if file.suffix in (".md", ".ipynb")]
            waiting += [page for page in pages if page.is_file()]
    assert set(PAGES) <= reached | {ROOT / "README.md"}


def test_the_first_page_lists_the_pages() -> None:
    rows = re.findall(r"^\| \[[^\]]*\]\(([^)]*)\) \|", (GUIDE / "README.md").read_text(), re.M)
    pages = {path.name for path in GUIDE.glob("*.md")} - {"README.md"}
    folders = {f"{path.parent.name}/README.md" for path in GUIDE.glob("*/README.md")}
    notebooks = {str(path.relative_to(GUIDE)) for path in NOTEBOOKS}
    assert set(rows) == pages | folders | notebooks and len(rows) == len(set(rows))


def test_the_numbers_of_old_programs() -> None:
    page = (GUIDE / "old_programs.md").read_text().replace("\n", " ")
    counts = {"legacy_programs": len(CASES)}
    for folder in ("flax_nn_programs", "linen_programs"):
        files = (ROOT / "tests" / "data" / folder).glob("*.py")
        counts[folder] = len({each.name for each in files} - {"__init__.py", "genuine.py"})
    words = {4: "Four", 5: "Five", 7: "Seven"}
    for folder, count in counts.items():
        assert re.search(rf"{words[count]}\b[^.]* in `tests/data/{folder}`", page), folder


# --- the page of changes

CHANGES = re.findall(r"^## (.*)$", (GUIDE / "changes.md").read_text(), re.MULTILINE)
# The day of a release; without one, the version is still being written.
RELEASE = re.compile(r"(\d+\.\d+\.\d+)( \(\d{4}-\d\d-\d\d\))?")


def test_each_change_is_of_a_version_the_first_of_this_one_and_older_ones_are_released() -> None:
    found = [RELEASE.fullmatch(heading) for heading in CHANGES]
    assert all(found), CHANGES
    assert all(each and each[2] for each in found[1:])
    versions = [each[1] for each in found if each]
    assert versions[0] == flaxoptim_compat.__version__
    numbers = [tuple(map(int, version.split("."))) for version in versions]
    assert numbers == sorted(set(numbers), reverse=True)


# --- commands


def commands() -> Iterator[str]:
    for page in PAGES:
        for block in blocks(text_of(page), "sh"):
            for line in block.replace("\\\n", " ").splitlines():
                if line.startswith("flaxoptim-compat "):
                    yield line


@pytest.mark.parametrize("line", dict.fromkeys(commands()))
def test_the_commands_exist_with_their_options(line: str) -> None:
    _, *words = shlex.split(line, comments=True)
    if "--recorder" in words:
        # This is all that it does, whatever else is given.
        with pytest.raises(SystemExit, match=r"^0$"):
            cli._parser().parse_args(words)
        return
    arguments = cli._parser().parse_args(words)
    assert arguments.subcommand == words[0]


# --- single pages


def test_the_old_call_of_multi_optimizer() -> None:
    (code,) = blocks((GUIDE / "multi_optimizer.md").read_text(), "py")
    paths: list[str] = []
    params = {"kernel": jnp.ones((2, 3)), "bias": jnp.ones(3), "scale": jnp.ones(3)}
    scope: dict[str, Any] = {"optim": optim, "params": params}
    exec(code, scope)
    optimizer, focused = scope["optimizer"], scope["only_kernels"]
    assert optimizer.state.param_states["scale"] is None
    assert focused.state.param_states["bias"] is None
    moved = optimizer.apply_gradient(params)
    assert_same(moved.target["scale"], params["scale"])
    assert (moved.target["bias"] != params["bias"]).all()
    every = optim.ModelParamTraversal(lambda path, _: bool(paths.append(path)))
    optim.MultiOptimizer((every, optim.Adam())).create({"a": {"b": jnp.ones(1)}})
    assert "/a/b" in paths


def test_what_the_state_of_a_multi_optimizer_holds() -> None:
    params = {"kernel": jnp.ones((2, 3)), "bias": jnp.ones(3)}
    transformations = {"kernels": optax.sgd(0.1, momentum=0.9), "frozen": optax.set_to_zero()}
    tx = optax.partition(transformations, {"kernel": "kernels", "bias": "frozen"})
    kernels = optim.ModelParamTraversal(lambda path, _: path.endswith("kernel"))
    focused = optim.Momentum(0.1).create(params, focus=kernels).to_train_state()
    for state in (tx.init(params), focused.opt_state):
        momentum = optax.tree_utils.tree_get(state, "trace")
        assert isinstance(momentum["bias"], optax.MaskedNode)
        assert serialization.to_state_dict(momentum)["bias"] == {}


def test_hold_keeps_a_zero_that_set_to_zero_does_not() -> None:
    zero = jnp.asarray([-0.0])
    for tx, kept in ((transforms.hold(), True), (optax.set_to_zero(), False)):
        updates, _ = tx.update(zero, tx.init(zero))
        assert bool(jnp.signbit(optax.apply_updates(zero, updates))[0]) == kept


def test_a_python_number_as_the_rate_compiles_once_more() -> None:
    traces = []

    @jax.jit
    def train_step(state: Any, grads: Any) -> Any:
        traces.append(1)
        return state.apply_gradients(grads=grads)

    params = {"w": jnp.ones(3)}
    tx = optax.inject_hyperparams(optax.sgd)(learning_rate=0.1)
    state = train_step(TrainState.create(apply_fn=None, params=params, tx=tx), params)
    state.opt_state.hyperparams["learning_rate"] = jnp.float32(0.05)
    state = train_step(state, params)
    assert len(traces) == 1
    state.opt_state.hyperparams["learning_rate"] = 0.05
    train_step(state, params)
    assert len(traces) == 2


DYNAMIC_SCALE = (GUIDE / "optimizers" / "dynamic_scale.md").read_text()
FORMULA, CALL = blocks(DYNAMIC_SCALE, "py")


# Three times 1.5e38 is no float32, as numpy says once in a process.
@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
@pytest.mark.parametrize("scale", [1024.0, 1.5e38, 1.2e-38])
def test_the_formula_of_dynamic_scale(scale: float) -> None:
    values: dict[str, Any] = {"growth_factor": 3.0, "backoff_factor": 0.25, "growth_interval": 2}
    ours = DynamicScale(**values, scale=scale)
    scope = {**values, "scale": scale, "fin_steps": 0}
    scope |= {"minimum_scale": ours.minimum_scale}
    scope |= {"largest_float32": float(np.finfo(np.float32).max)}
    for finite in (True, False, *[True] * 4, False, False, True):
        gradient = jnp.asarray(1e-30 if finite else jnp.inf)
        # Scaled and divided again, it is finite whatever the scale is.
        ours, seen, *_ = ours.value_and_grad(lambda x, factor: x * factor)(0.0, gradient)
        assert bool(seen) == finite
        scope["finite"] = finite
        exec(FORMULA, scope)
        assert int(ours.fin_steps) == scope["fin_steps"]
        assert np.isclose(float(ours.scale), scope["scale"], rtol=1e-6, atol=0.0)


def test_the_old_call_of_dynamic_scale() -> None:
    assert eval(CALL, {"optim": optim}) == DynamicScale()
