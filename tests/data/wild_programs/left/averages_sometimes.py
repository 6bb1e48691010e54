# A step that is done by an optimizer before it averages its gradients, and after.
import jax
from arrays import gradients, parameters
from flax import optim


def train_step(optimizer):
    return optimizer.apply_gradient(gradients(optimizer.target))


def run():
    optimizer = train_step(optim.Momentum(0.1).create(parameters()))
    optimizer = optimizer.replicate()
    return jax.pmap(train_step, axis_name="batch")(optimizer).unreplicate().target
