# Stands for: PPO before Linen, one module with a shared trunk, and a value and a policy on top.
import argparse
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import nn, optim, serialization
from flax.training import checkpoints

ACTIONS = 3


class Trunk(nn.Module):
    def apply(self, x, sizes):
        for size in sizes:
            x = nn.tanh(nn.Dense(x, size, kernel_init=nn.initializers.orthogonal(2**0.5)))
        return x


class ActorCritic(nn.Module):
    def apply(self, x, last=None, sizes=(16, 16)):
        trunk = Trunk.shared(sizes=sizes, name="trunk")
        head = nn.Dense.partial(kernel_init=nn.initializers.orthogonal(0.01))
        hidden = trunk(x)
        value = head(hidden, features=1, name="value")
        logits = head(hidden, features=ACTIONS, name="logits")
        # The same trunk sees what came before.
        before = 0.0 if last is None else head(trunk(last), features=1, name="before")
        return nn.log_softmax(logits), value[..., 0], before


@functools.partial(jax.jit, static_argnums=(2,))
def train_step(optimizer, batch, clip, rate):
    states, lasts, actions, old_log_p, returns = batch

    def loss_fn(model):
        log_p, values, before = model(states, lasts)
        ratios = jnp.exp(jax.vmap(lambda row, a: row[a])(log_p, actions) - old_log_p)
        advantages = (returns - returns.mean()) / (returns.std() + 1e-8)
        clipped = advantages * jnp.clip(ratios, 1.0 - clip, 1.0 + clip)
        policy_loss = -jnp.mean(jnp.minimum(ratios * advantages, clipped))
        entropy = jnp.sum(-jnp.exp(log_p) * log_p, axis=1).mean()
        value_loss = jnp.mean((returns - values) ** 2) + jnp.mean(before**2)
        return policy_loss + 0.5 * value_loss - 0.01 * entropy

    loss, grad = jax.value_and_grad(loss_fn)(optimizer.target)
    return optimizer.apply_gradient(grad, learning_rate=rate), loss


def get_batch(step):
    rng = np.random.RandomState(step)
    states = rng.randn(64, 5).astype(np.float32)
    actions = rng.randint(ACTIONS, size=64)
    returns = (states[:, 0] + states[:, 1] * (actions - 1) + 2.0).astype(np.float32)
    lasts = np.roll(states, 1, axis=0)
    return states, lasts, actions, np.full(64, -np.log(ACTIONS), np.float32), returns


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--save_every", type=int)
    args = parser.parse_args()
    states, lasts, *_ = get_batch(0)
    _, params = ActorCritic.init(jax.random.PRNGKey(0), states, lasts)
    model = nn.Model(ActorCritic, params)
    optimizer = optim.GradientDescent(learning_rate=0.1).create(model)
    optimizer = checkpoints.restore_checkpoint(args.workdir, optimizer)
    for step in range(int(optimizer.state.step), args.steps):
        rate = 0.1 * (1.0 - step / (2 * args.steps))
        optimizer, loss = train_step(optimizer, get_batch(step), 0.2, rate)
        print("step %d loss %.5f" % (step, loss), flush=True)
        if (step + 1) % args.save_every == 0:
            checkpoints.save_checkpoint(args.workdir, optimizer, step + 1)
    with open(args.workdir + "/final.msgpack", "wb") as f:
        f.write(serialization.to_bytes(optimizer))


if __name__ == "__main__":
    main()
