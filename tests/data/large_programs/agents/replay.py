"""A buffer with priorities, as a tree whose nodes know the sums below them."""

import numpy as np

from agents.common import Batch


class Node:
    def __init__(self, parent=None, left=None, right=None, index=None):
        self.parent, self.left, self.right, self.index = parent, left, right, index
        self.priority = 0.0

    @property
    def is_leaf(self):
        return self.index is not None

    def add(self, change):
        node = self
        while node is not None:
            node.priority += change
            node = node.parent

    def root(self):
        node = self
        while node.parent is not None:
            node = node.parent
        return node

    def find(self, value):
        node = self
        while not node.is_leaf:
            if value < node.left.priority:
                node = node.left
            else:
                value -= node.left.priority
                node = node.right
        return node


def build(start, stop, leaves, parent=None):
    if stop - start == 1:
        node = Node(parent, index=start)
        leaves.append(node)
        return node
    node = Node(parent)
    middle = (start + stop) // 2
    node.left = build(start, middle, leaves, node)
    node.right = build(middle, stop, leaves, node)
    return node


class PrioritizedBuffer:
    def __init__(self, size=64, obs_dim=3, act_dim=2, seed=0):
        rng = np.random.RandomState(seed)
        observations = rng.uniform(-1, 1, size=(size, obs_dim)).astype(np.float32)
        actions = rng.uniform(-1, 1, size=(size, act_dim)).astype(np.float32)
        next_observations = 0.9 * observations
        next_observations[:, :act_dim] += 0.5 * actions
        rewards = 1.0 - np.sum(next_observations**2, axis=-1)
        masks = (rng.uniform(size=size) < 0.95).astype(np.float32)
        self.data = Batch(observations, actions, rewards, masks, next_observations)
        self.rng = rng
        self.leaves = []
        self.tree = build(0, size, self.leaves)
        for leaf in self.leaves:
            leaf.add(1.0)

    def sample(self, batch_size):
        total = self.leaves[0].root().priority
        nodes = [self.tree.find(value) for value in self.rng.uniform(0, total, size=batch_size)]
        picked = np.array([node.index for node in nodes])
        return Batch(*(column[picked] for column in self.data)), nodes

    def update(self, nodes, errors):
        for node, error in zip(nodes, errors):
            # Rounded, so that what is sampled next does not hang on the last bit.
            node.add(round(float(abs(error)), 2) + 0.01 - node.priority)
