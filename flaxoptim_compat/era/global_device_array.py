"""The class ``GlobalDeviceArray``, which no array has any more."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["GlobalDeviceArray"]


class GlobalDeviceArray:
    """A class without instances, so that programs find they have none, and take the other way."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise, and say what makes such an array today."""
        raise NotImplementedError(
            "There are no GlobalDeviceArrays any more: every jax.Array can be one. Use"
            " jax.make_array_from_single_device_arrays or jax.make_array_from_callback."
        )

    @classmethod
    def from_callback(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise, and say what makes such an array today."""
        raise NotImplementedError("Use jax.make_array_from_callback.")
