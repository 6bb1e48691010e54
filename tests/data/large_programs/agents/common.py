"""What all agents share."""

import collections
from typing import Any, Callable, Dict, Sequence, Tuple

import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax import optim

Batch = collections.namedtuple(
    "Batch", ["observations", "actions", "rewards", "masks", "next_observations"]
)
InfoDict = Dict[str, float]


def target_update(params, target_params, tau: float):
    return jax.tree_multimap(lambda p, tp: p * tau + tp * (1 - tau), params, target_params)


@flax.struct.dataclass
class Model:
    """A network, and the optimizer that has its parameters."""

    apply_fn: Callable[..., Any] = flax.struct.field(pytree_node=False)
    optimizer: optim.Optimizer
    updates: int = 0

    @classmethod
    def create(cls, model_def: nn.Module, inputs: Sequence[jnp.ndarray], optimizer_def) -> "Model":
        variables = jax.jit(model_def.init)(*inputs)
        optimizer = optimizer_def.create(variables["params"])
        return cls(apply_fn=model_def.apply, optimizer=optimizer)

    @property
    def params(self):
        return self.optimizer.target

    def __call__(self, *args, **kwargs):
        return self.apply_fn({"params": self.optimizer.target}, *args, **kwargs)

    def apply(self, params, *args, **kwargs):
        return self.apply_fn({"params": params}, *args, **kwargs)

    def apply_loss(self, loss_fn) -> Tuple["Model", InfoDict]:
        grad_fn = jax.grad(loss_fn, has_aux=True)
        grads, info = grad_fn(self.optimizer.target)
        new_optimizer = self.optimizer.apply_gradient(grads)
        return self.replace(optimizer=new_optimizer, updates=self.updates + 1), info


class Agent:
    """The base class of agents."""

    name = "agent"

    def __init__(self, seed: int, discount: float = 0.9, tau: float = 0.05):
        self.rng = jax.random.PRNGKey(seed)
        self.discount = discount
        self.tau = tau
        self.history = []

    def split(self, number: int = 2):
        self.rng, *keys = jax.random.split(self.rng, number)
        return keys[0] if len(keys) == 1 else keys

    def update(self, batch: Batch) -> InfoDict:
        raise NotImplementedError

    def learn(self, buffer, steps: int, batch_size: int = 16):
        for step in range(steps):
            info = jax.tree_map(np.asarray, jax.device_get(self.update(buffer.sample(batch_size))))
            self.history.append(float(info["critic_loss"]))
            print("%s step %d loss %.5f" % (self.name, step, self.history[-1]), flush=True)
        return self
