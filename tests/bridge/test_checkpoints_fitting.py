"""A checkpoint that does not fit is refused where flax refused it, or where strict() is asked for.

The message says where, and why; so does the warning of what is let pass, as are other axes of size
one.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import jax_utils, serialization

from flaxoptim_compat import FlaxOptimLeniencyWarning, optim, strict
from flaxoptim_compat.legacy.installing import installed
from tests.support.group_norm import DEFINITIONS, parameters, reshaped, trained
from tests.support.optimizer_checkpoints import TrainState
from tests.support.own_errors import PARAMS, edited, in_multi_optimizer, in_weight_norm, raises
from tests.support.side_by_side import assert_same, assert_same_bits

START = "Cannot restore the optimizer: "


@contextmanager
def refuses(optimizer: Any, *parts: str) -> Iterator[None]:
    """Expect a ValueError with these parts, and the optimizer as it was before."""
    before = jax.tree.map(np.array, optimizer)
    leaves = jax.tree.leaves(optimizer)
    with raises(ValueError, START, *parts):
        yield
    assert all(map(lambda one, other: one is other, leaves, jax.tree.leaves(optimizer)))
    assert_same_bits(optimizer, before)


def written(optimizer: Any) -> Any:
    """What a checkpoint of the optimizer holds."""
    return serialization.msgpack_restore(serialization.to_bytes(optimizer))


def through_bytes(optimizer: Any, content: Any) -> Any:
    return serialization.from_bytes(optimizer, serialization.msgpack_serialize(content))


def through_train_state(optimizer: Any, content: Any) -> Any:
    fresh = TrainState(optimizer, jnp.asarray(0))
    return through_bytes(fresh, {"optimizer": content, "step": np.int32(0)})


def through_method(optimizer: Any, content: Any) -> Any:
    return optimizer.restore_state(content)


def replicated(definition: Any) -> Any:
    return definition.create(PARAMS).replicate(jax.devices()[:2])


MAKERS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda definition: definition.create(PARAMS),
    "weight_norm": lambda definition: in_weight_norm(definition).create(PARAMS),
    "multi_optimizer": lambda definition: in_multi_optimizer(definition).create(PARAMS),
    "replicated": replicated,
}
every_way = pytest.mark.parametrize("way", [through_bytes, through_train_state, through_method])
every_maker = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)

KERNEL = "state/param_states/dense/kernel"


def array(*shape: int, dtype: str = "float32") -> str:
    """How a message describes an array."""
    return f"an array of shape {shape} and dtype {dtype}"


# Path, what stands there instead (if anything), and what the message says of both.
Misfit = tuple[str, list[Any], str, str]
ONES = np.ones(3, np.float32)
STEPS = np.zeros((2, 3), np.int32)
REFUSED: dict[str, Misfit] = {
    "missing_parameter": ("target/dense/kernel", [], array(2, 3), "nothing"),
    "missing_group": ("target/pair", [], "the entries ['0', '1']", "nothing"),
    "extra_moment": (f"{KERNEL}/moment", [ONES], "nothing", array(3)),
    "extra_of_the_state": ("state/other", [ONES], "nothing", array(3)),
    "array_for_group": ("target/dense", [ONES], "the entries ['bias', 'kernel']", array(3)),
}
LET_PASS: dict[str, Misfit] = {
    "extra_parameter": ("target/dense/extra", [ONES], "nothing", array(3)),
    "extra_group": ("target/other", [{"kernel": ONES}], "nothing", "the entries ['kernel']"),
    "extra_state": ("state/param_states/other", [ONES], "nothing", array(3)),
    "transposed": ("target/dense/kernel", [np.ones((3, 2), "f4")], array(2, 3), array(3, 2)),
    "group_for_array": ("target/dense/bias", [{"a": ONES}], array(3), "the entries ['a']"),
    "none_for_array": ("target/dense/kernel", [None], array(2, 3), "None"),
    "matrix_for_step": ("state/step", [STEPS], array(dtype="int32"), array(2, 3, dtype="int32")),
}


@every_maker
@every_way
@pytest.mark.parametrize(("path", "value", "expected", "found"), REFUSED.values(), ids=REFUSED)
def test_entry_that_flax_refuses(
    path: str, value: list[Any], expected: str, found: str, way: Any, make: Any
) -> None:
    optimizer = make(optim.Momentum(0.1))
    content = edited(written(optimizer), path, *value)
    message = f"at {path} expected {expected}, found {found}. Nothing was restored."
    with refuses(optimizer, message):
        way(optimizer, content)
    with strict(), refuses(optimizer, message):
        way(optimizer, content)
    # Of what stands there as well, and flax lets pass, the message does not speak.
    with refuses(optimizer, message):
        way(optimizer, edited(content, "target/another", ONES))


@every_maker
@every_way
@pytest.mark.parametrize(("path", "value", "expected", "found"), LET_PASS.values(), ids=LET_PASS)
def test_entry_that_flax_lets_pass(
    path: str, value: list[Any], expected: str, found: str, way: Any, make: Any
) -> None:
    optimizer = make(optim.Momentum(0.1))
    content = edited(written(optimizer), path, *value)
    message = f"at {path} expected {expected}, found {found}. "
    with strict(), refuses(optimizer, message + "Nothing was restored."):
        way(optimizer, content)
    with pytest.warns(FlaxOptimLeniencyWarning) as caught:
        restored = way(optimizer, content)
    assert len(caught) == 1
    assert f"{message}As in flax.optim" in str(caught[0].message)
    assert "flaxoptim_compat.strict()" in str(caught[0].message)
    assert caught[0].filename == __file__
    # Whatever is not expected is dropped, and all else is there.
    there = expected != "nothing"
    restored = getattr(restored, "optimizer", restored)
    assert_same_bits(written(restored), content if there else written(optimizer))


@pytest.mark.parametrize("name", [*REFUSED, *LET_PASS])
@pytest.mark.filterwarnings("ignore::flaxoptim_compat.FlaxOptimLeniencyWarning")
def test_the_genuine_refuses_the_same_and_restores_the_same(genuine: Any, name: str) -> None:
    path, value, *_ = {**REFUSED, **LET_PASS}[name]
    found: list[Any] = []
    for each in (optim, genuine):
        optimizer = each.Momentum(0.1).create(PARAMS)
        with contextlib.suppress(Exception):
            content = edited(written(optimizer), path, *value)
            found.append(serialization.to_state_dict(optimizer.restore_state(content)))
    assert len(found) == (0 if name in REFUSED else 2)
    if found:
        assert_same_bits(*found)


def test_one_warning_for_all_that_does_not_fit_anywhere() -> None:
    optimizer = optim.Adam(0.1).create(PARAMS)
    content = written(optim.Adam(0.1).create({**PARAMS, "other": {"bias": ONES, "kernel": ONES}}))
    with pytest.warns(
        FlaxOptimLeniencyWarning, match="at target/other .* 1 more like it"
    ) as caught:
        optimizer.restore_state(content)
    assert len(caught) == 1


@pytest.mark.parametrize("make", [MAKERS["plain"], MAKERS["multi_optimizer"]])
def test_a_checkpoint_of_copies_is_unreplicated_afterwards(make: Any) -> None:
    optimizer = make(optim.Adam(0.1))
    trained = optimizer.apply_gradient(PARAMS)
    content = written(jax_utils.replicate(trained, jax.devices()[:2]))
    hint = r"and \d+ more like it\. If the checkpoint was saved .*x\[0\], state_dict\)`\. As in"
    with pytest.warns(FlaxOptimLeniencyWarning, match=hint):
        restored = through_bytes(optimizer, content)
    assert_same_bits(jax_utils.unreplicate(restored), trained)


@every_maker
@every_way
def test_state_of_a_parameter_is_missing(way: Any, make: Any) -> None:
    optimizer = make(optim.Momentum(0.1))
    content = written(optimizer)
    names = sorted(content["state"]["param_states"]["dense"]["kernel"])
    with refuses(optimizer, f"at {KERNEL} expected the entries {names}, found nothing."):
        way(optimizer, edited(content, KERNEL))


@every_maker
@every_way
@pytest.mark.parametrize("missing", ["step", "param_states"])
def test_state_without_one_of_its_entries(missing: str, way: Any, make: Any) -> None:
    optimizer = make(optim.Momentum(0.1))
    with refuses(optimizer, "state", missing):
        way(optimizer, edited(written(optimizer), f"state/{missing}"))


@every_way
@pytest.mark.parametrize(
    ("mine", "other"),
    [("Momentum", "Adam"), ("Adam", "Momentum"), ("GradientDescent", "Adam"), ("LARS", "RMSProp")],
)
def test_checkpoint_of_another_optimizer(mine: str, other: str, way: Any) -> None:
    optimizer, source = (getattr(optim, name)(0.1).create(PARAMS) for name in (mine, other))
    with refuses(optimizer, "at state/param_states/dense/bias", ", found "):
        way(optimizer, written(source))


@every_way
@pytest.mark.parametrize("mine_is_centered", [True, False])
def test_moments_that_are_none_on_one_side_only(mine_is_centered: bool, way: Any) -> None:
    optimizer, source = (
        optim.RMSProp(0.1, centered=centered).create(PARAMS)
        for centered in (mine_is_centered, not mine_is_centered)
    )
    sides = (array(3), "None") if mine_is_centered else ("None", array(3))
    message = "at state/param_states/dense/bias/mg expected {}, found {}".format(*sides)
    with strict(), refuses(optimizer, message):
        way(optimizer, written(source))
    with pytest.warns(FlaxOptimLeniencyWarning, match=re.escape(message)):
        restored = way(optimizer, written(source))
    if not mine_is_centered:
        restored = getattr(restored, "optimizer", restored)
        mine, fresh = (each.apply_gradient(PARAMS).target for each in (restored, optimizer))
        assert_same_bits(mine, fresh)


@every_way
def test_parameters_that_no_optimizer_moved_before(way: Any) -> None:
    part = optim.ModelParamTraversal(lambda path, _: "kernel" in path)
    optimizer = optim.Momentum(0.1).create(PARAMS)
    source = optim.Momentum(0.1).create(PARAMS, focus=part)
    with refuses(optimizer, "at state/param_states/dense/bias expected the entries", "found None"):
        way(optimizer, written(source))


@every_maker
def test_checkpoint_of_a_train_state(make: Any) -> None:
    optimizer = make(optim.Adam(0.1))
    content = {"optimizer": written(optimizer), "step": np.int32(3)}
    for way in (through_bytes, through_method):
        with refuses(
            optimizer, "['target', 'state']", "['optimizer', 'step']", "is in the entry 'optimizer'"
        ):
            way(optimizer, content)


@every_maker
@pytest.mark.parametrize("content", [None, 3, np.ones(2), {}, {"target": {}}], ids=repr)
def test_what_is_no_checkpoint(content: Any, make: Any) -> None:
    optimizer = make(optim.Adam(0.1))
    with refuses(optimizer, "['target', 'state']"):
        optimizer.restore_state(content)


@every_way
def test_replicated_checkpoint_into_a_single_optimizer(way: Any) -> None:
    optimizer = optim.Adam(0.1).create(PARAMS)
    content = written(jax_utils.replicate(optimizer, jax.devices()[:2]))
    for fresh in (optimizer, optimizer.replicate()):
        with (
            strict(),
            refuses(
                fresh, f"at target/dense/bias expected {array(3)}, found {array(2, 3)}", "x[0]"
            ),
        ):
            way(fresh, content)


@every_way
def test_single_checkpoint_into_replicated_arrays(way: Any) -> None:
    optimizer = optim.Adam(0.1).create(PARAMS)
    stacked = jax_utils.replicate(optimizer, jax.devices()[:2])
    message = f"at target/dense/bias expected {array(2, 3)}, found {array(3)}"
    with strict(), refuses(stacked, message, "restore first and replicate afterwards"):
        way(stacked, written(optimizer))


LISTS = {
    "too_few": lambda states: states[:1],
    "too_many": lambda states: [*states, states[0]],
    "other_steps": lambda states: [states[0], edited(states[1], "step", np.int32(4))],
    "parameter_missing": lambda states: [states[0], edited(states[1], "param_states/0")],
    "parameter_extra": lambda states: [states[0], edited(states[1], "param_states/2", {})],
    "no_parameters": lambda states: [states[0], edited(states[1], "param_states", np.ones(2))],
    "no_step": lambda states: [states[0], edited(states[1], "step")],
    "no_state": lambda states: [states[0], np.ones(2)],
}


@every_way
@pytest.mark.parametrize("change", LISTS.values(), ids=LISTS)
def test_old_list_of_states_that_does_not_fit(change: Any, way: Any) -> None:
    optimizer = in_multi_optimizer(optim.Momentum(0.1)).create(PARAMS)
    new = written(optimizer)
    groups = (new["state"]["param_states"][name].values() for name in ("pair", "dense"))
    old = [
        {"step": np.int32(3), "param_states": dict(zip("01", group, strict=True))}
        for group in groups
    ]
    with refuses(optimizer, "at state expected "):
        way(optimizer, {**new, "state": dict(zip("012", change(old), strict=False))})


def test_old_rms_prop_without_centering_into_one_with() -> None:
    optimizer = optim.RMSProp(0.1, centered=True).create(PARAMS)
    content = edited(written(optimizer), f"{KERNEL}/mg")
    with refuses(optimizer, f"at {KERNEL}/mg expected {array(2, 3)}, found nothing"):
        optimizer.restore_state(content)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_parameters_and_moments_of_every_optimizer(name: str) -> None:
    old, new = (trained(DEFINITIONS[name], axes) for axes in (3, 0))
    for saved, template in ((old, new), (new, old)):
        with pytest.warns(FlaxOptimLeniencyWarning) as caught:
            restored = template.restore_state(saved.state_dict())
        assert_same(restored, reshaped(saved, template))
        (warning,) = caught
        assert str(warning.message).startswith(
            "A restored array has other axes of size one than the array in its place: at ['target']"
        )
        assert "strict()" in str(warning.message)


def test_strictly_it_is_an_error() -> None:
    old, new = (trained(optim.Adam(0.1), axes) for axes in (3, 0))
    with strict(), pytest.raises(ValueError, match=r"target/GroupNorm_0/bias expected .*\(8,\)"):
        new.restore_state(old.state_dict())
    average = {"step": 3, "average": old.target}
    with (
        strict(),
        installed(era=True),
        pytest.raises(ValueError, match=r"'average'.*\(8,\).*Nothing was restored"),
    ):
        serialization.from_state_dict({"step": 0, "average": new.target}, average)


@pytest.mark.filterwarnings("ignore::flaxoptim_compat.FlaxOptimLeniencyWarning")
def test_a_copy_for_one_device_stays_one() -> None:
    optimizer = trained(optim.Adam(0.1), 0)
    one = jax_utils.replicate(optimizer, devices=jax.devices()[:1])
    with installed(era=True):
        restored = serialization.from_state_dict(optimizer, serialization.to_state_dict(one))
        assert_same(restored, one)
        restored = serialization.from_state_dict(one, serialization.to_state_dict(optimizer))
        assert_same(restored, optimizer)
        params = serialization.from_state_dict(optimizer.target, one.target)
        assert_same(params, one.target)


@pytest.mark.filterwarnings("ignore::flaxoptim_compat.FlaxOptimLeniencyWarning")
def test_it_stays_as_it_is_where_a_shape_differs_by_more() -> None:
    old, new = (trained(optim.Adam(0.1), axes) for axes in (3, 0))
    state = old.state_dict()
    state["target"]["Dense_0"]["bias"] = np.ones(5)
    restored = new.restore_state(state)
    assert restored.target["GroupNorm_0"]["scale"].shape == (1, 1, 1, 8)
    assert restored.target["Dense_0"]["bias"].shape == (5,)


def test_averages_and_parameters_alone_where_the_era_is_served() -> None:
    old, new = ({"n": 3, "average": parameters(axes)} for axes in (3, 0))
    saved = serialization.to_bytes(old)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(serialization.from_bytes(new, saved)["average"], old["average"])
    with installed(era=True), pytest.warns(FlaxOptimLeniencyWarning, match="'average'"):
        assert_same(serialization.from_bytes(new, saved), reshaped_of(old, new))
    assert serialization.from_bytes(new, saved)["average"]["own"]["kernel"].ndim == 5


def reshaped_of(old: Any, new: Any) -> Any:
    return {**new, "average": reshaped(old["average"], new["average"])}


def test_what_jax_does_not_know_is_restored_as_before() -> None:
    mixed = {1: jnp.ones(2), "two": jnp.ones((1, 2))}
    with installed(era=True):
        restored = serialization.from_state_dict(mixed, {"1": np.ones(2), "two": np.ones(2)})
    assert {key: value.shape for key, value in restored.items()} == {1: (2,), "two": (2,)}
