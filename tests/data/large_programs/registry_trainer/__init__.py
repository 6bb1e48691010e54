"""Trainers whose parts are chosen by names in a config."""

from registry_trainer.main import run

__all__ = ["run"]
