"""Stand-ins for names of jax, flax and numpy in the days of ``flax.optim`` without a successor.

Programs that ``rewrite`` has changed import the stand-ins from here. A stand-in is loaded when a
program asks for its name, so a program with numpy's names only needs no jax.
"""

from __future__ import annotations

import importlib
import sys

from flaxoptim_compat.legacy.names.public import MODULES, NAMES

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from typing import Any

    from flaxoptim_compat.era import flax_deprecated as flax_deprecated
    from flaxoptim_compat.era import global_device_array as global_device_array
    from flaxoptim_compat.era import host_callback as host_callback
    from flaxoptim_compat.era import jax_util as jax_util
    from flaxoptim_compat.era import maps as maps
    from flaxoptim_compat.era import x64_context as x64_context
    from flaxoptim_compat.era import xla_bridge as xla_bridge
    from flaxoptim_compat.era import xla_client as xla_client
    from flaxoptim_compat.era import xla_extension as xla_extension
    from flaxoptim_compat.era.x64_context import disable_x64 as disable_x64
    from flaxoptim_compat.era.x64_context import enable_x64 as enable_x64
    from flaxoptim_compat.legacy.stand_ins.flax_names import ConvLSTM as ConvLSTM
    from flaxoptim_compat.legacy.stand_ins.jax_core import axis_frame as axis_frame
    from flaxoptim_compat.legacy.stand_ins.jax_core import raise_to_shaped as raise_to_shaped
    from flaxoptim_compat.legacy.stand_ins.jax_functions import (
        custom_transforms as custom_transforms,
    )
    from flaxoptim_compat.legacy.stand_ins.jax_functions import defjvp as defjvp
    from flaxoptim_compat.legacy.stand_ins.jax_functions import defjvp_all as defjvp_all
    from flaxoptim_compat.legacy.stand_ins.jax_functions import defvjp as defvjp
    from flaxoptim_compat.legacy.stand_ins.jax_functions import defvjp_all as defvjp_all
    from flaxoptim_compat.legacy.stand_ins.jax_functions import (
        device_put_replicated as device_put_replicated,
    )
    from flaxoptim_compat.legacy.stand_ins.jax_functions import (
        device_put_sharded as device_put_sharded,
    )
    from flaxoptim_compat.legacy.stand_ins.jax_functions import fix as fix
    from flaxoptim_compat.legacy.stand_ins.jax_functions import in1d as jnp_in1d  # noqa: F401
    from flaxoptim_compat.legacy.stand_ins.jax_functions import msort as jnp_msort  # noqa: F401
    from flaxoptim_compat.legacy.stand_ins.jax_functions import shuffle as shuffle
    from flaxoptim_compat.legacy.stand_ins.jax_functions import sph_harm as sph_harm
    from flaxoptim_compat.legacy.stand_ins.jax_functions import threefry2x32_key as threefry2x32_key
    from flaxoptim_compat.legacy.stand_ins.jax_functions import tie_in as tie_in
    from flaxoptim_compat.legacy.stand_ins.jax_functions import to_dlpack as to_dlpack
    from flaxoptim_compat.legacy.stand_ins.jax_functions import (
        xla_computation as xla_computation,
    )
    from flaxoptim_compat.legacy.stand_ins.jax_ops import index_add as index_add
    from flaxoptim_compat.legacy.stand_ins.jax_ops import index_max as index_max
    from flaxoptim_compat.legacy.stand_ins.jax_ops import index_min as index_min
    from flaxoptim_compat.legacy.stand_ins.jax_ops import index_mul as index_mul
    from flaxoptim_compat.legacy.stand_ins.jax_ops import index_update as index_update
    from flaxoptim_compat.legacy.stand_ins.jax_test_case import JaxTestCase as JaxTestCase
    from flaxoptim_compat.legacy.stand_ins.jax_test_util import check_close as check_close
    from flaxoptim_compat.legacy.stand_ins.jax_test_util import check_eq as check_eq
    from flaxoptim_compat.legacy.stand_ins.jax_trees import tree_map as tree_map
    from flaxoptim_compat.legacy.stand_ins.numpy_names import NINF as NINF
    from flaxoptim_compat.legacy.stand_ins.numpy_names import NZERO as NZERO
    from flaxoptim_compat.legacy.stand_ins.numpy_names import PZERO as PZERO
    from flaxoptim_compat.legacy.stand_ins.numpy_names import alen as alen
    from flaxoptim_compat.legacy.stand_ins.numpy_names import asfarray as asfarray
    from flaxoptim_compat.legacy.stand_ins.numpy_names import asscalar as asscalar
    from flaxoptim_compat.legacy.stand_ins.numpy_names import disp as disp
    from flaxoptim_compat.legacy.stand_ins.numpy_names import in1d as in1d
    from flaxoptim_compat.legacy.stand_ins.numpy_names import msort as msort
    from flaxoptim_compat.legacy.stand_ins.numpy_types import cast as cast
    from flaxoptim_compat.legacy.stand_ins.numpy_types import find_common_type as find_common_type
    from flaxoptim_compat.legacy.stand_ins.numpy_types import issctype as issctype
    from flaxoptim_compat.legacy.stand_ins.numpy_types import issubclass_ as issubclass_
    from flaxoptim_compat.legacy.stand_ins.numpy_types import issubsctype as issubsctype
    from flaxoptim_compat.legacy.stand_ins.numpy_types import maximum_sctype as maximum_sctype
    from flaxoptim_compat.legacy.stand_ins.numpy_types import nbytes as nbytes
    from flaxoptim_compat.legacy.stand_ins.numpy_types import obj2sctype as obj2sctype
    from flaxoptim_compat.legacy.stand_ins.numpy_types import sctype2char as sctype2char
    from flaxoptim_compat.legacy.stand_ins.numpy_types import sctypes as sctypes


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return _names()
    if name in MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in NAMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])
    module, _, attribute = NAMES[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def _names() -> list[str]:
    return sorted({*MODULES, *NAMES})


def __dir__() -> list[str]:
    return sorted({*globals(), *_names()})
