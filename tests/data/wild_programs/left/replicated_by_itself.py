# An optimizer that averages its gradients over the devices.
import jax
from arrays import gradients, parameters
from flax import optim


def run():
    optimizer = optim.Momentum(0.1).create(parameters()).replicate()
    step = jax.pmap(lambda opt: opt.apply_gradient(gradients(opt.target)), axis_name="batch")
    optimizer = step(optimizer).unreplicate()
    return optimizer.target, optimizer.state.step
