"""What programs did with names that flax dropped beside ``flax.optim``."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.legacy.cases.old_names import Case, Old

X = np.asarray([[0.5, -1.0, 2.0]], np.float32)


def _named(old: Old, *, is_named: bool) -> Any:
    def dense(scope: Any, x: Any, features: int) -> Any:
        ones = old("jax.nn.initializers.ones")
        noise = old("jax.random.bits")(scope.make_rng("params"), (2,))
        scope.put_variable("state", "noise", noise)
        return x @ scope.param("kernel", ones, (x.shape[-1], features))

    def twice(scope: Any, x: Any) -> Any:
        layer = old("flax.core.lift.named_call")(dense, "layer") if is_named else dense
        return layer(scope.push("a"), layer(scope.push("b"), x, 2), features=2)

    y, variables = old("flax.core.init")(twice)(old("jax.random.PRNGKey")(0), X)
    state = {name: each["noise"] for name, each in variables["state"].items()}
    return [y, state, {name: each["kernel"] for name, each in variables["params"].items()}]


CASES: dict[str, Case] = {
    "named_call": lambda old: _named(old, is_named=True),
    "named_call changes no number": lambda old: [
        str(_named(old, is_named=True)) == str(_named(old, is_named=False))
    ],
    "settings": lambda old: [
        old(f"flax.config.{name}") for name in ("flax_filter_frames", "flax_lazy_rng")
    ],
    "a setting of one's own": lambda old: old("flax.config.bool_env")("NO_SUCH_VARIABLE", False),
    "a rule that is switched off": lambda old: old("flax.core.scope.jax_config").jax_disable_jit,
    "the same object": lambda old: old("flax.jax_utils.config") is old("jax.config.config"),
}
