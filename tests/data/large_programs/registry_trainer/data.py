import numpy as np


class Dataset:
    def __init__(self, classes, features=8, seed=0):
        self.templates = np.random.RandomState(seed).normal(size=(classes, features))

    def __getitem__(self, step):
        rng = np.random.RandomState(step)
        labels = rng.randint(len(self.templates), size=16)
        inputs = self.templates[labels] + rng.normal(scale=0.3, size=(16, self.templates.shape[1]))
        return {"inputs": inputs.astype(np.float32), "labels": labels}
