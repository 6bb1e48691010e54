"""A compiled function with the bits of the same function run operation by operation, on CPU.

XLA computes many operations in one loop, and rounds otherwise there: a product and a sum are
rounded once, a division by a constant becomes a product, half precision is kept in float32, a sum
is taken in another order. No setting prevents this for a single function. A number that the
compiler cannot know does: an argument that is always zero. The function adds -0.0 to a result that
XLA would merge with its reader (in half precision, it combines the bits with zero by exclusive or).
An operation that must stand by itself is computed in a branch that is always taken.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core

from flaxoptim_compat.versions.of_jax import is_inlined

# An array, traced or not, or a Python number.
_Value: TypeAlias = Any
# Equations that are compiled as one: each but the first reads the result of the equation before,
# and constants.
_Unit: TypeAlias = list[core.JaxprEqn]

# The argument that is always zero.
ZERO = np.uint32(0)

# These operations pass numbers on unchanged, so XLA can merge an operation before them with one
# behind them.
_HANDS_ON = frozenset(
    {
        "abs",
        "broadcast_in_dim",
        "complex",
        "concatenate",
        "conj",
        "convert_element_type",
        "copy",
        "expand_dims",
        "imag",
        "neg",
        "real",
        "reshape",
        "rev",
        "select_n",
        "slice",
        "squeeze",
        "transpose",
    }
)
_PRODUCTS = ("mul", "square", "integer_pow")
_SUMS = frozenset({"add", "add_any", "sub"})
# The end of the name of an operation with a constant among its inputs.
_CONSTANT = " a constant"
# {operation: the readers with which XLA merges its result}. A product, or a quotient by one number
# for all elements, is rounded together with a sum; constant factors and terms are gathered;
# (A / B) / C becomes A / (B * C), and A / sqrt(B) becomes A * rsqrt(B).
_MERGED: dict[str, frozenset[str]] = {
    **dict.fromkeys(_PRODUCTS, _SUMS | {"sqrt"}),
    "div": _SUMS | {"div"},
    **dict.fromkeys(("sqrt", "rsqrt", "pow"), frozenset({"div", "mul", "sqrt", "rsqrt", "pow"})),
    **dict.fromkeys((f"mul{_CONSTANT}", f"div{_CONSTANT}"), frozenset({*_PRODUCTS, "div"})),
    **dict.fromkeys(
        (f"{name}{_CONSTANT}" for name in _SUMS),
        frozenset(f"{name}{_CONSTANT}" for name in _SUMS),
    ),
}
# XLA computes these operations in another way for another number of elements, and with other
# operations around them.
_STANDS_ALONE = frozenset(
    {"reduce_sum", "reduce_prod", "dot_general", "cumsum", "cumprod", "cumlogsumexp"}
)
_STANDS_ALONE_UNLESS_SCALAR = frozenset(
    {
        "cbrt",
        "cos",
        "erf",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log1p",
        "logistic",
        "pow",
        "rsqrt",
        "sin",
        "tanh",
    }
)


def rounding_each(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function to be compiled, with the bits that ``function`` has operation by operation.

    The result takes ``ZERO`` before the arguments of ``function``. Several arrays that are divided
    by one number get the bits of a single call of jax that divides them all, such as optax's
    correction of a bias.
    """

    def rounding(zero: jax.Array, *args: Any) -> Any:
        traced, shapes = jax.make_jaxpr(function, return_shape=True)(*args)
        leaves = jax.tree.leaves(args)
        if any(is_inlined(each.params) for each in traced.eqns):
            traced = jax.make_jaxpr(functools.partial(_inlined, traced))(*leaves)
        results = _Evaluation(zero, traced.jaxpr).run(traced.consts, leaves)
        return jax.tree.unflatten(jax.tree.structure(shapes), results)

    return rounding


