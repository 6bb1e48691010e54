"""Optimizers for images."""

from flax import optim


def is_decayed(path, _):
    return "bn" not in path and "bias" not in path and "BatchNorm" not in path


def get_optimizer(hparams):
    name = hparams["optimizer"].lower()
    if name == "momentum":
        return optim.Momentum(beta=hparams.get("momentum", 0.9), nesterov=True)
    if name == "lars":
        return optim.LARS(beta=0.9, weight_decay=hparams["weight_decay"], eps=1e-6)
    if name == "decayed":
        decayed = optim.ModelParamTraversal(is_decayed)
        others = optim.ModelParamTraversal(lambda path, leaf: not is_decayed(path, leaf))
        return optim.MultiOptimizer(
            (decayed, optim.Momentum(beta=0.9, weight_decay=hparams["weight_decay"])),
            (others, optim.Momentum(beta=0.9)),
        )
    raise NotImplementedError("Optimizer {} not implemented".format(name))
