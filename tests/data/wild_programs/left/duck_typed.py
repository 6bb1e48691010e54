# Optimizers that are told by what they have, and entries of their state dicts.
from arrays import gradients, parameters
from flax import optim, serialization


def params_of(model):
    return model.target if hasattr(model, "target") else model


def step(model, grads):
    if hasattr(model, "apply_gradient"):
        return model.apply_gradient(grads)
    return model


def warm_started(optimizer, params):
    entries = serialization.to_state_dict(optimizer)
    if "target" in entries:
        entries["target"] = serialization.to_state_dict(params)
    return serialization.from_state_dict(optimizer, entries)


def run():
    optimizer = optim.Momentum(0.1).create(parameters())
    trained = params_of(step(optimizer, gradients(optimizer.target)))
    optimizer = warm_started(optim.Adam(0.1).create(parameters()), trained)
    optimizer = step(optimizer, gradients(getattr(optimizer, "target")))
    return trained, params_of(optimizer), params_of(trained), step(trained, None)
