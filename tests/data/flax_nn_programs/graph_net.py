# Stands for: the graph networks of the examples, functions that are modules, summed over edges.
import argparse

import jax
import jax.numpy as jnp
import numpy as np
from flax import nn, optim, serialization
from flax.training import checkpoints

NODES, CLASSES = 12, 3


@nn.module
def mlp(x, sizes, activation=nn.elu):
    for i, size in enumerate(sizes):
        x = nn.Dense(x, size, name="layer_%d" % i)
        x = activation(x) if i + 1 < len(sizes) else x
    return x


class GraphConv(nn.Module):
    def apply(self, nodes, senders, receivers, features):
        messages = mlp(
            jnp.concatenate([nodes[senders], nodes[receivers]], -1), (features,), name="message"
        )
        total = jax.ops.segment_sum(messages, receivers, NODES)
        count = jax.ops.segment_sum(jnp.ones_like(receivers), receivers, NODES)[:, None]
        gate = self.param("gate", (features,), nn.initializers.ones)
        own = nn.Dense(nodes, features, bias=False, name="own")
        return nn.LayerNorm(own + gate * total / jnp.maximum(count, 1), bias=False)


@nn.module
def network(nodes, senders, receivers, depth=2):
    update = GraphConv.shared(features=8, name="update")
    x = nn.Dense(nodes, 8, name="embed")
    for _ in range(depth):
        x = x + nn.relu(update(x, senders, receivers))
    return mlp(x, (8, CLASSES), activation=nn.swish, name="readout")


@jax.jit
def train_step(optimizer, graph):
    def loss_fn(model):
        logits = model(graph["nodes"], graph["senders"], graph["receivers"])
        return -jnp.mean(
            jnp.sum(jax.nn.one_hot(graph["label"], CLASSES) * nn.log_softmax(logits), -1)
        )

    loss, grad = jax.value_and_grad(loss_fn)(optimizer.target)
    return optimizer.apply_gradient(grad), loss


def get_graph(step):
    rng = np.random.RandomState(step)
    label = rng.randint(CLASSES, size=NODES)
    nodes = np.eye(CLASSES, 5)[label] + 0.3 * rng.randn(NODES, 5)
    edges = rng.randint(NODES, size=(2, 30))
    return {
        "nodes": nodes.astype(np.float32),
        "senders": edges[0],
        "receivers": edges[1],
        "label": label,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--save_every", type=int)
    args = parser.parse_args()
    graph = get_graph(0)
    _, model = network.create(
        jax.random.PRNGKey(0), graph["nodes"], graph["senders"], graph["receivers"]
    )
    optimizer = optim.Adagrad(learning_rate=0.1).create(model)
    optimizer = checkpoints.restore_checkpoint(args.workdir, optimizer)
    for step in range(int(optimizer.state.step), args.steps):
        optimizer, loss = train_step(optimizer, get_graph(step))
        print("step %d loss %.5f" % (step, loss), flush=True)
        if (step + 1) % args.save_every == 0:
            checkpoints.save_checkpoint(args.workdir, optimizer, step + 1)
    inside = optimizer.target.truncate_at({"x": "/embed", "read": "/readout/layer_0"})
    outputs = inside(graph["nodes"], graph["senders"], graph["receivers"])
    with open(args.workdir + "/final.msgpack", "wb") as f:
        f.write(serialization.to_bytes({"optimizer": optimizer, "inside": outputs}))


if __name__ == "__main__":
    main()
