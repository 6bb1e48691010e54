"""A compiled function with the bits of the same function run operation by operation, on CPU.

XLA computes many operations in one loop, and there it rounds otherwise: a product and a sum are
rounded once, a division by a constant becomes a product, half precision is kept in float32, a sum
is taken in another order. Nothing that a program can set prevents this for one function alone. What
does is a number that the compiler cannot know: an argument that is always zero. The bits of a
result that would be merged with what reads it are combined by exclusive or with that zero, and what
must stand by itself is computed in a branch that is always taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core

# An array, traced or not, or a number of Python.
_Value: TypeAlias = Any

# The argument that is always zero.
ZERO = np.uint32(0)

# These hand numbers on as they are. What is computed before them meets what is computed after.
_HANDS_ON = frozenset(
    {
        "abs",
        "broadcast_in_dim",
        "concatenate",
        "convert_element_type",
        "copy",
        "expand_dims",
        "neg",
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
# What a name ends with where one of the numbers is a constant.
_CONSTANT = " a constant"
# Which results XLA merges with which readers: a product, or a quotient by one number for all
# elements, is rounded together with a sum; constant factors and terms are gathered; (A / B) / C
# becomes A / (B * C), and A / sqrt(B) becomes A * rsqrt(B).
_MERGED: dict[str, frozenset[str]] = {
    **dict.fromkeys(_PRODUCTS, _SUMS | {"sqrt"}),
    "div": _SUMS | {"div"},
    **dict.fromkeys(("sqrt", "rsqrt", "pow"), frozenset({"div", "mul", "sqrt", "rsqrt", "pow"})),
    **dict.fromkeys((f"mul{_CONSTANT}", f"div{_CONSTANT}"), frozenset(_PRODUCTS)),
    **dict.fromkeys(
        (f"{name}{_CONSTANT}" for name in _SUMS),
        frozenset(f"{name}{_CONSTANT}" for name in _SUMS),
    ),
}
# How many elements a result has decides how these are computed, and so does what is around them.
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
    """The same function, to be compiled, with the bits that it has operation by operation.

    It takes ``ZERO`` before the arguments of ``function``. Complex numbers are excepted.
    """

    def rounding(zero: jax.Array, *args: Any) -> Any:
        traced, shapes = jax.make_jaxpr(function, return_shape=True)(*args)
        results = _Evaluation(zero, traced.jaxpr).run(traced.consts, jax.tree.leaves(args))
        return jax.tree.unflatten(jax.tree.structure(shapes), results)

    return rounding


class _Evaluation:
    """The equations of a function, evaluated with what keeps each rounding."""

    def __init__(self, zero: jax.Array, jaxpr: core.Jaxpr) -> None:
        self._zero = zero
        self._jaxpr = jaxpr
        self._values: dict[core.Var, _Value] = {}
        self._readers = _readers(jaxpr)
        self._known_zeros: dict[tuple[jnp.dtype[Any], tuple[int, ...]], jax.Array] = {}
        self._makers = {made: each for each in jaxpr.eqns for made in each.outvars}

    def run(self, consts: Sequence[_Value], args: Sequence[_Value]) -> list[_Value]:
        # To XLA they would be constants.
        hidden = map(self._guarded, map(jnp.asarray, consts))
        self._values.update(zip(self._jaxpr.constvars, hidden, strict=True))
        self._values.update(zip(self._jaxpr.invars, args, strict=True))
        for together, alone in _levels(self._jaxpr):
            for equation in together:
                self._bind_guarded(equation)
            if alone:
                self._bind_alone(alone)
        return [self._read(atom) for atom in self._jaxpr.outvars]

    def _read(self, atom: core.Literal | core.Var) -> _Value:
        return atom.val if isinstance(atom, core.Literal) else self._values[atom]

    def _inputs(self, equation: core.JaxprEqn) -> list[_Value]:
        """What an equation reads; operation by operation, constants are arguments."""
        inputs = [self._read(atom) for atom in equation.invars]
        # XLA divides by a constant by multiplying, and takes a constant power by roots.
        if equation.primitive.name not in ("div", "pow") or self._is_mean(equation):
            return inputs
        return [
            self._guarded(jnp.asarray(value, _array(atom).dtype))
            if isinstance(atom, core.Literal)
            else value
            for atom, value in zip(equation.invars, inputs, strict=True)
        ]

    def _is_mean(self, equation: core.JaxprEqn) -> bool:
        """Whether this divides a sum: jax.numpy compiles the two as one, and so here."""
        atom = equation.invars[0]
        while isinstance(atom, core.Var) and atom in self._makers:
            maker = self._makers[atom]
            if maker.primitive.name == "reduce_sum":
                return True
            if not _hands_on(maker):
                return False
            atom = maker.invars[0]
        return False

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
            return True
        merged = (_MERGED.get(name, frozenset()) for name in _names(equation))
        return any(not each.isdisjoint(readers) for each in merged)

    def _guarded(self, value: _Value) -> _Value:
        if not jnp.issubdtype(value.dtype, jnp.floating):
            return value
        bits = lax.bitcast_convert_type(value, f"uint{8 * value.dtype.itemsize}")
        same = lax.bitwise_xor(bits, self._zeros(bits.dtype, value.shape))
        return lax.bitcast_convert_type(same, value.dtype)

    def _zeros(self, dtype: jnp.dtype[Any], shape: tuple[int, ...]) -> jax.Array:
        known = self._known_zeros.get((dtype, shape))
        if known is None:
            known = lax.broadcast(self._zero.astype(dtype), shape)
            self._known_zeros[dtype, shape] = known
        return known

    def _bind_alone(self, equations: Sequence[core.JaxprEqn]) -> None:
        """Compute these in a branch, which XLA compiles by itself."""
        inputs = list(map(self._inputs, equations))

        def compute(inputs: list[list[_Value]]) -> list[list[_Value]]:
            return [_bind(*each) for each in zip(equations, inputs, strict=True)]

        def nothing(inputs: list[list[_Value]]) -> list[list[_Value]]:
            del inputs
            return [
                [
                    jnp.zeros(_array(variable).shape, _array(variable).dtype)
                    for variable in each.outvars
                ]
                for each in equations
            ]

        results = lax.cond(self._zero == 0, compute, nothing, inputs)
        for equation, values in zip(equations, results, strict=True):
            self._values.update(zip(equation.outvars, values, strict=True))


def _array(atom: core.Literal | core.Var) -> jax.core.ShapedArray:
    """The shape and the dtype of what an equation reads or makes."""
    return cast("jax.core.ShapedArray", atom.aval)


def _bind(equation: core.JaxprEqn, inputs: Sequence[_Value]) -> list[_Value]:
    params = equation.primitive.get_bind_params(equation.params)
    # Before jax 0.8 the functions that are called stand beside them.
    functions, params = params if isinstance(params, tuple) else ((), params)
    with equation.ctx.manager:
        found = equation.primitive.bind(*functions, *inputs, **params)
    return list(found) if equation.primitive.multiple_results else [found]


def _readers(jaxpr: core.Jaxpr) -> dict[core.Var, frozenset[str]]:
    """The names of what reads each variable, seen through what hands it on."""
    found: dict[core.Var, frozenset[str]] = {}
    for equation in reversed(jaxpr.eqns):
        names = _names(equation)
        if _hands_on(equation):
            names |= frozenset().union(*(found.get(out, frozenset()) for out in equation.outvars))
        for atom in equation.invars:
            if isinstance(atom, core.Var):
                found[atom] = found.get(atom, frozenset()) | names
    return found


def _names(equation: core.JaxprEqn) -> frozenset[str]:
    """What an equation does, and whether it does it with a constant."""
    name = equation.primitive.name
    if any(isinstance(atom, core.Literal) for atom in equation.invars):
        return frozenset({name, f"{name}{_CONSTANT}"})
    return frozenset({name})


def _hands_on(equation: core.JaxprEqn) -> bool:
    if inner := _inner(equation):
        return all(_hands_on(each) for jaxpr in inner for each in jaxpr.eqns)
    return equation.primitive.name in _HANDS_ON


def _is_constant(equation: core.JaxprEqn) -> bool:
    """Whether XLA would have computed this number once and for all."""
    numbers = [*equation.invars, *equation.outvars]
    return all(isinstance(atom, core.Literal) for atom in equation.invars) and not any(
        _array(atom).shape for atom in numbers
    )


def _inner(equation: core.JaxprEqn) -> list[core.Jaxpr]:
    """The functions that an equation calls; operation by operation, each is compiled as a whole."""
    found = []
    for value in equation.params.values():
        # Of a branch there are several.
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, core.ClosedJaxpr):
                found.append(each.jaxpr)
            elif isinstance(each, core.Jaxpr):
                found.append(each)
    return found


def _stands_alone(equation: core.JaxprEqn) -> bool:
    if _inner(equation):
        return not _hands_on(equation)
    name = equation.primitive.name
    if name in _STANDS_ALONE:
        return any(math.prod(_array(atom).shape) > 1 for atom in equation.invars)
    return name in _STANDS_ALONE_UNLESS_SCALAR and math.prod(_array(equation.outvars[0]).shape) > 1


def _levels(jaxpr: core.Jaxpr) -> Iterator[tuple[list[core.JaxprEqn], list[core.JaxprEqn]]]:
    """The equations such that each comes after what it reads, and those that stand alone together.

    What stands alone and waits for nothing that stands alone is one level, what waits for these is
    the next: few branches then hold them all.
    """
    level: dict[core.Var, int] = {}
    together: dict[int, list[core.JaxprEqn]] = {}
    alone: dict[int, list[core.JaxprEqn]] = {}
    for equation in jaxpr.eqns:
        read = [level.get(atom, 0) for atom in equation.invars if isinstance(atom, core.Var)]
        above = max(read, default=0)
        by_itself = _stands_alone(equation)
        (alone if by_itself else together).setdefault(above, []).append(equation)
        level.update(dict.fromkeys(equation.outvars, above + by_itself))
    for each in sorted({*together, *alone}):
        yield together.get(each, []), alone.get(each, [])
