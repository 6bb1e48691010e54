# Several definitions in one, by variables, in a line, and with a focus.
import jax
from arrays import gradients, parameters
from flax import optim, traverse_util

kernels = optim.ModelParamTraversal(lambda path, _: "kernel" in path)
others = traverse_util.ModelParamTraversal(lambda path, _: "kernel" not in path)


def by_variables(rate):
    kernel_opt = optim.Momentum(learning_rate=rate, beta=0.5, weight_decay=0.1)
    other_opt = optim.Momentum(learning_rate=2 * rate)
    optimizer_def = optim.MultiOptimizer((kernels, kernel_opt), (others, other_opt))
    return optimizer_def.create(parameters())


def in_a_line():
    return optim.MultiOptimizer(
        (optim.ModelParamTraversal(lambda p, v: "dense" in p), optim.Adam(learning_rate=0.01)),
        # the scale is left as it is
    ).create(parameters())


def focused():
    bias = optim.ModelParamTraversal(lambda path, _: path.endswith("bias"))
    return optim.GradientDescent(learning_rate=0.5).create(parameters(), focus=bias)


@jax.jit
def step_of(optimizer):
    return optimizer.apply_gradient(gradients(optimizer.target))


@jax.jit
def step_with_rate(optimizer, rate):
    return optimizer.apply_gradient(gradients(optimizer.target), learning_rate=rate)


def run():
    found = []
    for optimizer in (by_variables(0.1), in_a_line(), focused()):
        for _ in range(2):
            optimizer = step_of(optimizer)
        found.append(optimizer.target)
    rated = optim.MultiOptimizer(
        (kernels, optim.GradientDescent()), (others, optim.Momentum(beta=0.25))
    ).create(parameters())
    for rate in (0.1, 0.05):
        rated = step_with_rate(rated, rate)
    return found, rated.target
