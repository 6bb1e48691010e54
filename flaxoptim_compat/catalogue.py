"""The optimizers of flax.optim, one row for each, for code that must run without jax.

The arithmetic of the optimizers is in ``optim``. A test compares each row with the formula there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

# In place of the default of an argument without one.
REQUIRED: Final = ...
RATE: Final = "learning_rate"
DECAY: Final = "weight_decay"
WRAPPED: Final = "wrapped_optimizer"
DTYPE: Final = "dtype_momentum"

# Optax computes 1 - x of these hyper-parameters: exact for Python numbers, with four digits less
# for float32 arrays.
COMPLEMENTED: Final = frozenset({"beta1", "beta2", "rho"})
# These hyper-parameters are counts. They decide shapes or steps, and must be integers.
INTEGERS: Final = frozenset({"min_dim_size_to_factor", "step_offset"})
# This hyper-parameter decides shapes, and so can never be traced.
STRUCTURAL: Final = frozenset({"min_dim_size_to_factor"})


@dataclasses.dataclass(frozen=True, eq=False)
class OptimizerRow:
    """One optimizer.

    Args:
      name: the name of its class.
      module: its module in flax.optim.
      hyper_params: the arguments of the class with their defaults.
      state: the fields of the state of one parameter.
      optax_states: the states of its optax chain, in all combinations. A state is a text of field
        names; a field with a value for each parameter is followed by ``=`` and the field of
        ``state`` that it holds.
      suggested: pairs of a definition and its replacement in Flax's update guide; "" without one.
      called: hyper-parameters with another name in the suggested function, and that name.
      decides: hyper-parameters that decide whether a stage is left out.
      repeated: hyper-parameters that appear more than once in the optax text.
      conditional: hyper-parameters that appear there in some stages only.
      needs_transforms: whether that text needs ``flaxoptim_compat.transforms``.
    """

    name: str
    module: str
    hyper_params: Mapping[str, Any]
    state: tuple[str, ...] = ()
    optax_states: tuple[tuple[str, ...], ...] = ((),)
    suggested: tuple[tuple[str, str], ...] = ()
    called: Mapping[str, str] = dataclasses.field(default_factory=dict)
    decides: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    conditional: tuple[str, ...] = ()
    needs_transforms: bool = False

    @property
    def page(self) -> str:
        """The page of the optimizer in ``migration_guide/optimizers``."""
        return f"{self.name.lower()}.md"

    @property
    def namesake(self) -> str:
        """The optax function that programs take for the same optimizer; "" if there is none."""
        return self.suggested[0][1].partition("(")[0].removeprefix("optax.")

    @property
    def flags(self) -> frozenset[str]:
        """The hyper-parameters that are True or False."""
        return frozenset(
            name for name, default in self.hyper_params.items() if isinstance(default, bool)
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names in its module."""
        private = (f"_{self.name}HyperParams", f"_{self.name}ParamState")
        return (self.name, *private[: 2 if self.state else 1])


