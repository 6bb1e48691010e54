"""What ``flax.nn.base`` and ``flax.nn.utils`` had."""

from __future__ import annotations

from flaxoptim_compat.nn.call_stack import CallStack as CallStack
from flaxoptim_compat.nn.call_stack import classproperty as classproperty
from flaxoptim_compat.nn.collection import Collection as Collection
from flaxoptim_compat.nn.collection import ModuleState as ModuleState
from flaxoptim_compat.nn.collection import capture_module_outputs as capture_module_outputs
from flaxoptim_compat.nn.collection import collection_from_iterable as collection_from_iterable
from flaxoptim_compat.nn.collection import get_state as get_state
from flaxoptim_compat.nn.collection import is_stateful as is_stateful
from flaxoptim_compat.nn.collection import iterate_collection as iterate_collection
from flaxoptim_compat.nn.collection import stateful as stateful
from flaxoptim_compat.nn.modules import MODULE_CLASSMETHODS as MODULE_CLASSMETHODS
from flaxoptim_compat.nn.modules import Model as Model
from flaxoptim_compat.nn.modules import Module as Module
from flaxoptim_compat.nn.modules import TransparentModule as TransparentModule
from flaxoptim_compat.nn.modules import TruncatedModule as TruncatedModule
from flaxoptim_compat.nn.modules import module as module
from flaxoptim_compat.nn.modules import module_method as module_method
