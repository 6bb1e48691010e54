import flax


@flax.struct.dataclass
class State:
    optimizer: flax.optim.Optimizer
