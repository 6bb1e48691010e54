# The functions that a TrainState has from optax cannot be pickled.
import io
import pickle

from arrays import gradients, parameters
from flax import optim


class Work:
    def __init__(self):
        self.optimizer = optim.Adam(learning_rate=0.1).create(parameters())

    def step(self):
        self.optimizer = self.optimizer.apply_gradient(gradients(self.optimizer.target))

    def save(self, file):
        pickle.dump(self, file)


def saved_whole():
    work = Work()
    work.step()
    file = io.BytesIO()
    work.save(file)
    file.seek(0)
    return pickle.load(file).optimizer.target


def run():
    optimizer = optim.Momentum(learning_rate=0.1).create(parameters())
    optimizer = optimizer.apply_gradient(gradients(optimizer.target))
    saved = pickle.dumps({"optimizer": optimizer})
    optimizer = optimizer.apply_gradient(gradients(optimizer.target))
    return optimizer.target, pickle.loads(saved)["optimizer"].target, saved_whole()
