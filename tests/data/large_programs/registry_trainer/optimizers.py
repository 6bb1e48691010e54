"""Optimizers by their names in a config."""

import functools

import flax
from flax import optim

from registry_trainer.registry import OPTIMIZERS


@OPTIMIZERS.register("adam")
def adam(config):
    return optim.Adam(config.learning_rate, beta1=config.beta1, beta2=config.beta2)


@OPTIMIZERS.register("adamw", "adam_with_decay")
def adamw(config):
    return optim.Adam(
        config.learning_rate,
        beta1=config.beta1,
        beta2=config.beta2,
        weight_decay=config.weight_decay,
    )


@OPTIMIZERS.register("momentum")
def momentum(config, nesterov=False):
    return flax.optim.Momentum(
        learning_rate=config.learning_rate,
        beta=getattr(config, "beta", 0.9),
        weight_decay=config.weight_decay,
        nesterov=nesterov,
    )


OPTIMIZERS.register("nesterov")(functools.partial(momentum, nesterov=True))


@OPTIMIZERS.register("lamb")
def lamb(config):
    kwargs = dict(weight_decay=config.weight_decay, beta1=config.beta1, beta2=config.beta2)
    return optim.LAMB(learning_rate=config.learning_rate, **kwargs)


def _by_rate(optimizer_class):
    return lambda config: optimizer_class(learning_rate=config.learning_rate)


OPTIMIZERS.register_all(
    {
        "sgd": _by_rate(optim.GradientDescent),
        "gradient_descent": _by_rate(optim.GradientDescent),
        "rmsprop": _by_rate(optim.RMSProp),
        "adagrad": _by_rate(optim.Adagrad),
        "lars": _by_rate(optim.LARS),
    }
)


def get_optimizer_def(config):
    if config.name not in OPTIMIZERS:
        raise ValueError("unknown optimizer: " + config.name)
    return OPTIMIZERS.get(config.name)(config)


def create_optimizer(config, params):
    optimizer_def = get_optimizer_def(config.optimizer)
    optimizer = optimizer_def.create(params)
    return optimizer
