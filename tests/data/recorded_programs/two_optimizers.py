"""Two networks with an optimizer each, in the manner of a GAN; the first is trained twice."""

import jax
import jax.numpy as jnp

try:
    from flax import optim
except ImportError:
    from flaxoptim_compat import optim

# They begin with the same parameters, which only the values that they get later tell apart.
critic = optim.Momentum(learning_rate=0.1).create({"w": jnp.ones(3)})
generator = optim.Adam(learning_rate=0.1).create({"w": jnp.ones(3)})


@jax.jit
def update(optimizer, scale):
    grads = jax.grad(lambda params: scale * jnp.sum(params["w"] ** 3))(optimizer.target)
    return optimizer.apply_gradient(grads)


def step(i):
    global critic, generator
    critic = update(critic, 0.5)
    critic = update(critic, 0.25)
    generator = update(generator, 1.0 + i)
