from . import names
from .names import optim


def get_optimizer_def(config) -> names.OptimizerDef:
    if config["optimizer"] == "adam":
        return optim.Adam(config["rate"], beta2=config.get("beta2", 0.999))
    if config["optimizer"] == "momentum":
        return names.optim.Momentum(learning_rate=config["rate"], beta=0.8)
    raise ValueError(config["optimizer"])


def create(config, params):
    return get_optimizer_def(config).create(params)
