"""Adafactor: ``optax.adafactor`` in its parts, in float32 and with flax's order of products.

The second moment of a matrix is kept as the means of its rows and of its columns.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import struct
from jax.typing import DTypeLike

from flaxoptim_compat.bridge.definition import HyperParams, Leaf, Number, ParamState, PyTree, Values
from flaxoptim_compat.bridge.sharding import without
from flaxoptim_compat.formula_text.term import Term
from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.formula import DESCENT_STAGE, Chain, stage
from flaxoptim_compat.transforms import in_float32, scale_by_rate_and_parameter_rms
from flaxoptim_compat.transforms.adafactor import scale_by_factored_rms, scale_in_float32


@struct.dataclass
class _AdafactorHyperParams:
    learning_rate: Number | None
    factored: bool
    multiply_by_parameter_scale: bool
    beta1: Number | None
    decay_rate: Number
    step_offset: int
    clipping_threshold: Number | None
    weight_decay_rate: Number | None
    min_dim_size_to_factor: int
    epsilon1: Number
    epsilon2: Number


@struct.dataclass
class _AdafactorParamState:
    # A field that is not in use has shape (1,).
    v_row: jax.Array  # in use if the parameter is factored
    v_col: jax.Array  # in use if the parameter is factored
    v: jax.Array  # in use if the parameter is not factored
    m: jax.Array  # in use with beta1


class Adafactor(OptimizerDef):
    """Adafactor (Shazeer and Stern, 2018, https://arxiv.org/abs/1804.04235).

    ``v' = d · v + (1 - d) · (g² + epsilon1)`` with ``d = 1 - (t - step_offset)^-decay_rate``,
    ``u = g / √v'``, clipped to a root mean square of ``clipping_threshold``,
    ``p' = p - learning_rate · max(rms(p), epsilon2) · u``.

    Args:
      learning_rate: the step size in parts of the root mean square of the parameter; None if each
        step is given one.
      factored: keep row and column means of the second moment of a matrix.
      multiply_by_parameter_scale: False makes the learning rate absolute.
      beta1: decay of the average of updates, at least 0 and less than 1; None for no average.
      decay_rate: exponent of the schedule of the second moment, between 0 and 1.
      step_offset: the step at which fine-tuning started.
      clipping_threshold: largest root mean square of an update; None for any.
      weight_decay_rate: the part of the parameter taken off at each step, whatever the rate; None
        for nothing.
      min_dim_size_to_factor: factor only if two dimensions are at least this large.
      epsilon1: added to the squared gradient.
      epsilon2: least size of a parameter assumed.
      dtype_momentum: dtype of the average of updates.
    """

    formula = Chain(
        _AdafactorParamState,
        moments=stage(
            scale_by_factored_rms,
            says=optax.scale_by_factored_rms,
            within=(in_float32,),
            factored="factored",
            decay_rate="decay_rate",
            step_offset="step_offset",
            min_dim_size_to_factor="min_dim_size_to_factor",
            epsilon="epsilon1",
            keeps={optax.FactoredState: {"v_row": "v_row", "v_col": "v_col", "v": "v"}},
        ),
        clip=stage(optax.clip_by_block_rms, "clipping_threshold", when="clipping_threshold"),
        rate=stage(
            scale_by_rate_and_parameter_rms,
            "learning_rate",
            min_scale="epsilon2",
            when="multiply_by_parameter_scale",
            otherwise=stage(scale_in_float32, "learning_rate", says=optax.scale),
        ),
        momentum=stage(
            optax.ema,
            "beta1",
            debias=False,
            accumulator_dtype="dtype_momentum",
            when="beta1",
            keeps={optax.EmaState: {"ema": "m"}},
        ),
        decay=stage(optax.add_decayed_weights, "weight_decay_rate", when="weight_decay_rate"),
        descent=DESCENT_STAGE,
    )

    def __init__(
        self,
        learning_rate: float | None = None,
        factored: bool = True,
        multiply_by_parameter_scale: bool = True,
        beta1: float | None = None,
        decay_rate: float = 0.8,
        step_offset: int = 0,
        clipping_threshold: float | None = 1.0,
        weight_decay_rate: float | None = None,
        min_dim_size_to_factor: int = 128,
        epsilon1: float = 1e-30,
        epsilon2: float = 1e-3,
        dtype_momentum: DTypeLike = jnp.float32,
    ) -> None:
        self.dtype_momentum = jax.dtypes.canonicalize_dtype(dtype_momentum)
        super().__init__(
            _AdafactorHyperParams(
                learning_rate,
                factored,
                multiply_by_parameter_scale,
                beta1,
                decay_rate,
                step_offset,
                clipping_threshold,
                weight_decay_rate,
                min_dim_size_to_factor,
                epsilon1,
                epsilon2,
            )
        )

    @staticmethod
    def _decay_rate_pow(i: Leaf, exponent: Leaf = 0.8) -> Leaf:
        """The decay of the second moment at step ``i``: ``1 - (i + 1)^-exponent``."""
        return 1.0 - (jnp.array(i, jnp.float32) + 1.0) ** (-exponent)

    def _factored_dims(self, shape: Sequence[int]) -> tuple[int, int] | None:
        """The second largest and the largest dimension, if the parameter is to be factored."""
        if not self.hyper_params.factored or len(shape) < 2:
            return None
        by_size = np.argsort(shape)
        if shape[by_size[-2]] < self.hyper_params.min_dim_size_to_factor:
            return None
        return int(by_size[-2]), int(by_size[-1])

    def init_param_state(self, param: Leaf) -> _AdafactorParamState:
        """The state before the first step: moments at zero, and shape (1,) for unused fields."""
        shape = np.shape(param)
        state = {name: jnp.zeros((1,)) for name in ("v_row", "v_col", "v", "m")}
        dims = self._factored_dims(shape)
        if dims is None:
            state["v"] = jnp.zeros(shape, jnp.float32)
        else:
            state["v_row"] = jnp.zeros(np.delete(shape, dims[1]), jnp.float32)
            state["v_col"] = jnp.zeros(np.delete(shape, dims[0]), jnp.float32)
        if self.hyper_params.beta1 is not None:
            state["m"] = jnp.zeros(shape, self.dtype_momentum)
        return _AdafactorParamState(**state)

    def param_state_axes(
        self, param: Leaf, state: ParamState, axes: PyTree
    ) -> _AdafactorParamState:
        """The axes of the parameter, for a factor without the dimension that is averaged over."""
        state_axes = super().param_state_axes(param, state, axes)
        shape = np.shape(param)
        dims = self._factored_dims(shape)
        if dims is None:
            return state_axes  # type: ignore[no-any-return]
        row, column = (without(axes, len(shape), dimension) for dimension in reversed(dims))
        return state_axes.replace(v_row=row, v_col=column)  # type: ignore[no-any-return]

    def normalise(self, hyper_params: HyperParams) -> HyperParams:
        """These hyper-parameters with Python numbers as floats.

        Raises:
          AssertionError: there is no learning rate.
          TypeError: a hyper-parameter is no real number, or the program overrides a method that
            optax does not call.
        """
        overridden = [
            name
            for name in ("_decay_rate_pow", "_factored_dims")
            if name in vars(self) or getattr(type(self), name) is not getattr(Adafactor, name)
        ]
        # An error is better than a step with other numbers.
        if overridden:
            names = " and ".join(f"`{name}`" for name in overridden)
            raise TypeError(
                f"{type(self).__name__} overrides {names}. The Adafactor of flax.optim called the"
                " method in each step, and optax does not. Override `apply_param_gradient` as"
                " well, with the whole step of a parameter."
            )
        return super().normalise(hyper_params)

    def values(self, hyper_params: HyperParams) -> Values:
        """The values for the formula; values that decide shapes are always the definition's own."""
        values = super().values(hyper_params)
        return {**values, **({} if isinstance(values["factored"], Term) else self._fixed())}

    def step_structure(self) -> tuple[object, ...]:
        """The usual structure, and the hyper-parameters that no step may override."""
        return (*super().step_structure(), self._fixed())

    def _fixed(self) -> dict[str, bool | int]:
        """The hyper-parameters of the definition that hold in every step."""
        hyper_params = self.hyper_params
        return {
            "factored": bool(hyper_params.factored),
            "min_dim_size_to_factor": int(hyper_params.min_dim_size_to_factor),
            "multiply_by_parameter_scale": bool(hyper_params.multiply_by_parameter_scale),
        }
