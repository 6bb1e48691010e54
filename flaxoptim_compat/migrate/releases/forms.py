"""What the rewrite writes that not all versions know which this package allows."""

from __future__ import annotations

from typing import Final, NamedTuple


class Form(NamedTuple):
    """A name, or a call with certain keywords, that is younger than the oldest version.

    Args:
      package: whose it is.
      since: the first version that knows it.
      before: the expression that is written for older ones; "" if the place is left for them. Most
        of these have the lost name itself still.
    """

    package: str
    since: str
    before: str = ""


# jax.tree_util.keystr(keys, simple=True, separator="/")
SLASHED_KEYS: Final = "jax.tree_util:keystr(simple, separator)"
SPHERICAL_HARMONICS: Final = "jax.scipy.special:sph_harm_y"
# Each key of jax has one field, whose name depends on its class.
_SLASHED = "'/'.join(map(lambda k: str(getattr(k, *k.__match_args__)), keys))"

# By module:attribute, as the tables of successors have them, with keywords in brackets.
FORMS: Final = {
    "jax:process_indices": Form("jax", "0.4.33"),
    "jax:typeof": Form("jax", "0.5.3"),
    "jax.errors:InconclusiveDimensionOperation": Form("jax", "0.10.1"),
    "jax.errors:JaxRuntimeError": Form("jax", "0.4.34"),
    "jax.errors:JaxprTypeError": Form("jax", "0.10.1"),
    "jax.extend.backend:get_backend": Form("jax", "0.4.33"),
    "jax.extend.backend:get_compile_options": Form("jax", "0.7.0"),
    "jax.extend.core:AbstractToken": Form("jax", "0.10.0"),
    "jax.extend.core:DropVar": Form("jax", "0.10.0"),
    "jax.extend.core:Effect": Form("jax", "0.10.0"),
    "jax.extend.core:Effects": Form("jax", "0.10.0"),
    "jax.extend.core:check_jaxpr": Form("jax", "0.10.0"),
    "jax.extend.core:concrete_or_error": Form("jax", "0.10.0"),
    "jax.extend.core:find_top_trace": Form("jax", "0.10.0"),
    "jax.extend.core:jaxprs_in_params": Form("jax", "0.10.0"),
    "jax.extend.core:mapped_aval": Form("jax", "0.10.0"),
    "jax.extend.core:new_jaxpr_eqn": Form("jax", "0.10.0"),
    "jax.extend.core:no_effects": Form("jax", "0.10.0"),
    "jax.extend.core:primal_dtype_to_tangent_dtype": Form("jax", "0.10.0"),
    "jax.extend.core:subjaxprs": Form("jax", "0.10.0"),
    "jax.extend.core:unmapped_aval": Form("jax", "0.10.0"),
    "jax.extend.core:valid_jaxtype": Form("jax", "0.10.0"),
    "jax.ffi:abstract_token": Form("jax", "0.11.0"),
    "jax.lax:FftType": Form("jax", "0.4.35"),
    SPHERICAL_HARMONICS: Form("jax", "0.5.0"),
    SLASHED_KEYS: Form("jax", "0.5.1", before=_SLASHED),
    # The modules of the first two are attributes of numpy before, from which nothing is imported.
    "numpy.char:compare_chararrays": Form("numpy", "2.0.0"),
    "numpy.rec:format_parser": Form("numpy", "2.0.0"),
    "numpy:exceptions.RankWarning": Form("numpy", "2.0.0"),
    "numpy.exceptions:RankWarning": Form("numpy", "2.0.0"),
    "numpy:lib.array_utils.byte_bounds": Form("numpy", "2.0.0"),
    "numpy.lib.array_utils:byte_bounds": Form("numpy", "2.0.0"),
    "numpy:trapezoid": Form("numpy", "2.0.0"),
}
