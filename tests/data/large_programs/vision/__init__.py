"""An image classifier with batch statistics, and a dataclass of its own around the optimizer."""

from vision.train import run

__all__ = ["run"]
