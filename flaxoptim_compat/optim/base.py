"""The names of ``flax.optim.base``: definition, optimizer, state, and their variants."""

from __future__ import annotations

from flaxoptim_compat.bridge.masks import _ShapeDtype
from flaxoptim_compat.optim.definition import OptimizerDef
from flaxoptim_compat.optim.model_param_traversal import ModelParamTraversal
from flaxoptim_compat.optim.multi_optimizer import MultiOptimizer
from flaxoptim_compat.optim.optimizer import Optimizer, _NoAux
from flaxoptim_compat.optim.replicated import ReplicatedOptimizer
from flaxoptim_compat.optim.state import OptimizerState

__all__ = [
    "ModelParamTraversal",
    "MultiOptimizer",
    "Optimizer",
    "OptimizerDef",
    "OptimizerState",
    "ReplicatedOptimizer",
    "_NoAux",
    "_ShapeDtype",
]
