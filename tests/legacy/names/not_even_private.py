"""Lost names that jax 0.12 has not even for itself any more."""

from __future__ import annotations

from typing import Final

from jax._src import core

from flaxoptim_compat.legacy.entry import LegacyName

# No public name took the place of any of these.
_NAMES: Final = {
    "jax.core": "call_impl",
    "jax.interpreters.ad": "call_param_updaters call_transpose_param_updaters jvp_subtrace"
    " nonzero_tangent_outputs traceable",
    "jax.interpreters.partial_eval": "call_param_updaters call_partial_eval_rules"
    " convert_invars_to_constvars",
}


def may_be_nowhere(entry: LegacyName) -> bool:
    """Whether a name need not be served by the jax that is installed, since it lacks it itself.

    Args:
      entry: the row of the name.
    """
    listed = entry.attribute in _NAMES.get(entry.module, "").split()
    # They went with this class, of which jax 0.11 was the last.
    return listed and not hasattr(core, "CallPrimitive")
