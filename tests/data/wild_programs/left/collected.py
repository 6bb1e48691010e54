# Dicts, lists, named tuples and comprehensions of optimizers.
import collections
from typing import Any, NamedTuple

import jax
from arrays import gradients, parameters
from flax import optim


class Agent(NamedTuple):
    """Two of them."""

    actor: Any
    critic: optim.Optimizer
    target: Any


Pair = collections.namedtuple("Pair", "first second count")


def updated(optimizer, number):
    return optimizer.apply_gradient(gradients(optimizer.target, number))


@jax.jit
def update(agent, number):
    critic = updated(agent.critic, number)
    actor = updated(agent.actor, number)
    averaged = jax.tree_multimap(lambda p, t: 0.5 * p + 0.5 * t, critic.target, agent.target)
    return agent._replace(actor=actor, critic=critic, target=averaged)


def paired():
    pair = Pair(optim.Adam(0.1).create(parameters()), second=None, count=0)
    pair = pair._replace(second=optim.Momentum(0.1).create(parameters()))
    for number in range(3):
        first, second, count = pair
        pair = Pair(updated(first, number), updated(second, number), count + 1)
    return [each.target for each in pair[:2]], pair._asdict()["first"].target, pair[1].target


def run():
    several = {
        "first": optim.Momentum(0.1).create(parameters()),
        "second": optim.Adam(0.01, weight_decay=0.1).create(parameters()),
    }
    for number in range(3):
        several = {name: updated(opt, number) for name, opt in several.items()}
    ones = [optim.GradientDescent(rate).create(parameters()) for rate in (0.5, 0.25)]
    for index, one in enumerate(ones):
        ones[index] = updated(one, index)
    agent = Agent(
        actor=optim.Adam(1e-2).create(parameters()),
        critic=optim.Adam(learning_rate=2e-2).create(parameters()),
        target=parameters(),
    )
    for number in range(3):
        agent = update(agent, number)
    return (
        several["first"].target,
        several["second"].target,
        [one.target for one in ones],
        agent.actor.target,
        agent.critic.target,
        agent.target,
        paired(),
    )
