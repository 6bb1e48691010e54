# A package of several files that hand optimizers, and names of flax.optim, to each other.
from .training import run

__all__ = ["run"]