def _inlined(closed: core.ClosedJaxpr, *args: _Value) -> list[_Value]:
    values = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    values.update(zip(closed.jaxpr.invars, args, strict=True))
    for equation in closed.eqns:
        inputs = _read(equation.invars, values)
        if is_inlined(equation.params):
            found = _inlined(equation.params["jaxpr"], *inputs)
        else:
            found = _bind(equation, inputs)
        values.update(zip(equation.outvars, found, strict=True))
    return _read(closed.jaxpr.outvars, values)


def _read(
    atoms: Sequence[core.Literal | core.Var], values: Mapping[core.Var, _Value]
) -> list[_Value]:
    return [atom.val if isinstance(atom, core.Literal) else values[atom] for atom in atoms]


class _Evaluation:
    """The equations of a function, evaluated with additions and branches that keep roundings."""

    def __init__(self, zero: jax.Array, jaxpr: core.Jaxpr) -> None:
        self._zero = zero
        self._jaxpr = jaxpr
        self._values: dict[core.Var, _Value] = {}
        self._readers = _readers(jaxpr)
        self._known_zeros: dict[tuple[jnp.dtype[Any], tuple[int, ...]], jax.Array] = {}

    def run(self, consts: Sequence[_Value], args: Sequence[_Value]) -> list[_Value]:
        # Guarded: XLA must not know them as constants.
        hidden = map(self._guarded, map(jnp.asarray, consts))
        self._values.update(zip(self._jaxpr.constvars, hidden, strict=True))
        self._values.update(zip(self._jaxpr.invars, args, strict=True))
        for together, alone in _levels(self._jaxpr):
            for equation in together:
                self._bind_guarded(equation)
            if alone:
                self._bind_alone(alone)
        return _read(self._jaxpr.outvars, self._values)

    def _inputs(self, equation: core.JaxprEqn) -> list[_Value]:
        """The inputs of an equation; operation by operation, constants are arguments."""
        inputs = _read(equation.invars, self._values)
        # XLA multiplies to divide by a constant, and takes roots for a constant power. Zero stays a
        # constant: with -0.0 added, XLA makes -0.0 of it, and the other infinity of a quotient.
        if equation.primitive.name not in ("div", "pow"):
            return inputs
        return [
            self._guarded(jnp.asarray(value, _array(atom).dtype))
            if isinstance(atom, core.Literal) and value != 0
            else value
            for atom, value in zip(equation.invars, inputs, strict=True)
        ]

    def _bind_guarded(self, equation: core.JaxprEqn) -> None:
        inputs = self._inputs(equation)
        for variable, value in zip(equation.outvars, _bind(equation, inputs), strict=True):
            hidden = self._is_merged(equation, variable) or _is_constant(equation)
            self._values[variable] = self._guarded(value) if hidden else value

    def _is_merged(self, equation: core.JaxprEqn, variable: core.Var) -> bool:
        readers = self._readers.get(variable, frozenset())
        if not readers or not jnp.issubdtype(_array(variable).dtype, jnp.floating):
            return False
        if _array(variable).dtype.itemsize < 4:
            # Guarded twice by the same zero, a result would be known again.
            return not _hands_on_unrounded(equation)
        merged = (_MERGED.get(name, frozenset()) for name in _names(equation))
        return any(not each.isdisjoint(readers) for each in merged)

    def _guarded(self, value: _Value) -> _Value:
        if not jnp.issubdtype(value.dtype, jnp.inexact):
            return value
        if value.dtype.itemsize >= 4:
            # Adding -0.0 changes no bit, also if XLA rounds the sum together with a product.
            return lax.add(value, self._zeros(value.dtype, value.shape))
        # XLA would add in float32.
        bits = lax.bitcast_convert_type(value, f"uint{8 * value.dtype.itemsize}")
        same = lax.bitwise_xor(bits, self._zeros(bits.dtype, value.shape))
        return lax.bitcast_convert_type(same, value.dtype)

    def _zeros(self, dtype: jnp.dtype[Any], shape: tuple[int, ...]) -> jax.Array:
        """The zero argument in a dtype and a shape; -0.0 in floating point."""
        known = self._known_zeros.get((dtype, shape))
        if known is None:
            zero = self._zero.astype(dtype)
            known = lax.broadcast(
                -zero if jnp.issubdtype(dtype, jnp.inexact) else zero,
                shape,
            )
            self._known_zeros[dtype, shape] = known
        return known

    def _bind_alone(self, units: Sequence[_Unit]) -> None:
        """Compute units in a branch, which XLA compiles by itself."""
        inputs = [self._inputs(unit[0]) for unit in units]

        def compute(inputs: list[list[_Value]]) -> list[list[list[_Value]]]:
            return [list(_bind_all(*pair)) for pair in zip(units, inputs, strict=True)]

        def nothing(inputs: list[list[_Value]]) -> list[list[list[_Value]]]:
            del inputs
            return [[list(map(_zeros, equation.outvars)) for equation in unit] for unit in units]

        results = lax.cond(self._zero == 0, compute, nothing, inputs)
        for unit, unit_results in zip(units, results, strict=True):
            for equation, values in zip(unit, unit_results, strict=True):
                self._values.update(zip(equation.outvars, values, strict=True))


