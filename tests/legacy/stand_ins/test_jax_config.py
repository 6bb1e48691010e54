"""The flag of omnistaging, which is taken and changes nothing."""

from __future__ import annotations

import jax

from flaxoptim_compat.legacy.stand_ins import jax_config


def test_omnistaging_is_on() -> None:
    undo = jax_config.accept_omnistaging()
    jax.config.enable_omnistaging()  # type: ignore[attr-defined]
    jax_config.accept_omnistaging()()
    assert hasattr(jax_config.config, "enable_omnistaging")
    flags = ("omnistaging_enabled", "jax_omnistaging", "jax_experimental_name_stack")
    assert [getattr(jax.config, flag) for flag in flags] == [True] * 3
    undo()
    undo()
    for name in ("enable_omnistaging", *flags):
        assert not hasattr(jax.config, name)
