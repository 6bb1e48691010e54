# Optimizers that come out of code that is not followed.
import operator

from arrays import parameters
from flax import optim


def run():
    several = [optim.Momentum(rate).create(parameters()) for rate in (0.1, 0.3)]
    return list(map(operator.attrgetter("target"), several))
