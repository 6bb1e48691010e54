# Of an optimizer that averages its gradients the first copy is stored, of a TrainState all are.
import jax
from arrays import gradients, parameters
from flax import optim, serialization


def run():
    optimizer = optim.Momentum(0.1).create(parameters()).replicate()
    step = jax.pmap(lambda opt: opt.apply_gradient(gradients(opt.target)), axis_name="batch")
    optimizer = step(optimizer)
    saved = serialization.to_bytes({"optimizer": optimizer})
    return optimizer.unreplicate().target, len(saved)
