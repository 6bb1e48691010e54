"""Settings that bring back what Linen did, tried with the idioms of old programs."""

from __future__ import annotations

import os
import warnings
from contextlib import ExitStack

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import jax_utils, linen, serialization, struct, traverse_util
from flax.configurations import config
from flax.core import FrozenDict
from flax.training import checkpoints
from flax.training.train_state import TrainState as OptaxTrainState

from flaxoptim_compat import optim
from flaxoptim_compat.legacy import linen_behaviour as behaviour

KEY = jax.random.PRNGKey(0)
X = jnp.ones((2, 4))
SETTINGS = behaviour.SETTINGS.items()


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch):
    before = {name: getattr(config, name) for name in behaviour.SETTINGS}
    for name in before:
        monkeypatch.delenv(name.upper(), raising=False)
    yield
    for name, value in before.items():
        config.update(name, value)


class Net(linen.Module):
    @linen.compact
    def __call__(self, x, train=True):
        x = linen.BatchNorm(use_running_average=not train)(linen.Dense(3)(x))
        return linen.Dense(1)(x)


@struct.dataclass
class TrainState:
    step: int
    optimizer: optim.Optimizer
    model_state: FrozenDict


def train_state(step=0):
    # The idiom of which a plain dict makes "too many values to unpack".
    model_state, params = Net().init(KEY, X).pop("params")
    optimizer = optim.Momentum(learning_rate=0.1, beta=0.9).create(params)
    return TrainState(step=step, optimizer=optimizer, model_state=model_state)


@pytest.fixture
def era():
    with ExitStack() as undo:
        behaviour.restore_settings(undo)
        behaviour.ignore_new_deprecations(undo)
        warnings.filterwarnings("ignore", "flax.optim", DeprecationWarning)
        yield


@pytest.mark.parametrize(("name", "value"), SETTINGS)
@pytest.mark.parametrize("before", [True, False])
def test_undoing_restores_what_was_before(name, value, before):
    config.update(name, before)
    with ExitStack() as undo:
        behaviour.restore_settings(undo)
        assert getattr(config, name) is value
    assert getattr(config, name) is before


@pytest.mark.parametrize(("name", "value"), SETTINGS)
def test_what_is_set_later_or_in_the_environment_stays(name, value, monkeypatch):
    config.update(name, value)
    with ExitStack() as undo:
        behaviour.restore_settings(undo)
        config.update(name, not value)
    assert getattr(config, name) is not value
    monkeypatch.setenv(name.upper(), str(not value))
    with ExitStack() as undo:
        behaviour.restore_settings(undo)
        assert getattr(config, name) is not value
    assert getattr(config, name) is not value


def test_what_linen_returns_is_frozen(era):
    variables = Net().init(KEY, X)
    state, params = variables.pop("params")
    assert isinstance(params, FrozenDict) and isinstance(params.unfreeze(), dict)
    assert set(state.copy({"params": params})) == {"batch_stats", "params"}
    again = state.copy(add_or_replace={"batch_stats": state["batch_stats"].unfreeze()})
    assert jax.tree_util.tree_structure(again) == jax.tree_util.tree_structure(state)
    _, changed = Net().apply({"params": params, **state}, X, mutable=list(state.keys()))
    rest, statistics = changed.pop("batch_stats")
    assert isinstance(statistics, FrozenDict) and not rest
    _, seen = Net().apply(variables, X, train=False, mutable=["intermediates"])
    assert isinstance(seen, FrozenDict)
    _, params = jax.jit(Net().init)(KEY, X).pop("params")
    assert isinstance(params, FrozenDict)


def test_training_on_two_devices_with_frozen_dicts(era):
    def step(state, x):
        def loss_fn(params):
            variables = {"params": params, **state.model_state}
            y, changed = Net().apply(variables, x, mutable=["batch_stats"])
            return jnp.mean(y**2), changed

        (loss, changed), grad = jax.value_and_grad(loss_fn, has_aux=True)(state.optimizer.target)
        optimizer = state.optimizer.apply_gradient(jax.lax.pmean(grad, "batch"), learning_rate=0.1)
        return state.replace(step=state.step + 1, optimizer=optimizer, model_state=changed), loss

    devices = jax.local_devices()[:2]
    state = jax_utils.replicate(train_state(), devices)
    x = jax.random.normal(KEY, (2, 8, 4))
    train_step = jax.pmap(step, axis_name="batch", devices=devices)
    losses = []
    for _ in range(5):
        state, loss = train_step(state, x)
        losses.append(float(loss.mean()))
    assert losses[-1] < losses[0]
    state = jax.device_get(jax.tree_util.tree_map(lambda leaf: leaf[0], state))
    assert state.step == 5 and isinstance(state.optimizer.target, FrozenDict)


def test_checkpoints_are_msgpack_files_in_a_relative_directory(era, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    state = train_state(step=3)
    file = checkpoints.save_checkpoint("logs/run", state, state.step)
    assert file == "logs/run/checkpoint_3" and os.path.isfile(file)
    with open(file, "rb") as opened:
        content = serialization.msgpack_restore(opened.read())
    assert set(content) == {"step", "optimizer", "model_state"}
    # The leaves are numpy arrays and Python numbers, as they were.
    as_dict = checkpoints.restore_checkpoint("./logs/run", target=None)
    assert type(as_dict["step"]) is int
    assert type(as_dict["optimizer"]["target"]["Dense_0"]["kernel"]) is np.ndarray
    restored = checkpoints.restore_checkpoint("logs/run", train_state())
    assert restored.step == 3 and isinstance(restored.optimizer.target, FrozenDict)
    assert jax.tree_util.tree_structure(restored) == jax.tree_util.tree_structure(state)
    assert checkpoints.latest_checkpoint("logs/run") == file
    assert checkpoints.restore_checkpoint(file, train_state()).step == 3
    target = train_state()
    assert checkpoints.restore_checkpoint("nowhere", target) is target


def test_parameters_from_before_linen(era):
    old = {"Conv_0": 1, "Dense_1": {"Dense_3": 2, "scale": 3}, "head": 4}
    now = {"Conv_0": 1, "Dense_0": {"Dense_0": 2, "scale": 3}, "head": 4}
    assert checkpoints.convert_pre_linen(old) == now
    assert checkpoints.convert_pre_linen(FrozenDict(old)).unfreeze() == now


def save(directory):
    optimizer = linen.Dense(1).init(KEY, X)
    state = OptaxTrainState(step=1, apply_fn=None, params=optimizer, tx=None, opt_state=())
    checkpoints.save_checkpoint(directory, state, 1)


DEPRECATED = [
    save,
    lambda _: traverse_util.ModelParamTraversal(lambda path, _: "kernel" in path),
    lambda _: linen.SelfAttention(num_heads=2).init(KEY, X),
    lambda _: linen.MultiHeadDotProductAttention(num_heads=2).init(KEY, X, inputs_kv=X),
]


@pytest.mark.parametrize("use", DEPRECATED)
def test_what_flax_deprecated_since_is_no_error(use, tmp_path):
    behaviour.restore_settings(ExitStack())
    warnings.simplefilter("error")
    filters = list(warnings.filters)
    with pytest.raises(DeprecationWarning):
        use(tmp_path)
    with ExitStack() as undo:
        behaviour.ignore_new_deprecations(undo)
        use(tmp_path)
        warnings.filterwarnings("ignore", "another")
        # A program may remove a filter itself.
        del warnings.filters[1]
    assert warnings.filters[1:] == filters
    with pytest.raises(DeprecationWarning):
        use(tmp_path)
