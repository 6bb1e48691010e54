from typing import Any

import flax
import jax
import jax.numpy as jnp
from flax import jax_utils
from flax.training import checkpoints


@flax.struct.dataclass
class TrainState:
    """All that training changes."""

    global_step: int
    optimizer: flax.optim.Optimizer
    model_state: Any
    rng: Any
    ema_params: Any = None
    best_loss: float = jnp.inf


def pmap_mean(tree):
    return jax.pmap(lambda x: jax.lax.pmean(x, "i"), axis_name="i")(tree)


def sync_batch_stats(state: TrainState) -> TrainState:
    if not state.model_state:
        return state
    return state.replace(model_state=pmap_mean(state.model_state))


def save_checkpoint(workdir, state, keep=2):
    if jax.host_id() != 0:
        return None
    state = jax.device_get(jax_utils.unreplicate(sync_batch_stats(state)))
    return checkpoints.save_checkpoint(workdir, state, int(state.global_step), keep=keep)


def restore_checkpoint(workdir, state):
    return checkpoints.restore_checkpoint(workdir, state)


def pretrained_params(workdir, state):
    """The parameters of another run, without the rest of its state."""
    restored = checkpoints.restore_checkpoint(workdir, state)
    return jax.tree_map(jnp.asarray, restored.optimizer.target)


def param_count(state):
    return sum(x.size for x in jax.tree_leaves(state.optimizer.target))
