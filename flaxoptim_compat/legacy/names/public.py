"""The names of ``flaxoptim_compat.era``, from which rewritten programs import stand-ins.

A name that a module lost is in the package itself. For a lost module the package has a module.
"""

from __future__ import annotations

from flaxoptim_compat.legacy.names.table import STAND_INS

ERA = "flaxoptim_compat.era"

# The modules in the era.
MODULES = (
    "flax_deprecated",
    "global_device_array",
    "host_callback",
    "jax_util",
    "maps",
    "x64_context",
    "xla_bridge",
    "xla_client",
    "xla_extension",
)

# {module of the stand-ins: the names in the era itself; new=old if numpy lost the same name}
_NAMES = {
    "flax_names": "ConvLSTM",
    "jax_core": "axis_frame raise_to_shaped",
    "jax_functions": (
        "custom_transforms defjvp defjvp_all defvjp defvjp_all device_put_replicated"
        " device_put_sharded fix jnp_in1d=in1d jnp_msort=msort shuffle sph_harm threefry2x32_key"
        " tie_in to_dlpack xla_computation"
    ),
    "jax_ops": "index_add index_max index_min index_mul index_update",
    "jax_test_case": "JaxTestCase",
    "jax_test_util": "check_close check_eq",
    "jax_trees": "tree_map",
    "numpy_names": "NINF NZERO PZERO alen asfarray asscalar disp in1d msort",
    "numpy_types": (
        "cast find_common_type issctype issubclass_ issubsctype maximum_sctype nbytes obj2sctype"
        " sctype2char sctypes"
    ),
}

# {name in the era: module:attribute of the stand-in}
NAMES: dict[str, str] = {
    **{name: f"{ERA}.x64_context:{name}" for name in ("disable_x64", "enable_x64")},
    **{
        new: f"{STAND_INS}{module}:{old or new}"
        for module, names in _NAMES.items()
        for new, _, old in (name.partition("=") for name in names.split())
    },
}
_PUBLIC = {served_by: f"{ERA}:{name}" for name, served_by in NAMES.items()}


def public(served_by: str) -> str:
    """The public name, for the imports of programs, of an object in ``LegacyName.served_by``."""
    return _PUBLIC.get(served_by, served_by)


def is_public(served_by: str) -> bool:
    """True if a program may import an object in ``LegacyName.served_by``."""
    if served_by in _PUBLIC:
        return True
    module, _, _ = served_by.partition(":")
    return "._" not in module and not module.startswith(("jaxlib.mlir", STAND_INS))
