# A traversal that replaces parameters of an optimizer, and hyper-parameters as an object.
from arrays import gradients, parameters
from flax import optim


def run():
    scales = optim.ModelParamTraversal(lambda path, _: path == "/scale")
    optimizer = optim.Momentum(learning_rate=0.1).create(parameters())
    optimizer = optimizer.replace(target=scales.update(lambda x: 2 * x, optimizer.target))
    hyper_params = optimizer.optimizer_def.hyper_params.replace(beta=0.5)
    optimizer = optimizer.apply_gradient(gradients(optimizer.target), hyper_params=hyper_params)
    return optimizer.target
