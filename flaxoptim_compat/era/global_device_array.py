"""The class ``GlobalDeviceArray``, which no array belongs to any more."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["GlobalDeviceArray"]


class GlobalDeviceArray:
    """A class without instances: ``isinstance`` is False, and programs take their other branch."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise an error that names today's functions for such an array."""
        raise NotImplementedError(
            "There are no GlobalDeviceArrays any more: every jax.Array can be global. Use"
            " `jax.make_array_from_single_device_arrays` or `jax.make_array_from_callback`."
        )

    @classmethod
    def from_callback(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise an error that names today's function for such an array."""
        raise NotImplementedError(
            "There are no GlobalDeviceArrays any more. Use `jax.make_array_from_callback`."
        )