def _array(atom: core.Literal | core.Var) -> jax.core.ShapedArray:
    """The shape and the dtype of an input or a result of an equation."""
    return cast("jax.core.ShapedArray", atom.aval)


def _zeros(variable: core.Var) -> jax.Array:
    return jnp.zeros(_array(variable).shape, _array(variable).dtype)


def _bind(equation: core.JaxprEqn, inputs: Sequence[_Value]) -> list[_Value]:
    params = equation.primitive.get_bind_params(equation.params)
    # Before jax 0.8 the called functions are beside the other parameters.
    functions, params = params if isinstance(params, tuple) else ((), params)
    with equation.ctx.manager:
        results = equation.primitive.bind(*functions, *inputs, **params)
    return list(results) if equation.primitive.multiple_results else [results]


def _bind_all(unit: _Unit, inputs: Sequence[_Value]) -> Iterator[list[_Value]]:
    """The results of each equation of a unit; each but the first reads the result before it."""
    values: dict[core.Var, _Value] = {}
    for equation in unit:
        results = _bind(equation, _read(equation.invars, values) if values else inputs)
        values = dict(zip(equation.outvars, results, strict=True))
        yield results


def _readers(jaxpr: core.Jaxpr) -> dict[core.Var, frozenset[str]]:
    """The names of the operations that read each variable, directly or after it is passed on."""
    readers: dict[core.Var, frozenset[str]] = {}
    for equation in reversed(jaxpr.eqns):
        names = _names(equation)
        if _hands_on(equation):
            names |= frozenset().union(*(readers.get(out, frozenset()) for out in equation.outvars))
        for atom in equation.invars:
            if isinstance(atom, core.Var):
                readers[atom] = readers.get(atom, frozenset()) | names
    return readers


def _names(equation: core.JaxprEqn) -> frozenset[str]:
    """The name of an operation, and also its marked name if one of its inputs is a constant."""
    name = equation.primitive.name
    if any(isinstance(atom, core.Literal) for atom in equation.invars):
        return frozenset({name, f"{name}{_CONSTANT}"})
    return frozenset({name})


def _hands_on(equation: core.JaxprEqn) -> bool:
    if inner := _inner(equation):
        return all(_hands_on(each) for jaxpr in inner for each in jaxpr.eqns)
    return equation.primitive.name in _HANDS_ON


def _hands_on_unrounded(equation: core.JaxprEqn) -> bool:
    """True if each number of the result is one of an input, with the same bits but for the sign."""
    floating = [dtype for dtype in _dtypes(equation) if jnp.issubdtype(dtype, jnp.floating)]
    return _hands_on(equation) and len(floating) == 1


