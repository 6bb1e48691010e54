"""The module ``jax.tools.colab_tpu``, by which notebooks in Colab reached a TPU elsewhere."""

from __future__ import annotations

import jax


def setup_tpu(tpu_driver_version: str | None = None) -> None:
    """Do nothing but look for TPUs, which jax finds by itself.

    Args:
      tpu_driver_version: the version of the driver, of which there is one only.

    Raises:
      RuntimeError: there is no TPU.
    """
    jax.devices("tpu")
