import tempfile

from agents.replay import ReplayBuffer
from agents.sac import SACLearner


def train(directory, steps=3, seed=42):
    buffer = ReplayBuffer(seed=seed)
    observations, actions = buffer.data.observations[:1], buffer.data.actions[:1]
    make = lambda: SACLearner(seed, observations, actions)
    agent = make().learn(buffer, steps)
    agent.save(directory)
    # A second agent goes on where the first one ended.
    other = make()
    other.load(directory)
    other.learn(buffer, 2)
    return other.results()


def run():
    with tempfile.TemporaryDirectory() as directory:
        return train(directory)


if __name__ == "__main__":
    run()
