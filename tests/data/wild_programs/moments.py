# Programs that look into the state of an optimizer, and change it.
import jax
import jax.numpy as jnp
from arrays import gradients, parameters
from flax import optim


@jax.jit
def step_of(optimizer):
    return optimizer.apply_gradient(gradients(optimizer.target))


def forget(optimizer, name):
    states = dict(optimizer.state.param_states)
    states[name] = jax.tree_map(jnp.zeros_like, states[name])
    return optimizer.replace(state=optimizer.state.replace(param_states=states))


def run():
    optimizer = optim.Adam(learning_rate=0.1).create(parameters())
    optimizer = step_of(step_of(optimizer))
    seen = optimizer.state.param_states["scale"].grad_ema
    optimizer = step_of(forget(optimizer, "scale"))
    rate = optimizer.optimizer_def.hyper_params.learning_rate
    return optimizer.target, seen, rate, optimizer.state.param_states["dense"]["bias"].grad_sq_ema
