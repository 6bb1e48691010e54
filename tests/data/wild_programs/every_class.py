# Every class once, with arguments that are not the defaults.
import jax
from arrays import gradients, parameters
from flax import optim


@jax.jit
def step_of(optimizer):
    return optimizer.apply_gradient(gradients(optimizer.target, 1))


def run():
    made = {
        "adabelief": optim.AdaBelief(0.01, weight_decay=0.1).create(parameters()),
        "adadelta": optim.Adadelta(learning_rate=0.5, rho=0.8).create(parameters()),
        "adafactor": optim.Adafactor(0.1, beta1=0.5).create(parameters()),
        "adagrad": optim.Adagrad(0.1, eps=1e-6).create(parameters()),
        "adam": optim.Adam(0.01, 0.8, 0.99, 1e-6, 0.1).create(parameters()),
        "gradient_descent": optim.GradientDescent(learning_rate=0.2).create(parameters()),
        "lamb": optim.LAMB(0.1, weight_decay=0.01).create(parameters()),
        "lars": optim.LARS(0.1, trust_coefficient=0.01).create(parameters()),
        "momentum": optim.Momentum(0.1, 0.8, nesterov=True).create(parameters()),
        "rmsprop": optim.RMSProp(0.01, centered=True).create(parameters()),
        "weight_norm": optim.WeightNorm(optim.Momentum(0.1)).create(parameters()),
    }
    for _ in range(3):
        made = {name: step_of(optimizer) for name, optimizer in made.items()}
    return {name: optimizer.target for name, optimizer in made.items()}
