# Entries of the dicts of an optimizer, by their names.
from arrays import gradients, parameters
from flax import optim, serialization


def run():
    optimizer = optim.Adam(0.1).create(parameters())
    optimizer = optimizer.apply_gradient(gradients(optimizer.target))
    entries = serialization.to_state_dict(optimizer)
    moment = entries["state"]["param_states"]["scale"]["grad_ema"]
    other = optim.Momentum(0.1).create(parameters())
    step = other.state_dict()["state"]["step"]
    return entries["target"], moment, step
