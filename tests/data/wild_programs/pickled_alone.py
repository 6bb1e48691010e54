# Nothing but the optimizer is pickled, and a name holds what is loaded after it held the TrainState.
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
