"""What one of the allowed versions of flax lacks."""

from __future__ import annotations

from flaxoptim_compat.versions.allowed import numbers, version_of

# The first whose nnx.Optimizer does not keep the model, and takes it with each step.
_NNX = "0.11"


def refuse_old_nnx(asked: str) -> None:
    """Refuse a flax whose ``nnx.Optimizer`` is another than that of today.

    Args:
      asked: the name of what needs it.

    Raises:
      ImportError: flax is older.
    """
    version = version_of("flax")
    if version and numbers(version) < numbers(_NNX):
        raise ImportError(
            f"{asked} needs flax {_NNX} or newer (here is {version}), whose nnx.Optimizer has wrt."
        )
