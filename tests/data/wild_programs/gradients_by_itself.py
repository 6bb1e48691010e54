# Optimizers that compute gradients themselves, with and without another result.
import jax
from arrays import loss_of, parameters
from flax import optim


def run():
    optimizer = optim.Momentum(0.1).create(parameters())
    losses = []
    for _ in range(2):
        loss, grad = optimizer.compute_gradient(loss_of)
        optimizer = optimizer.apply_gradient(grad)
        losses.append(loss)

    def with_more(params):
        loss = loss_of(params)
        return loss, (2 * loss, params["scale"])

    loss, aux, grad = optimizer.compute_gradient(with_more)
    optimizer = optimizer.apply_gradient(grad)
    value_and_grad = jax.value_and_grad(loss_of)
    last, grad = value_and_grad(optimizer.target)
    return optimizer.apply_gradient(grads=grad).target, losses, loss, aux, last
