# Stands for: the detection transformers, one rate for the backbone and one for all the rest.
import argparse
import os

import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax import optim
from flax.training import checkpoints

NUM_QUERIES = 3


class Backbone(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.gelu(nn.Conv(8, (3, 3), strides=(2, 2))(x))
        x = nn.gelu(nn.Conv(16, (3, 3), strides=(2, 2))(x))
        return x.reshape((x.shape[0], -1, x.shape[-1]))


class DETR(nn.Module):
    hidden: int = 16

    @nn.compact
    def __call__(self, images):
        features = nn.Dense(self.hidden, name="input_proj")(Backbone(name="backbone")(images))
        positions = self.param(
            "pos_embedding", nn.initializers.normal(0.5), (1,) + features.shape[1:]
        )
        memory = nn.LayerNorm()(features + positions)
        queries = self.param(
            "query_embedding", nn.initializers.normal(1.0), (1, NUM_QUERIES, self.hidden)
        )
        x = jnp.tile(queries, (images.shape[0], 1, 1))
        x = x + nn.MultiHeadDotProductAttention(num_heads=2, use_bias=False)(x, memory)
        x = x + nn.Dense(self.hidden)(nn.gelu(nn.Dense(2 * self.hidden)(nn.LayerNorm()(x))))
        return nn.sigmoid(nn.Dense(4, name="bbox_embed")(x)), nn.Dense(1, name="class_embed")(x)


def make_batch(step, batch_size=16, size=12):
    rng = np.random.RandomState(1000 + step)
    images = 0.1 * rng.normal(size=(batch_size, size, size, 1))
    boxes = np.zeros((batch_size, NUM_QUERIES, 4))
    for i in range(batch_size):
        # One object in each vertical stripe, so that the matching is that of the stripes.
        for j in range(NUM_QUERIES):
            x, y = 4 * j + rng.randint(2), rng.randint(9)
            images[i, y : y + 3, x : x + 3] += 1.0
            boxes[i, j] = np.array([x + 1.5, y + 1.5, 3, 3]) / size
    return images.astype(np.float32), boxes.astype(np.float32)


def clip_by_global_norm(grads, max_norm):
    norm = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in jax.tree_leaves(grads)))
    return jax.tree_map(lambda g: g * jnp.minimum(1.0, max_norm / (norm + 1e-6)), grads)


def get_optimizer(params, weight_decay=1e-2):
    backbone = optim.ModelParamTraversal(lambda path, _: "backbone" in path)
    other = optim.ModelParamTraversal(lambda path, _: "backbone" not in path)
    return optim.MultiOptimizer(
        (backbone, optim.Adam(weight_decay=weight_decay)),
        (other, optim.Adam(weight_decay=weight_decay)),
    ).create(params)


@jax.jit
def train_step(optimizer: flax.optim.Optimizer, batch, lr, backbone_lr):
    images, boxes = batch

    def loss_fn(params):
        pred_boxes, logits = DETR().apply({"params": params}, images)
        box_loss = jnp.mean(jnp.sum((pred_boxes - boxes) ** 2, axis=-1))
        return 5.0 * box_loss + jnp.mean(nn.softplus(-logits))

    loss, grad = jax.value_and_grad(loss_fn)(optimizer.target)
    grad = clip_by_global_norm(grad, 1.0)
    hp_backbone, hp_other = optimizer.optimizer_def.hyper_params
    optimizer = optimizer.apply_gradient(
        grad,
        hyper_params=[
            hp_backbone.replace(learning_rate=backbone_lr),
            hp_other.replace(learning_rate=lr),
        ],
    )
    return optimizer, loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--save_every", type=int, default=50)
    args = parser.parse_args()

    params = jax.jit(DETR().init)(jax.random.PRNGKey(0), make_batch(0)[0])["params"]
    optimizer = get_optimizer(params)
    optimizer = checkpoints.restore_checkpoint(args.workdir, optimizer)
    for step in range(int(optimizer.state.step), args.steps):
        drop = 0.1 if step >= int(0.8 * args.steps) else 1.0
        optimizer, loss = train_step(optimizer, make_batch(step), 3e-3 * drop, 1e-3 * drop)
        print("step %d loss %.5f" % (step, loss), flush=True)
        if (step + 1) % args.save_every == 0:
            checkpoints.save_checkpoint(args.workdir, optimizer, step + 1, keep=3)

    with open(os.path.join(args.workdir, "final.msgpack"), "wb") as f:
        f.write(flax.serialization.to_bytes(optimizer))


if __name__ == "__main__":
    main()
