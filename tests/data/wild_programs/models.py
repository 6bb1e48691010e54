# Parts of a model of flax.nn, selected by their whole paths.
from arrays import gradients, parameters
from flax import nn, optim


def is_kernel(path, _):
    return path in ["/dense/kernel"]


def run():
    kernels = optim.ModelParamTraversal(is_kernel)
    others = optim.ModelParamTraversal(lambda path, _: not is_kernel(path, _))
    focused = optim.Momentum(0.1).create(nn.Model(None, parameters()), focus=kernels)
    both = optim.MultiOptimizer((kernels, optim.Adam(0.1)), (others, optim.GradientDescent(0.2)))
    several = both.create(nn.Model(None, parameters()))
    for number in range(3):
        model = focused.target
        focused = focused.apply_gradient(model.replace(params=gradients(model.params, number)))
        model = several.target
        several = several.apply_gradient(model.replace(params=gradients(model.params, number)))
    return focused.target.params, several.target.params
