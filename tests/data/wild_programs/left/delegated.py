# An optimizer behind an object that hands on all that it is asked for.
from arrays import gradients, parameters
from flax import optim


class Learner:
    def __init__(self):
        self.learned = optim.Adam(0.1).create(parameters())

    def update(self):
        self.learned = self.learned.apply_gradient(gradients(self.learned.target))


class Monitored:
    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)


def run():
    learner = Monitored(Learner())
    learner.update()
    params = learner.learned.target
    return params
