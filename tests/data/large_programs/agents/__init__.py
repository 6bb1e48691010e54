"""Small actor-critic agents: SAC, DDPG and TD3."""

from agents.main import run

__all__ = ["run"]
