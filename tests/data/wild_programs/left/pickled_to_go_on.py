# FOC219 other-use
# Steps go on with what is loaded, which is an optimizer and no TrainState.
import pickle

from arrays import gradients, parameters
from flax import optim


def stepped(optimizer):
    return optimizer.apply_gradient(gradients(optimizer.target))


def run():
    optimizer = stepped(optim.Momentum(learning_rate=0.1).create(parameters()))
    optimizer = stepped(pickle.loads(pickle.dumps(optimizer)))
    return optimizer.target
