# A state with an optimizer in it, which something that is not read takes apart.
import operator

import flax
from arrays import gradients, parameters
from flax import optim


@flax.struct.dataclass
class State:
    optimizer: optim.Optimizer


def run():
    state = State(optim.GradientDescent(0.25).create(parameters()))
    get_target = operator.attrgetter("optimizer.target")
    for number in range(2):
        grads = gradients(get_target(state), number)
        state = state.replace(optimizer=state.optimizer.apply_gradient(grads))
    return get_target(state)
