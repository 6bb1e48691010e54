"""Names that ``jax.core`` had: named axes and abstract values."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax.extend.core import Primitive, jaxpr_as_fun

from flaxoptim_compat.legacy.stand_ins import jax_core
from tests.support.vectors import X


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
