# The same module under all the names that programs had for it.
import flax
import flax.optim as fo
import jax
from arrays import gradients, parameters
from flax import optim as optimizers
from flax.optim import Adam as WithMoments
from flax.optim.momentum import Momentum as Heavy

Plain = optimizers.GradientDescent
adam_class = flax.optim.Adam


@jax.jit
def step_of(opt):
    return opt.apply_gradient(gradients(opt.target))


def run():
    made = [
        optimizers.Momentum(learning_rate=0.1, beta=0.5),
        WithMoments(0.01, beta1=0.8),
        flax.optim.Adam(1e-2, eps=1e-7),
        fo.RMSProp(learning_rate=0.01),
        Heavy(0.1, nesterov=True),
        Plain(0.25),
        adam_class(learning_rate=0.02),
    ]
    results = []
    for definition in made:
        opt = definition.create(parameters())
        for _ in range(3):
            opt = step_of(opt)
        results.append(opt.target)
    return results
