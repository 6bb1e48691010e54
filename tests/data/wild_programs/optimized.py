# Gradient and step in one call, as the first programs had it.
import jax
import jax.numpy as jnp
from arrays import loss_of, parameters
from flax import optim


def with_outputs(params):
    return loss_of(params), (params["scale"] * 2.0, jnp.sum(params["dense"]["bias"]))


@jax.jit
def train_step(optimizer, rate):
    new_optimizer, _, (doubled, total) = optimizer.optimize(
        with_outputs,
        learning_rate=rate / (1 + optimizer.state.step),  # less and less
    )
    return new_optimizer, {"doubled": doubled, "total": total}


class Trainer:
    def __init__(self):
        self.optimizer = optim.Adam(0.01).create(parameters())
        self.losses = []

    def step(self):
        self.optimizer, loss = self.optimizer.optimize(loss_fn=lambda params: loss_of(params))
        self.losses.append(loss)


def with_own_decay(grads):
    optimizer = optim.Adam(0.01, beta2=0.9).create(parameters())
    for beta2 in (0.9, 0.99):
        optimizer, loss = optimizer.optimize(loss_of, beta2=beta2)
        optimizer, grads[beta2] = optimizer.optimize(loss_of)
    return optimizer.target, loss, grads


def replicated():
    def loss_fn(params):
        return loss_of(params) * (1 + jax.lax.axis_index("batch"))

    def step(optimizer):
        optimizer, loss = optimizer.optimize(loss_fn)
        return optimizer, loss

    optimizer = optim.GradientDescent(0.1).create(parameters())
    optimizer = optimizer.replicate()
    optimizer, losses = jax.pmap(step, axis_name="batch")(optimizer)
    return optimizer.unreplicate().target, losses


def run():
    optimizer = optim.Momentum().create(parameters())
    for _ in range(3):
        optimizer, metrics = train_step(optimizer, 0.1)
    trainer = Trainer()
    trainer.step()
    trainer.step()
    ends = trainer.optimizer.target, trainer.losses
    return optimizer.target, metrics, ends, list(with_own_decay({})), replicated()
