"""Gives the agents of dopamine made-up observations, and has them save and restore themselves."""

from stubs import gfile, stub  # isort: skip
import collections
import importlib
import random
import sys
import tempfile
import types

import gin
import numpy as np
from flax.training import checkpoints  # noqa: F401  # which looks for TensorFlow

stub(
    "tensorflow",
    "gin.tf",
    "dopamine.agents.dqn.dqn_agent",
    "dopamine.discrete_domains.atari_lib",
    "dopamine.discrete_domains.gym_lib",
)
sys.modules["tensorflow"].io = types.SimpleNamespace(gfile=gfile)
sys.modules["tensorflow"].errors = types.SimpleNamespace(NotFoundError=FileNotFoundError)
library = sys.modules["dopamine.discrete_domains.atari_lib"]
library.DQNNetworkType = collections.namedtuple("DQN", "q_values")
library.RainbowNetworkType = collections.namedtuple("Rainbow", "q_values logits probabilities")
library.ImplicitQuantileNetworkType = collections.namedtuple("IQN", "quantile_values quantiles")
old = sys.modules["dopamine.agents.dqn.dqn_agent"]
old.NATURE_DQN_OBSERVATION_SHAPE, old.NATURE_DQN_STACK_SIZE = (8, 8), 2
old.identity_epsilon = lambda decay_period, step, warmup_steps, epsilon: epsilon
from dopamine.jax import networks  # noqa: E402
from dopamine.jax.agents.dqn import dqn_agent  # noqa: E402

# They take the time for a seed.
networks.time = dqn_agent.time = types.SimpleNamespace(time=lambda: 1.0)
from dopamine.replay_memory import prioritized_replay_buffer  # noqa: E402, F401

for kind in ("", "Prioritized"):
    gin.bind_parameter(f"OutOfGraph{kind}ReplayBuffer.replay_capacity", 100)
    gin.bind_parameter(f"OutOfGraph{kind}ReplayBuffer.batch_size", 4)

AGENTS = [
    ("dqn", "JaxDQNAgent", {"optimizer": "adam"}),
    ("dqn", "JaxDQNAgent", {"optimizer": "rmsprop"}),
    ("rainbow", "JaxRainbowAgent", {}),
    ("quantile", "JaxQuantileAgent", {"num_atoms": 5}),
    ("implicit_quantile", "JaxImplicitQuantileAgent", {}),
]
for folder, name, more in AGENTS:
    module = importlib.import_module(f"dopamine.jax.agents.{folder}.{folder}_agent")
    random.seed(0)
    np.random.seed(0)
    agent = getattr(module, name)(
        num_actions=3, min_replay_history=6, update_period=2, target_update_period=4, **more
    )
    made_up, work = np.random.RandomState(0), tempfile.mkdtemp()

    def observation(made_up=made_up):
        return made_up.randint(0, 255, (8, 8)).astype(np.uint8)

    agent.begin_episode(observation())
    for step in range(16):
        agent.step(made_up.randn(), observation())
        if step == 11:
            assert agent.unbundle(work, 0, agent.bundle_and_checkpoint(work, 0))
    agent.end_episode(1.0)
    agent.eval_mode = True
    print(name, [np.asarray(agent.step(0.0, observation())).tolist() for _ in range(3)])
