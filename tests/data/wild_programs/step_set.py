# A step that is set, of an optimizer whose rate is given to every step.
from arrays import gradients, parameters
from flax import optim


def run():
    optimizer = optim.AdaBelief().create(parameters())
    for step in (3, 12):
        optimizer = optimizer.replace(state=optimizer.state.replace(step=step))
        optimizer = optimizer.apply_gradient(gradients(optimizer.target), learning_rate=0.1)
    return optimizer.target
