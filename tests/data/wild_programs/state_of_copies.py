# The state of an optimizer that averages its gradients is read, also by who allows for older Flax.
import jax
import jax.numpy as jnp
from arrays import gradients, parameters
from flax import optim


def take_step(optimizer, shift):
    if isinstance(optimizer.state, (list, tuple)):
        step = optimizer.state[0].step
    else:
        step = optimizer.state.step
    grads = gradients(optimizer.target, shift)
    return optimizer.apply_gradient(grads, learning_rate=0.1 / (step + 1))


def run():
    optimizer = optim.Momentum(beta=0.5).create(parameters())
    optimizer = optimizer.replicate()
    train_step = jax.pmap(take_step, axis_name="batch")
    for _ in range(3):
        optimizer = train_step(optimizer, jnp.arange(float(jax.local_device_count())))
    momentum = optimizer.state.param_states["scale"].momentum
    return momentum, optimizer.state.step, optimizer.unreplicate().target
