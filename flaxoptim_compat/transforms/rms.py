"""Both of optax's transformations that divide by the size of the gradient, as one."""

from __future__ import annotations

from typing import Any

import optax


def scale_by_rms(
    decay: Any = 0.9,
    eps: Any = 1e-8,
    eps_in_sqrt: bool = True,
    centered: bool = False,
    bias_correction: bool = False,
) -> optax.GradientTransformation:
    """``optax.scale_by_rms``, or ``optax.scale_by_stddev`` where it is centered.

    ``optax.rmsprop`` makes the same choice.

    Args:
      decay: decay of the averages.
      eps: added to the root, or inside the root.
      eps_in_sqrt: whether ``eps`` is added inside the root.
      centered: divide by the standard deviation of the gradient rather than its root mean square.
      bias_correction: divide the averages by ``1 - decay^t``.
    """
    scale = optax.scale_by_stddev if centered else optax.scale_by_rms
    return scale(decay=decay, eps=eps, eps_in_sqrt=eps_in_sqrt, bias_correction=bias_correction)
