# Objects without a class of their own, and fields that are set by their names.
import argparse
import types
from types import SimpleNamespace

from arrays import gradients, parameters
from flax import optim


def make():
    return SimpleNamespace(optimizer=optim.Adam(learning_rate=1e-2).create(parameters()), epoch=0)


def train(state):
    state.optimizer = state.optimizer.apply_gradient(gradients(state.optimizer.target))
    state.epoch += 1
    return state


class Agent:
    def __init__(self):
        setattr(self, "critic", optim.Momentum(learning_rate=0.1).create(parameters()))

    def update(self):
        critic = getattr(self, "critic")
        setattr(self, "critic", critic.apply_gradient(gradients(critic.target)))


def run():
    state = train(train(make()))
    agent = Agent()
    agent.update()
    both = types.SimpleNamespace(agent=agent)
    later = argparse.Namespace()
    later.optimizer = optim.GradientDescent(0.1).create(parameters())
    later = train(argparse.Namespace(optimizer=later.optimizer, epoch=0))
    return [state.optimizer.target, state.epoch, both.agent.critic.target, later.optimizer.target]
