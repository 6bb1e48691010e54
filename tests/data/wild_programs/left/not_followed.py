# Optimizers that come out of code that is not followed.
import operator
from concurrent.futures import ThreadPoolExecutor

from arrays import gradients, parameters
from flax import optim


def work(rate):
    optimizer = optim.Momentum(rate).create(parameters())
    return optimizer.apply_gradient(gradients(optimizer.target))


class Ensemble:
    def __init__(self, rates):
        self.members = [optim.GradientDescent(rate).create(parameters()) for rate in rates]

    def __iter__(self):
        return iter(self.members)


class Members(list):
    pass


class AttributeDict(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


def run():
    with ThreadPoolExecutor(2) as pool:
        pooled = [trained.target for trained in pool.map(work, [0.1, 0.2])]
        pooled.append(pool.submit(work, 0.3).result().target)
    iterated = [member.target for member in Ensemble([0.1, 0.2])]
    listed = [one.target for one in Members([optim.Adam(0.1).create(parameters())])]
    state = AttributeDict(last=optim.Adam(0.2).create(parameters()))
    several = [optim.Momentum(rate).create(parameters()) for rate in (0.1, 0.3)]
    asked = list(map(operator.attrgetter("target"), several))
    return pooled, iterated, listed, state["last"].target, asked
