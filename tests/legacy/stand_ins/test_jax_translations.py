"""Rules by which primitives of one's own were compiled."""

from __future__ import annotations

from typing import Any

import jax
import pytest
from jax.extend.core import Primitive

from flaxoptim_compat.legacy.stand_ins import jax_translations
from tests.support.vectors import X


def doubling(name: str) -> Any:
    primitive = Primitive(name)
    primitive.def_impl(lambda x: 2 * x)
    primitive.def_abstract_eval(lambda aval: aval)
    return primitive


@pytest.mark.parametrize("how", ["register", "table", "platform", "table of platform"])
def test_a_rule_from_a_function_compiles(how: str) -> None:
    primitive = doubling(f"doubling_{how}")
    rule = jax_translations.lower_fun(lambda x: 2 * x, multiple_results=False, new_style=True)
    if how == "register":
        jax_translations.register_translation(primitive, rule)
        assert jax_translations.translations[primitive] is rule
    elif how == "table":
        jax_translations.translations[primitive] = rule
    elif how == "platform":
        jax_translations.register_translation(primitive, rule, platform="cpu")
        assert jax_translations.backend_specific_translations["cpu"][primitive] is rule
    else:
        jax_translations.backend_specific_translations["cpu"][primitive] = rule
    assert jax.jit(primitive.bind)(X).tolist() == (2 * X).tolist()


def test_a_rule_of_operations_of_xla_is_only_kept() -> None:
    primitive = doubling("doubling_in_xla")
    rule = lambda context, avals_in, avals_out, x: [x]
    jax_translations.register_translation(primitive, rule)
    assert jax_translations.translations[primitive] is rule
    with pytest.raises(NotImplementedError, match="doubling_in_xla"):
        jax.jit(primitive.bind)(X)
