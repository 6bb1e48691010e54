"""The module ``jax.tools.colab_tpu``, with which notebooks in Colab reached a remote TPU."""

from __future__ import annotations

import jax


def setup_tpu(tpu_driver_version: str | None = None) -> None:
    """Look for TPUs, which jax finds by itself.

    Args:
      tpu_driver_version: the version of the driver; without effect, because there is only one.

    Raises:
      RuntimeError: there is no TPU.
    """
    jax.devices("tpu")
