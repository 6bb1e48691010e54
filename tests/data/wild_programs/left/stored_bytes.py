# Entries of optimizers that are read out of their bytes.
from arrays import gradients, parameters
from flax import optim
from flax.serialization import from_bytes, msgpack_restore, to_bytes


def run():
    optimizer = optim.Adam(0.1).create(parameters())
    optimizer = optimizer.apply_gradient(gradients(optimizer.target))
    state = msgpack_restore(to_bytes(optimizer))["state"]
    other = optim.Momentum(0.1).create(parameters())
    entries = from_bytes(None, to_bytes({"optimizer": other, "epoch": 3}))
    return state["param_states"]["scale"]["grad_ema"], entries["optimizer"]["target"]
