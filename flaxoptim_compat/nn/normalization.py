"""Normalizations: mean 0 and variance 1, over the batch, the features or groups of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from flaxoptim_compat.nn import initializers
from flaxoptim_compat.nn.arguments import documented
from flaxoptim_compat.nn.base import Module


def _mean_and_mean_of_squares(x: Any, axes: Sequence[int], keepdims: bool) -> tuple[Any, Any]:
    return (
        jnp.mean(x, axis=axes, keepdims=keepdims),
        jnp.mean(lax.square(x), axis=axes, keepdims=keepdims),
    )


class BatchNorm(Module):
    @documented
    def apply(
        self,
        x: Any,
        batch_stats: Any = None,
        use_running_average: bool = False,
        axis: Any = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-5,
        dtype: Any = jnp.float32,
        bias: bool = True,
        scale: bool = True,
        bias_init: Any = initializers.zeros,
        scale_init: Any = initializers.ones,
        axis_name: Any = None,
        axis_index_groups: Any = None,
    ) -> Any:
        """``(x - mean) / √(variance + epsilon) · scale + bias``, over the batch."""
        x = jnp.asarray(x, jnp.float32)
        features = {number % x.ndim for number in (axis if isinstance(axis, tuple) else (axis,))}
        spread = tuple(size if i in features else 1 for i, size in enumerate(x.shape))
        shape = tuple(size for i, size in enumerate(x.shape) if i in features)
        reduced = tuple(i for i in range(x.ndim) if i not in features)
        averages = None
        if self.is_stateful() or batch_stats:
            averages = (
                self.state("mean", shape, initializers.zeros, collection=batch_stats),
                self.state("var", shape, initializers.ones, collection=batch_stats),
            )
        if use_running_average:
            if averages is None:
                raise ValueError(
                    "BatchNorm with `use_running_average=True` needs the averages: run the module"
                    " in a block of `with flax.nn.stateful(state):`, or pass `batch_stats=...`."
                )
            mean, variance = averages[0].value, averages[1].value
        else:
            mean, squares = _mean_and_mean_of_squares(x, reduced, keepdims=False)
            if axis_name is not None and not self.is_initializing():
                both = jnp.concatenate([mean, squares])
                both = lax.pmean(both, axis_name, axis_index_groups=axis_index_groups)
                mean, squares = jnp.split(both, 2)
            variance = squares - lax.square(mean)
            if averages is not None and not self.is_initializing():
                for average, now in zip(averages, (mean, variance), strict=True):
                    average.value = momentum * average.value + (1 - momentum) * now
        factor = lax.rsqrt(variance + epsilon)
        if scale:
            factor = factor * self.param("scale", shape, scale_init).reshape(spread)
        y = (x - mean.reshape(spread)) * factor
        if bias:
            y = y + self.param("bias", shape, bias_init).reshape(spread)
        return jnp.asarray(y, dtype)


class LayerNorm(Module):
    @documented
    def apply(
        self,
        x: Any,
        epsilon: float = 1e-6,
        dtype: Any = jnp.float32,
        bias: bool = True,
        scale: bool = True,
        bias_init: Any = initializers.zeros,
        scale_init: Any = initializers.ones,
    ) -> Any:
        """``(x - mean) / √(variance + epsilon) · scale + bias``, over the features.

        Ba, Kiros, Hinton: Layer Normalization, https://arxiv.org/abs/1607.06450
        """
        x = jnp.asarray(x, jnp.float32)
        shape = (x.shape[-1],)
        mean, squares = _mean_and_mean_of_squares(x, (-1,), keepdims=True)
        factor = lax.rsqrt(squares - lax.square(mean) + epsilon)
        if scale:
            factor = factor * jnp.asarray(self.param("scale", shape, scale_init), dtype)
        y = (x - mean) * factor
        if bias:
            y = y + jnp.asarray(self.param("bias", shape, bias_init), dtype)
        return jnp.asarray(y, dtype)


class GroupNorm(Module):
    @documented
    def apply(
        self,
        x: Any,
        num_groups: int | None = 32,
        group_size: int | None = None,
        epsilon: float = 1e-6,
        dtype: Any = jnp.float32,
        bias: bool = True,
        scale: bool = True,
        bias_init: Any = initializers.zeros,
        scale_init: Any = initializers.ones,
    ) -> Any:
        """``(x - mean) / √(variance + epsilon) · scale + bias``, over groups of features.

        Wu, He: Group Normalization, https://arxiv.org/abs/1803.08494
        """
        x = jnp.asarray(x, jnp.float32)
        features = x.shape[-1]
        if (num_groups is None) == (group_size is None):
            raise ValueError(
                "GroupNorm takes either num_groups=..., or group_size=... with num_groups=None."
            )
        if group_size is not None:
            if features % group_size:
                raise ValueError(
                    f"{features} features are not groups of {group_size}. Give a `group_size` that"
                    " divides the number of features."
                )
            num_groups = features // group_size
        assert num_groups is not None
        groups = x.reshape((*x.shape[:-1], num_groups, features // num_groups))
        # Over all axes but the batch and the groups.
        reduced = [*range(1, groups.ndim - 2), groups.ndim - 1]
        mean, squares = _mean_and_mean_of_squares(groups, reduced, keepdims=True)
        normal = (groups - mean) * lax.rsqrt(squares - lax.square(mean) + epsilon)
        y = normal.reshape(x.shape)
        shape = (*(1,) * (x.ndim - 1), features)
        if scale:
            y = y * self.param("scale", shape, scale_init)
        if bias:
            y = y + self.param("bias", shape, bias_init)
        return y.astype(dtype)