def _dtypes(equation: core.JaxprEqn) -> set[jnp.dtype[Any]]:
    return {_array(atom).dtype for atom in (*equation.invars, *equation.outvars)}


def _is_constant(equation: core.JaxprEqn) -> bool:
    """True for a number that XLA would compute while it compiles."""
    numbers = [*equation.invars, *equation.outvars]
    return all(isinstance(atom, core.Literal) for atom in equation.invars) and not any(
        _array(atom).shape for atom in numbers
    )


def _inner(equation: core.JaxprEqn) -> list[core.Jaxpr]:
    """The functions that an equation calls; operation by operation, each is compiled as a whole."""
    called = []
    for value in equation.params.values():
        # A branch has a tuple of functions.
        for function in value if isinstance(value, tuple) else (value,):
            if isinstance(function, core.ClosedJaxpr):
                called.append(function.jaxpr)
            elif isinstance(function, core.Jaxpr):
                called.append(function)
    return called


def _stands_alone(equation: core.JaxprEqn) -> bool:
    if _inner(equation):
        return not _hands_on(equation)
    name = equation.primitive.name
    # LLVM may reorder operations on complex numbers, and even simplify (a - b) + b to a.
    if any(jnp.issubdtype(dtype, jnp.complexfloating) for dtype in _dtypes(equation)):
        return name == "abs" or name not in _HANDS_ON
    if name in _STANDS_ALONE:
        return any(math.prod(_array(atom).shape) > 1 for atom in equation.invars)
    return name in _STANDS_ALONE_UNLESS_SCALAR and math.prod(_array(equation.outvars[0]).shape) > 1


def _levels(jaxpr: core.Jaxpr) -> Iterator[tuple[list[core.JaxprEqn], list[_Unit]]]:
    """The equations of each level that are computed together, and its units that stand alone.

    A unit that reads no other unit that stands alone, directly or through other equations, is on
    the first level; a unit that reads units of one level is on the next. Few branches then hold all
    units. No equation reads a result of a later level.
    """
    makers: dict[core.Var, core.JaxprEqn] = {}
    level: dict[core.Var, int] = {}
    together: dict[int, list[core.JaxprEqn]] = {}
    alone: dict[int, dict[core.Var, _Unit]] = {}
    for equation in jaxpr.eqns:
        above = max((level.get(atom, 0) for atom in _variables(equation)), default=0)
        if mean := _mean(equation, makers):
            units = alone[above - 1]
            units.pop(mean[0].outvars[0], None)
            units[equation.outvars[0]] = mean
        elif _stands_alone(equation):
            alone.setdefault(above, {})[equation.outvars[0]] = [equation]
            above += 1
        else:
            together.setdefault(above, []).append(equation)
        level.update(dict.fromkeys(equation.outvars, above))
        makers.update(dict.fromkeys(equation.outvars, equation))
    for each in sorted({*together, *alone}):
        yield together.get(each, []), list(alone.get(each, {}).values())


def _mean(equation: core.JaxprEqn, makers: Mapping[core.Var, core.JaxprEqn]) -> _Unit:
    """The unit of a mean, from the sum to the division by a constant; empty for other equations.

    Jax.numpy compiles these equations as one.
    """
    if equation.primitive.name != "div" or not isinstance(equation.invars[1], core.Literal):
        return []
    unit = [equation]
    while isinstance(atom := unit[0].invars[0], core.Var) and atom in makers:
        unit.insert(0, makers[atom])
        if unit[0].primitive.name == "reduce_sum":
            return unit if _stands_alone(unit[0]) else []
        if not _hands_on(unit[0]) or len(_variables(unit[0])) > 1:
            return []
    return []


def _variables(equation: core.JaxprEqn) -> list[core.Var]:
    return [atom for atom in equation.invars if isinstance(atom, core.Var)]
