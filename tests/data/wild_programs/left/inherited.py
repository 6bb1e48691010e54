# What Python calls of a class meets the optimizers of all that are derived from it.
import pickle

from arrays import gradients, parameters
from flax import optim


class Agent:
    @property
    def params(self):
        return self.optimizer.target

    def __iter__(self):
        yield from sorted(self.optimizer.target)


class Trained(Agent):
    pass


class Learner(Trained):
    def __init__(self):
        self.optimizer = optim.Adam(0.1).create(parameters())

    def update(self):
        self.optimizer = self.optimizer.apply_gradient(gradients(self.params))


class Kept(Trained):
    def __init__(self):
        self.optimizer = optim.Momentum(0.1).create(parameters())

    def copied(self):
        self.optimizer = pickle.loads(pickle.dumps(self.optimizer))
        return self.optimizer.target


def run():
    learner, kept = Learner(), Kept()
    learner.update()
    assert list(learner) == list(kept)
    return learner.params, kept.copied()
