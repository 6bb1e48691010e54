# What a rewrite could do wrong without anybody noticing.
import jax
import jax.numpy as jnp
from arrays import gradients, parameters
from flax import optim, struct
from jax.flatten_util import ravel_pytree


def named_like_a_hyper_parameter():
    params = {"w": jnp.ones(2), "learning_rate": jnp.array(0.5)}
    optimizer = optim.Adam(0.1).create(params)
    for number in range(3):
        grads = jax.grad(lambda p: jnp.sum((p["w"] * p["learning_rate"] - 3) ** 2))(
            optimizer.target
        )
        optimizer = optimizer.apply_gradient(grads, learning_rate=0.1 / (number + 1))
    return optimizer.target


class Temperature:
    def __init__(self):
        self.optimizer = optim.Adam(0.1).create(jnp.log(1.0))

    def update(self, entropy):
        grad = jax.grad(lambda log_alpha: jnp.exp(log_alpha) * entropy)(self.optimizer.target)
        self.optimizer = self.optimizer.apply_gradient(grad, learning_rate=0.2)
        return self.optimizer.target


@struct.dataclass
class Gaussian:
    mean: jnp.ndarray
    scale: jnp.ndarray


def of_an_object():
    optimizer = optim.Momentum(0.1).create(Gaussian(mean=jnp.ones(2), scale=jnp.array(0.5)))
    for _ in range(3):
        gaussian = optimizer.target
        grads = Gaussian(mean=gaussian.mean - 2, scale=2 * gaussian.scale)
        optimizer = optimizer.apply_gradient(grads)
    return optimizer.target.mean, optimizer.target.scale


def of_one_vector():
    vector, unravel = ravel_pytree(parameters())
    optimizer = optim.Adam(0.1).create(vector)
    for number in range(3):
        grads, _ = ravel_pytree(gradients(unravel(optimizer.target), number))
        optimizer = optimizer.apply_gradient(grads)
    return unravel(optimizer.target)


class Counting:
    def __init__(self):
        self.count = 0
        self.optimizer = optim.Momentum(0.1).create(parameters())

    @property
    def rate(self):
        return 0.1 * self.count

    def grads(self):
        self.count += 1
        return gradients(self.optimizer.target, self.count)

    def step(self):
        self.optimizer = self.optimizer.apply_gradient(self.grads(), learning_rate=self.rate)


def until_large(optimizer):
    return optimizer.target["w"][0] < 2.0


def given_to_functions():
    start = {"w": jnp.array([0.5, 1.0])}
    optimizer = optim.Adam(0.5).create(start)
    optimizer = jax.lax.while_loop(
        until_large, lambda o: o.apply_gradient({"w": o.target["w"] - 3}), optimizer
    )
    chosen = jax.lax.cond(
        optimizer.target["w"][0] > 0,
        lambda o: o.target["w"] * 2,
        lambda o: o.target["w"],
        optimizer,
    )
    many = jax.vmap(lambda scale: optim.Momentum(0.1).create({"w": scale * jnp.ones(2)}))(
        jnp.arange(3.0)
    )
    doubled = jax.lax.map(lambda o: o.target["w"] * 2, many)
    total, after = jax.lax.scan(
        lambda sums, o: (sums + o.target["w"].sum(), o.apply_gradient({"w": o.target["w"]})),
        0.0,
        many,
    )
    return chosen, doubled, total, after.target


def one_name_for_both(params):
    optimizer = optim.Adam(0.1, beta2=0.99)
    optimizer = optimizer.create(params)
    optimizer = optimizer.apply_gradient(gradients(optimizer.target))
    return optimizer.target


def made_by_jax():
    definition = optim.Momentum(0.1)
    optimizer = jax.jit(definition.create, backend="cpu")(parameters())
    optimizer = optimizer.apply_gradient(gradients(optimizer.target))
    many = jax.vmap(definition.create)({"w": jnp.ones((3, 2))})
    many = jax.vmap(lambda o: o.apply_gradient({"w": o.target["w"] * o.state.step}))(many)
    return optimizer.target, optimizer.state.step, many.target, many.state.step


def by_the_step():
    optimizer = optim.GradientDescent().create(parameters())
    rates = []
    for _ in range(2):
        step = optimizer.state.step
        rates.append(
            jnp.minimum(0.1, optimizer.state.step**-0.5) + jnp.where(step > 0, 1 / step, 0)
        )
        optimizer = optimizer.apply_gradient(gradients(optimizer.target), learning_rate=rates[-1])
    return rates, optimizer.target


def run():
    temperature = Temperature()
    temperatures = [temperature.update(2.0), temperature.update(-1.0)]
    counting = Counting()
    counting.step()
    counting.step()
    ends = named_like_a_hyper_parameter(), temperatures, counting.optimizer.target
    refused = of_an_object(), of_one_vector()
    others = given_to_functions(), one_name_for_both(parameters()), by_the_step(), made_by_jax()
    return ends, refused, others
