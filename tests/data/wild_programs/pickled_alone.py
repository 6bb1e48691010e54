# Only the optimizer is pickled, and one name holds first the TrainState, then what is loaded.
import pickle

from arrays import gradients, parameters
from flax import optim


def run():
    optimizer = optim.Adam(learning_rate=0.1).create(parameters())
    for _ in range(3):
        optimizer = optimizer.apply_gradient(gradients(optimizer.target))
    saved = pickle.dumps(optimizer)
    optimizer = optimizer.apply_gradient(gradients(optimizer.target))
    last = optimizer.target
    optimizer = pickle.loads(saved)
    step = optimizer.state.step
    return last, optimizer.target, step
