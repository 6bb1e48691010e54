"""What reached into jax: ``jax.core``, traced loops and masks, primitives of one's own."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.extend.core import Primitive, jaxpr_as_fun

from flaxoptim_compat.legacy.stand_ins import jax_core, jax_loops, jax_masking, jax_translations
from tests.support.vectors import X

# --- jax.core


def test_named_axes() -> None:
    sizes = jax.vmap(lambda x: x + jax_core.axis_frame("i").size, axis_name="i")(X)
    assert sizes.tolist() == (X + 4).tolist()
    with pytest.raises(NameError):
        jax_core.axis_frame("i")
    (aval,) = jax.make_jaxpr(lambda: jnp.asarray(1.0))().out_avals
    assert jax_core.raise_to_shaped(aval) is aval
    assert not jax_core.raise_to_shaped(aval, weak_type=False).weak_type


def test_how_deep_tracing_is() -> None:
    seen = []

    def look(x: jax.Array) -> jax.Array:
        seen.append(jax_core.cur_sublevel().level)
        return x

    look(X)
    jax.vmap(look)(X)
    jax.jit(look)(X)
    jax.jit(jax.vmap(jax.grad(lambda x: look(x).sum())))(X)
    assert seen == [0, 0, 1, 1]


def test_which_transformations_trace() -> None:
    seen = []

    def look(x: jax.Array) -> jax.Array:
        stack = jax_core.thread_local_state.trace_state.trace_stack.stack
        assert [each.level for each in stack] == list(range(len(stack)))
        seen.append([each.trace_type.__name__ for each in stack][1:])
        return x

    look(X)
    jax.jit(look)(X)
    jax.jit(jax.vmap(look))(X)
    assert seen == [[], ["DynamicJaxprTrace"], ["DynamicJaxprTrace", "BatchTrace"]]


def test_the_jaxpr_that_is_called() -> None:
    jaxpr = jax.make_jaxpr(jax.jit(lambda x: 2 * x))(1.0)
    (equation,) = jaxpr.eqns
    assert equation.primitive is jax_core.jit_p
    called, params = jax_core.extract_call_jaxpr(equation.primitive, equation.params)
    assert len(called.eqns) == 1 and "jaxpr" not in params
    (multiply,) = called.eqns
    assert jax_core.extract_call_jaxpr(multiply.primitive, multiply.params) == (
        None,
        multiply.params,
    )
    primitive = Primitive("calling")
    primitive.call_primitive = True
    found = jax_core.extract_call_jaxpr(primitive, {"call_jaxpr": called, "name": "f"})
    assert found == (called, {"name": "f"})
    # No variable of it is one for no value.
    assert not [var for var in called.invars if isinstance(var, jax_core.UnitVar)]
    assert isinstance(jax_core.unitvar, jax_core.UnitVar)


@pytest.mark.skipif(
    not hasattr(jax.extend.core, "gensym"), reason="before jax 0.10, a variable had a number"
)
def test_new_variables() -> None:
    closed = jax.make_jaxpr(lambda x: jax.lax.integer_pow(x, 2))(X)
    (old,), (square,) = closed.jaxpr.outvars, closed.eqns
    new = jax_core.gensym([closed.jaxpr], "_new")
    again, other = new(old.aval), jax_core.gensym(suffix="_other")(old.aval)
    assert again is not other and type(again) is type(other) is type(old)
    assert again.aval is old.aval
    last = square.replace(invars=[old], outvars=[again])
    twice = closed.replace(jaxpr=closed.jaxpr.replace(eqns=[square, last], outvars=[again]))
    (result,) = jaxpr_as_fun(twice)(X)
    assert result.tolist() == jax.lax.integer_pow(jax.lax.integer_pow(X, 2), 2).tolist()


# --- loops of jax that were written as loops of Python


def scope() -> Any:
    return jax_loops.Scope()


def sums(x: Any) -> Any:
    with scope() as s:
        s.total, s.last = x, {"i": 0}
        for i in s.range(1, 8, 2):
            s.total += i
            s.last = {"i": i}
        for _ in s.cond_range(s.last["i"] > 5 if not isinstance(x, jax.core.Tracer) else True):
            s.total *= 2.0
        for _ in s.cond_range(False):
            s.total = -1.0
        return s.total, s.last


def halvings(x: float) -> Any:
    with scope() as s:
        s.x, s.n = x, 0
        for _ in s.while_range(lambda: s.x > 1.0):
            s.x, s.n = s.x / 2, s.n + 1
    return s.n


def test_they_compute_what_they_say() -> None:
    for function in (sums, jax.jit(sums)):
        total, last = function(1.0)
        assert float(total) == 34.0 and int(last["i"]) == 7
        assert total.dtype == jnp.float32 and last["i"].dtype == jnp.int32
    assert int(halvings(10.0)) == 4 and isinstance(halvings(0.5), jax.Array)
    assert float(jax.grad(lambda x: sums(x)[0])(1.0)) == 2.0


def test_a_range_from_zero_and_one_of_no_rounds() -> None:
    with scope() as s:
        s.seen = 0.0
        for _ in s.range(3):
            s.seen += 1
        for _ in s.range(0):
            s.seen = -1.0
        assert float(s.seen) == 3.0


def test_under_jit_a_condition_must_be_known() -> None:
    with pytest.raises(jax.errors.TracerBoolConversionError) as caught:
        jax.jit(halvings)(10.0)
    # Before Python 3.11 an error has no notes beside its message.
    notes = getattr(caught.value, "__notes__", [str(caught.value)])
    assert "jax.lax.while_loop" in notes[0]


# --- jax.mask, of which there is only what an import needs


def test_rules_can_be_given() -> None:
    jax_masking.defvectorized("primitive")
    jax_masking.defnaryop("primitive")
    jax_masking.masking_rules["primitive"] = None
    assert jax_masking.shape_as_value((2, 3)) == (2, 3)
    assert jax_masking.padded_shape_as_value((2, 3)) == (2, 3)


def test_a_masked_function_says_that_there_are_none() -> None:
    masked = jax_masking.mask(test_rules_can_be_given, in_shapes=["n"], out_shape="")
    with pytest.raises(NotImplementedError, match=r"test_rules_can_be_given is .*Pad the arrays"):
        masked([1.0], {"n": 1})


# --- rules by which primitives of one's own were compiled


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
