# Parameters that are put into the nested dicts of a checkpoint.
from arrays import gradients, parameters
from flax import optim, serialization


def extended(optimizer, saved):
    entries = serialization.msgpack_restore(saved)
    entries["target"]["scale"] = optimizer.target["scale"]
    return serialization.from_state_dict(optimizer, entries)


def run():
    old = optim.Adam(0.1).create(parameters())
    saved = serialization.to_bytes(old.apply_gradient(gradients(old.target)))
    new = extended(optim.Adam(0.1).create(parameters()), saved)
    return new.target, new.state.step
