# Definitions that have no learning rate, or none yet.
from arrays import gradients, parameters
from flax import optim


def initial(params):
    return optim.Adam(beta1=0.8).create(params).target


class Trainer:
    def __init__(self, params):
        self.optimizer = optim.Momentum(beta=0.8).create(params)

    def step(self, **overrides):
        grads = gradients(self.optimizer.target)
        self.optimizer = self.optimizer.apply_gradient(grads, **overrides)


def by_definition(optimizer, rate):
    definition = optimizer.optimizer_def
    hyper_params = definition.update_hyper_params(learning_rate=rate)
    grads = gradients(optimizer.target)
    target, state = definition.apply_gradient(
        hyper_params, optimizer.target, optimizer.state, grads
    )
    return optimizer.replace(target=target, state=state)


def later(params, learning_rate=None):
    return optim.Adam(learning_rate, beta1=0.8).create(params)


def run():
    trainer = Trainer(parameters())
    trainer.step(learning_rate=0.1)
    trainer.step(learning_rate=0.05)

    stepped = optim.RMSProp(beta2=0.8).create(parameters())
    for number in range(2):
        stepped = by_definition(stepped, 0.1 / (number + 1))

    given = later(parameters())
    for number in range(2):
        given = given.apply_gradient(gradients(given.target), learning_rate=0.1 / (number + 1))
    return initial(parameters()), trainer.optimizer.target, stepped.target, given.target
