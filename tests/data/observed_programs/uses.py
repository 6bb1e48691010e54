# The comments at the ends of lines say what is asked of an optimizer or a definition there, or
# that a definition is made: what a run of this program has to see.
import dataclasses
import functools
import multiprocessing

import jax
import jax.numpy as jnp
from flax import jax_utils, optim
from flaxoptim_compat import dual

PARAMS = {"é": jnp.ones(2)}


class Own(optim.OptimizerDef):
    def __init__(self, rate):
        super().__init__({"rate": rate})

    def init_param_state(self, param):
        return ()

    def apply_param_gradient(self, step, hyper_params, param, state, grad):
        return param - hyper_params["rate"] * grad, state


@dataclasses.dataclass
class Held:
    optimizer: optim.Optimizer


class Agent:
    def __init__(self):
        first = optim.Adam(0.1)  # made
        self.first = first.create(PARAMS)  # first.create
        self.é = optim.Adam(0.1).create(PARAMS)  # made; optim.Adam(0.1).create
        self.held = Held(
            optim.Momentum(0.1).create(PARAMS)  # made; optim.Momentum(0.1).create
        )

    def step(self):
        self.first = step(self.first)
        self.é = step(self.é)
        held, é = self.held, self.é
        found = held.optimizer.target, é.state  # held.optimizer.target; é.state
        return found, hasattr(self.first, "target"), self.é.state  # self.first.target; self.é.state


@jax.jit
def step(optimizer):
    grads = jax.grad(lambda params: params["é"].sum())(optimizer.target)  # optimizer.target
    return optimizer.apply_gradient(grads)  # optimizer.apply_gradient


@functools.partial(jax.pmap, axis_name="batch")
def on_devices(optimizer):
    grads = optimizer.target  # optimizer.target
    return optimizer.apply_gradient(grads, learning_rate=0.1)  # optimizer.apply_gradient


def scanned(optimizer):
    def body(carry, _):
        return carry.apply_gradient(PARAMS), None  # carry.apply_gradient

    return jax.lax.scan(body, optimizer, jnp.arange(3))[0]


def in_both_dialects():
    state = dual(optim.Adam(0.1)).create(PARAMS)  # made; dual(optim.Adam(0.1)).create
    state = state.apply_gradients(grads=state.params)
    state = state.replace(step=state.step, params=state.target)  # state.target
    state = state.replace(target=PARAMS)  # state.replace
    return state.apply_gradient(PARAMS)  # state.apply_gradient


def in_child():
    definition = optim.GradientDescent(0.1)  # made
    print(definition.create(PARAMS).target)  # definition.create; definition.create(PARAMS).target


def main():
    Agent().step()
    make = functools.partial(optim.RMSProp, learning_rate=0.1)
    made = make()  # made
    on_devices(jax_utils.replicate(made.create(PARAMS)))  # made.create
    part = optim.ModelParamTraversal(lambda path, _: True), Own(0.1)  # made
    whole = optim.MultiOptimizer(part)  # made
    scanned(whole.create(PARAMS))  # whole.create
    dataclasses.replace(Agent().first, target=PARAMS)  # not understood
    in_both_dialects()
    child = multiprocessing.get_context("spawn").Process(target=in_child)
    child.start()
    child.join()
    assert child.exitcode == 0


if __name__ == "__main__":
    main()
