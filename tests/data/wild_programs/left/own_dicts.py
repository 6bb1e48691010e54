# Optimizers in classes that are made of lists and dicts.
from arrays import gradients, parameters
from flax import optim


class Members(list):
    pass


class AttributeDict(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


def run():
    listed = [one.target for one in Members([optim.Adam(0.1).create(parameters())])]
    state = AttributeDict(last=optim.Adam(0.2).create(parameters()))
    state.last = state.last.apply_gradient(gradients(state["last"].target))
    return listed, state.last.target
