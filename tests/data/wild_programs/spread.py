# Fields that get new values at once: by name, and out of dicts of them.
import dataclasses
import typing

import flax
from arrays import gradients, parameters
from flax import optim


@flax.struct.dataclass
class TrainingState:
    optimizer: typing.Any
    epoch: int = 0


class Kept(typing.NamedTuple):
    optimizer: typing.Any = None
    score: float = 0.0


@dataclasses.dataclass(frozen=True)
class Run:
    optimizer: typing.Any
    epoch: int = 0


def step_of(optimizer):
    return optimizer.apply_gradient(gradients(optimizer.target))


def run():
    state = TrainingState(None)
    start = {"optimizer": optim.Adam(learning_rate=1e-2).create(parameters()), "epoch": 1}
    state = state.replace(**start)
    state = state.replace(optimizer=step_of(state.optimizer))
    kept = Kept()._replace(**{"optimizer": optim.Momentum(learning_rate=0.1).create(parameters())})
    kept = Kept(**dict(optimizer=step_of(kept.optimizer), score=0.5))
    changes = dict(optimizer=optim.GradientDescent(0.1).create(parameters()))
    one = dataclasses.replace(Run(None), **changes)
    one = dataclasses.replace(one, optimizer=step_of(one.optimizer), epoch=one.epoch + 1)
    return [state.optimizer.target, kept.optimizer.target, one.optimizer.target, one.epoch]
