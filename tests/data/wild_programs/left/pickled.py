# The functions that a TrainState has from optax cannot be pickled.
import pickle

from arrays import gradients, parameters
from flax import optim


def run():
    optimizer = optim.Momentum(learning_rate=0.1).create(parameters())
    optimizer = optimizer.apply_gradient(gradients(optimizer.target))
    saved = pickle.dumps({"optimizer": optimizer})
    optimizer = optimizer.apply_gradient(gradients(optimizer.target))
    return optimizer.target, pickle.loads(saved)["optimizer"].target
