import tempfile

from agents.ddpg import DDPGLearner
from agents.replay import PrioritizedBuffer
from agents.sac import SACLearner
from agents.td3 import TD3Learner

AGENTS = {"sac": SACLearner, "ddpg": DDPGLearner, "td3": TD3Learner}
SETTINGS = {"td3": {"optimizer": "adam", "learning_rate": 3e-3}}


def train(name, directory, steps=3, seed=42):
    buffer = PrioritizedBuffer(seed=seed)
    observations, actions = buffer.data.observations[:1], buffer.data.actions[:1]
    make = lambda: AGENTS[name](seed, observations, actions, **SETTINGS.get(name, {}))
    agent = make().learn(buffer, steps)
    agent.save(directory)
    # A second agent goes on where the first one ended.
    other = make()
    other.load(directory)
    other.learn(buffer, 2)
    return other.results()


def run():
    with tempfile.TemporaryDirectory() as directory:
        return {name: train(name, directory) for name in AGENTS}


if __name__ == "__main__":
    run()
