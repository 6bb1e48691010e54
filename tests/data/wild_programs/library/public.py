from .agents import Agent

__all__ = ["Agent"]
