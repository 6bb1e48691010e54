"""The namesakes in optax, for a user who accepts that the numbers change."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, Final

from flaxoptim_compat import syntax
from flaxoptim_compat.catalogue import BY_NAME, DTYPE, RATE
from flaxoptim_compat.formula_text.recorded import parameters_of, stages_of
from flaxoptim_compat.formula_text.stages import expression, written
from flaxoptim_compat.formula_text.term import Term
from flaxoptim_compat.migrate.optax_text.binding import Bound
from flaxoptim_compat.versions.of_python import warnings_ignored

_STEPS: Final = 20
_ANY: Final = 1e9


def has_namesake(name: str) -> bool:
    """True if the exact text needs this package, and optax has an optimizer of the same name."""
    row = BY_NAME[name]
    return row.needs_transforms and bool(row.namesake)


def exact(name: str, terms: Mapping[str, Any]) -> ast.expr:
    """The expression that does the same as an optimizer.

    Args:
      name: the class of the optimizer.
      terms: the hyper-parameters as they stand in the expression.
    """
    return expression(stages_of(name), terms, parameters_of)


def namesake(name: str, terms: Mapping[str, Any]) -> ast.expr:
    """The call of optax's namesake; the exact expression if there is none, or none is needed.

    Args:
      name: the class of the optimizer.
      terms: the hyper-parameters as they stand in the expression.
    """
    if not has_namesake(name):
        return exact(name, terms)
    row = BY_NAME[name]
    function = f"optax.{row.namesake}"
    values = {row.called.get(old, old): terms[old] for old in row.hyper_params if old != RATE}
    if name == "Adagrad":
        # Optax adds eps inside of the root, and else starts the sum of squares at 0.1.
        eps = Term.of(terms["eps"])
        squared: Any = syntax.called("pow", eps.node, ast.Constant(2))
        if isinstance(eps.value, int | float):
            squared = ast.Constant(float(f"{float(eps.value) ** 2:.3g}"))
        values |= {"initial_accumulator_value": 0.0, "eps": Term(squared)}
    if name == "Adafactor" and Term.of(terms["beta1"]).value is None:
        del values[DTYPE]
    # optax.adafactor has no argument for epsilon2.
    in_order = [each for each in parameters_of(function) if each in values]
    arguments = {each: values[each] for each in in_order}
    return written(function, [terms[RATE]], arguments, terms, parameters_of)


def measured(bound: Bound) -> str:
    """A sentence on how far the namesake moves a small model away from flax.optim.

    An argument that is no literal has the value of the table of ``flaxoptim_compat.parity``.
    """
    import jax.numpy as jnp
    import optax

    from flaxoptim_compat import optim
    from flaxoptim_compat.optim.terms import terms_of
    from flaxoptim_compat.parity import compare, trial
    from flaxoptim_compat.parity.survey import Namesake, final_error

    literals = {name: each.value for name, each in bound.arguments.items() if each.is_literal}
    unknown = [name for name in bound.arguments if name not in literals]
    if bound.rate is None:
        unknown.insert(0, RATE)
    with warnings_ignored():
        usual = Namesake(*BY_NAME[bound.name].suggested[0]).definition(optim)
        assumed = {
            name: getattr(usual.hyper_params, name) if name != DTYPE else usual.dtype_momentum.name
            for name in unknown
        }
        definition = getattr(optim, bound.name)(**literals, **assumed)
    terms = definition.values(terms_of(definition.hyper_params))
    text = syntax.in_one_line(namesake(bound.name, terms))
    transformation = eval(text, {"optax": optax, "jnp": jnp})
    params, grads = trial.small(_STEPS)
    # Within any tolerance, no time is spent on a search for the cause.
    error = final_error(compare(definition, transformation, params, grads, tolerance=_ANY))
    values = " and ".join(f"{name}={value}" for name, value in assumed.items())
    assumption = f", with {values} assumed" if values else ""
    return (
        f"after {_STEPS} steps of a small model the parameters differ by {error:.2g} of the"
        f" distance travelled{assumption}"
    )
