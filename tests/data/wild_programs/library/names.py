from flax import optim
from flax.optim import Optimizer, OptimizerDef

__all__ = ["Optimizer", "OptimizerDef", "optim"]
