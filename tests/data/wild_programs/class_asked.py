# The class of a definition, for a log and for a decision.
from arrays import gradients, parameters
from flax import optim


def run():
    definition = optim.Adam(0.1)
    optimizer = definition.create(parameters())
    optimizer = optimizer.apply_gradient(gradients(optimizer.target))
    decayed = optim.LAMB(0.1, weight_decay=0.1)
    excludes = isinstance(decayed, (optim.LAMB, optim.Adafactor))
    other = decayed.create(parameters()).apply_gradient(gradients(parameters()))
    is_adam = type(definition).__name__ == "Adam"
    return is_adam, optimizer.target, excludes, other.target
