# Stands for: the policy-gradient agents, rollouts and their advantages in one compiled function.
import argparse
import collections
import os
from typing import Any

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from flax import optim
from flax.training import checkpoints
from jax import lax

ENVIRONMENTS, HORIZON, ACTIONS = 16, 12, 3
Rollout = collections.namedtuple("Rollout", "states actions log_probs values rewards")


class ActorCritic(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.tanh(nn.Dense(24, name="hidden")(x))
        kernel = self.param("logits", nn.initializers.orthogonal(0.1), (24, ACTIONS))
        # So that the probabilities are the same on all accelerators.
        logits = lax.dot(x, kernel, lax.Precision.HIGHEST)
        return nn.log_softmax(logits), nn.Dense(1, name="value")(x)[:, 0]


@flax.struct.dataclass
class AgentState:
    optimizer: optim.Optimizer
    target_value: Any
    episodes: int = flax.struct.field(default=0)


def environment_step(position, action):
    """Stay near the middle: a push to the left, none, or a push to the right."""
    velocity = 0.8 * position[:, 1] + 0.2 * (action - 1)
    place = jnp.clip(position[:, 0] + velocity, a_min=-2.0, a_max=2.0)
    return jnp.stack([place, velocity], axis=1), -(place**2)


def collect(params, rng, position):
    def step(carry, key):
        position = carry
        log_probs, values = ActorCritic().apply({"params": params}, position)
        actions = jax.random.categorical(key, log_probs, axis=-1)
        chosen = jnp.take_along_axis(log_probs, actions[:, None], axis=1)[:, 0]
        after, rewards = environment_step(position, actions)
        return after, Rollout(position, actions, chosen, values, rewards)

    return lax.scan(step, position, jax.random.split(rng, HORIZON))


def gae_advantages(rewards, values, discount=0.9, gae_param=0.9):
    def step(advantage, inputs):
        reward, value, value_after = inputs
        advantage = reward + discount * value_after - value + discount * gae_param * advantage
        return advantage, advantage

    _, advantages = lax.scan(
        step, jnp.zeros_like(values[0]), (rewards, values[:-1], values[1:]), reverse=True
    )
    return advantages


def policy_loss(params, batch, clip_param):
    states, actions, old_log_probs, returns, advantages = batch
    log_probs, values = ActorCritic().apply({"params": params}, states)
    chosen = jnp.take_along_axis(log_probs, actions[:, None], axis=1)[:, 0]
    ratios = jnp.exp(chosen - old_log_probs)
    clipped = jnp.clip(ratios, a_min=1.0 - clip_param, a_max=1.0 + clip_param)
    gain = jnp.mean(jnp.minimum(ratios * advantages, clipped * advantages))
    entropy = -jnp.mean(jnp.sum(jnp.exp(log_probs) * log_probs, axis=-1))
    return 0.5 * jnp.mean((returns - values) ** 2) - gain - 0.001 * entropy


@jax.partial(jax.jit, static_argnums=(3,))
def train(state, key, learning_rate, epochs):
    start_key, rollout_key, *epoch_keys = jax.random.split(key, epochs + 2)
    start = jax.random.uniform(start_key, (ENVIRONMENTS, 2), jnp.float32, -1.0, 1.0)
    optimizer = state.optimizer
    last, rollout = collect(optimizer.target, rollout_key, start * jnp.array([1.0, 0.1]))
    _, last_values = ActorCritic().apply({"params": state.target_value}, last)
    values = jnp.concatenate([rollout.values, last_values[None]])
    advantages = gae_advantages(rollout.rewards, values)
    returns = advantages + rollout.values
    normal = (advantages - jnp.mean(advantages)) / (jnp.std(advantages) + 1e-6)
    batch = rollout.states, rollout.actions, rollout.log_probs, returns, normal
    batch = jax.tree_map(lambda x: x.reshape((-1,) + x.shape[2:]), batch)
    for epoch_key in epoch_keys:
        order = jax.random.shuffle(epoch_key, jnp.arange(ENVIRONMENTS * HORIZON))
        for half in jnp.split(order, 2):
            minibatch = jax.tree_map(lambda x, half=half: x[half], batch)
            grad = jax.grad(policy_loss)(optimizer.target, minibatch, 0.2)
            optimizer = optimizer.apply_gradient(grad, learning_rate=learning_rate)
    target = jax.tree_multimap(
        lambda old, new: 0.5 * old + 0.5 * new, state.target_value, optimizer.target
    )
    state = state.replace(
        optimizer=optimizer, target_value=target, episodes=state.episodes + ENVIRONMENTS
    )
    return state, -jnp.mean(rollout.rewards)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--save_every", type=int, default=50)
    args = parser.parse_args()

    rng, init_rng = jax.random.split(jax.random.PRNGKey(0))
    params = jax.jit(ActorCritic().init)(init_rng, jnp.ones((1, 2)))["params"]
    optimizer_def = optim.RMSProp(learning_rate=1e-2, beta2=0.95, eps=1e-3, centered=True)
    state = AgentState(optimizer_def.create(params), params)
    for prefix in ("ppo_", "final_ppo_"):
        state = checkpoints.restore_checkpoint(args.workdir, state, prefix=prefix)
    # Four updates in each step.
    for step in range(int(state.optimizer.state.step) // 4, args.steps):
        fraction = np.clip(1.0 - step / args.steps, a_min=0.05, a_max=None)
        state, loss = train(state, jax.random.fold_in(rng, step), 1e-2 * float(fraction), 2)
        print("step %d loss %.5f" % (step, loss), flush=True)
        if (step + 1) % args.save_every == 0:
            checkpoints.save_checkpoint(
                args.workdir, state, step + 1, prefix="ppo_", keep=2, overwrite=True
            )

    assert int(state.episodes) == args.steps * ENVIRONMENTS
    with open(os.path.join(args.workdir, "final.msgpack"), "wb") as f:
        f.write(flax.serialization.to_bytes(state))


if __name__ == "__main__":
    main()
