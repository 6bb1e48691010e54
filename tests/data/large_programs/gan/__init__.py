"""A generator and a discriminator, on all devices."""

from gan.train import run

__all__ = ["run"]
