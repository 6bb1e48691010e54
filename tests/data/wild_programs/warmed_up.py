# Rate and weight decay of the first steps, and neither of the later ones.
from arrays import gradients, parameters
from flax import optim


def run():
    optimizer = optim.Adam(0.1, weight_decay=0.1).create(parameters())
    for number in range(3):
        grads = gradients(optimizer.target)
        optimizer = optimizer.apply_gradient(grads, learning_rate=0.01, weight_decay=0.1 * number)
    for number in range(2):
        optimizer = optimizer.apply_gradient(gradients(optimizer.target, number))
    return optimizer.target
