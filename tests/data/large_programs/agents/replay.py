import numpy as np

from agents.common import Batch


class ReplayBuffer:
    def __init__(self, size=64, obs_dim=3, act_dim=2, seed=0):
        self.rng = rng = np.random.RandomState(seed)
        observations = rng.uniform(-1, 1, size=(size, obs_dim)).astype(np.float32)
        actions = rng.uniform(-1, 1, size=(size, act_dim)).astype(np.float32)
        next_observations = 0.9 * observations
        next_observations[:, :act_dim] += 0.5 * actions
        rewards = 1.0 - np.sum(next_observations**2, axis=-1)
        masks = (rng.uniform(size=size) < 0.95).astype(np.float32)
        self.data = Batch(observations, actions, rewards, masks, next_observations)

    def sample(self, batch_size):
        picked = self.rng.randint(len(self.data.rewards), size=batch_size)
        return Batch(*(column[picked] for column in self.data))
