# Objects without a class of their own.
import argparse
from types import SimpleNamespace

from arrays import gradients, parameters
from flax import optim


def make():
    return SimpleNamespace(optimizer=optim.Adam(learning_rate=1e-2).create(parameters()), epoch=0)


def train(state):
    state.optimizer = state.optimizer.apply_gradient(gradients(state.optimizer.target))
    state.epoch += 1
    return state


def run():
    state = train(train(make()))
    later = argparse.Namespace()
    later.optimizer = optim.GradientDescent(0.1).create(parameters())
    later = train(argparse.Namespace(optimizer=later.optimizer, epoch=0))
    return [state.optimizer.target, state.epoch, later.optimizer.target]