OPTIMIZERS: Final = (
    OptimizerRow(
        "GradientDescent",
        "sgd",
        {RATE: None},
        suggested=(("optim.GradientDescent(0.1)", "optax.sgd(0.1)"),),
    ),
    OptimizerRow(
        "Momentum",
        "momentum",
        {RATE: None, "beta": 0.9, "weight_decay": 0, "nesterov": False},
        ("momentum",),
        (("trace=momentum",),),
        suggested=(
            ("optim.Momentum(0.01)", "optax.sgd(0.01, momentum=0.9)"),
            (
                "optim.Momentum(0.01, weight_decay=0.1, nesterov=True)",
                "optax.chain(optax.add_decayed_weights(0.1),"
                " optax.sgd(0.01, momentum=0.9, nesterov=True))",
            ),
        ),
        called={"beta": "momentum"},
    ),
    OptimizerRow(
        "Adam",
        "adam",
        {RATE: None, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.0},
        ("grad_ema", "grad_sq_ema"),
        (("count mu=grad_ema nu=grad_sq_ema",),),
        suggested=(
            ("optim.Adam(0.01)", "optax.adam(0.01)"),
            ("optim.Adam(0.01, weight_decay=0.1)", "optax.adamw(0.01, weight_decay=0.1)"),
        ),
        called={"beta1": "b1", "beta2": "b2"},
    ),
    OptimizerRow(
        "AdaBelief",
        "adabelief",
        {RATE: None, "beta1": 0.9, "beta2": 0.999, "eps": 1e-16, "weight_decay": 0.0},
        ("grad_ema", "grad_sq_ema"),
        (("count mu=grad_ema nu=grad_sq_ema",),),
        suggested=(("optim.AdaBelief(0.01)", "optax.adabelief(0.01)"),),
        called={"beta1": "b1", "beta2": "b2"},
        repeated=("eps",),
    ),
    OptimizerRow(
        "Adadelta",
        "adadelta",
        {RATE: None, "rho": 0.9, "eps": 1e-6, "weight_decay": 0.0},
        ("sq_avg", "acc_delta"),
        (("e_g=sq_avg e_x=acc_delta",),),
        suggested=(
            ("optim.Adadelta(0.1, weight_decay=0.1)", "optax.adadelta(0.1, weight_decay=0.1)"),
        ),
    ),
    OptimizerRow(
        "Adafactor",
        "adafactor",
        {
            RATE: None,
            "factored": True,
            "multiply_by_parameter_scale": True,
            "beta1": None,
            "decay_rate": 0.8,
            "step_offset": 0,
            "clipping_threshold": 1.0,
            "weight_decay_rate": None,
            "min_dim_size_to_factor": 128,
            "epsilon1": 1e-30,
            "epsilon2": 1e-3,
            DTYPE: "float32",  # jnp.float32, which this file must do without
        },
        ("v_row", "v_col", "v", "m"),
        (
            ("count v=v v_col=v_col v_row=v_row",),
            ("count v=v v_col=v_col v_row=v_row", "count ema=m"),
        ),
        suggested=(
            (
                "optim.Adafactor(0.01, min_dim_size_to_factor=8)",
                "optax.adafactor(0.01, min_dim_size_to_factor=8)",
            ),
        ),
        called={"beta1": "momentum", "step_offset": "decay_offset", "epsilon1": "eps"},
        decides=(
            "beta1",
            "clipping_threshold",
            "multiply_by_parameter_scale",
            "weight_decay_rate",
        ),
        conditional=(DTYPE, "epsilon2"),
        needs_transforms=True,
    ),
    OptimizerRow(
        "Adagrad",
        "adagrad",
        {RATE: None, "eps": 1e-8},
        ("G",),
        (("sum_of_squares=G",),),
        suggested=(("optim.Adagrad(0.01)", "optax.adagrad(0.01)"),),
        needs_transforms=True,
    ),
    OptimizerRow(
        "LAMB",
        "lamb",
        {RATE: None, "beta1": 0.9, "beta2": 0.999, "weight_decay": 0, "eps": 1e-6},
        ("grad_ema", "grad_sq_ema"),
        (("count mu=grad_ema nu=grad_sq_ema",),),
        suggested=(("optim.LAMB(0.01, weight_decay=0.1)", "optax.lamb(0.01, weight_decay=0.1)"),),
        called={"beta1": "b1", "beta2": "b2"},
        needs_transforms=True,
    ),
    OptimizerRow(
        "LARS",
        "lars",
        {
            RATE: None,
            "beta": 0.9,
            "weight_decay": 0,
            "trust_coefficient": 0.001,
            "eps": 0,
            "nesterov": False,
        },
        ("momentum",),
        (("trace=momentum",),),
        suggested=(("optim.LARS(0.1, weight_decay=0.1)", "optax.lars(0.1, weight_decay=0.1)"),),
        called={"beta": "momentum"},
        needs_transforms=True,
    ),
    OptimizerRow(
        "RMSProp",
        "rmsprop",
        {RATE: None, "beta2": 0.9, "eps": 1e-8, "centered": False},
        ("v", "mg"),
        (("nu=v",), ("mu=mg nu=v",)),
        suggested=(
            ("optim.RMSProp(0.01)", "optax.rmsprop(0.01)"),
            ("optim.RMSProp(0.01, centered=True)", "optax.rmsprop(0.01, centered=True)"),
        ),
        called={"beta2": "decay"},
    ),
    OptimizerRow(
        "WeightNorm",
        "weight_norm",
        {WRAPPED: REQUIRED, "wn_decay": 0, "wn_eps": 1e-8},
        ("direction_state", "scale_state", "direction", "scale"),
        suggested=(("optim.WeightNorm(optim.Momentum(0.01))", ""),),
        needs_transforms=True,
    ),
)
BY_NAME: Final = {row.name: row for row in OPTIMIZERS}
# The optimizers that wrap no other one.
PLAIN: Final = tuple(row for row in OPTIMIZERS if WRAPPED not in row.hyper_params)
FLAGS: Final = frozenset(name for row in OPTIMIZERS for name in row.flags)
# The hyper-parameters that flax computed with.
NUMBERS: Final = frozenset(
    name for row in OPTIMIZERS for name in row.hyper_params if name not in (WRAPPED, DTYPE)
)

# The other names of flax.optim.base: those that `import *` imported, and those in the module only.
BASE: Final = (
    "ModelParamTraversal",
    "MultiOptimizer",
    "Optimizer",
    "OptimizerDef",
    "OptimizerState",
)
BASE_PRIVATE: Final = ("ReplicatedOptimizer", "_NoAux", "_ShapeDtype")
# The one part of flax.optim that flax still has.
DYNAMIC_SCALE: Final = ("DynamicScale", "DynamicScaleResult")
MODULES: Final = tuple(sorted([*(row.module for row in OPTIMIZERS), "base", "dynamic_scale"]))
# The names that `import *` imported from flax.optim, without its modules.
PUBLIC: Final = (*BY_NAME, *BASE, DYNAMIC_SCALE[0])
