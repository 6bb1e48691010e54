"""Optax's own optimizers of the same name, for a user who accepts that the numbers change."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final

from flaxoptim_compat.migrate.chains.binding import Bound
from flaxoptim_compat.migrate.chains.signatures import DTYPE, RATE

if TYPE_CHECKING:
    from flaxoptim_compat.parity.namesakes import Namesake

# {class: {hyper-parameter: what optax's namesake calls it}}. Adafactor's epsilon2 has no place.
_ARGUMENTS: Final = {
    "Adafactor": {
        "min_dim_size_to_factor": "min_dim_size_to_factor",
        "decay_rate": "decay_rate",
        "step_offset": "decay_offset",
        "multiply_by_parameter_scale": "multiply_by_parameter_scale",
        "clipping_threshold": "clipping_threshold",
        "beta1": "momentum",
        "weight_decay_rate": "weight_decay_rate",
        "epsilon1": "eps",
        "factored": "factored",
    },
    "Adagrad": {"eps": "eps"},
    "LAMB": {"beta1": "b1", "beta2": "b2", "eps": "eps", "weight_decay": "weight_decay"},
    "LARS": {
        "weight_decay": "weight_decay",
        "trust_coefficient": "trust_coefficient",
        "eps": "eps",
        "beta": "momentum",
        "nesterov": "nesterov",
    },
}
_STEPS: Final = 20
_ANY: Final = 1e9


def has_namesake(bound: Bound) -> bool:
    """Whether the exact text needs this package, and optax has something of the same name."""
    return bound.name in _ARGUMENTS


def namesake_text(definition: Any, hyper_params: Any) -> str:
    """The call of optax's namesake, with hyper-parameters that format as their text.

    Args:
      definition: one that has a namesake, or any other, whose text is the exact one.
      hyper_params: its hyper-parameters.
    """
    from flaxoptim_compat.optim.source_text import Number

    name = type(definition).__name__
    if name not in _ARGUMENTS:
        return str(definition.chain_text(hyper_params))
    values = {new: getattr(hyper_params, old) for old, new in _ARGUMENTS[name].items()}
    if name == "Adagrad":
        # Optax adds eps inside of the root, and else starts the sum of squares at 0.1.
        eps = values["eps"]
        squared = f"pow({eps}, 2)" if isinstance(eps, str) else Number(f"{float(eps) ** 2:.3g}")
        values = {"initial_accumulator_value": 0.0, "eps": squared}
    if name == "Adafactor" and values["momentum"] is not None:
        values[DTYPE] = f"jnp.{definition.dtype_momentum.name}"
    given = "".join(f", {new}={value}" for new, value in values.items())
    return f"optax.{_function(name)}({hyper_params.learning_rate}{given})"


def _function(name: str) -> str:
    """What the update guide of Flax suggests for a class."""
    suggested = _namesake(name).suggested
    assert suggested is not None
    return suggested.text("optax").partition("(")[0].removeprefix("optax.")


def _namesake(name: str) -> Namesake:
    from flaxoptim_compat.parity.namesakes import NAMESAKES

    start = f"optim.{name}("
    return next(each for each in NAMESAKES if each.legacy.text("optim").startswith(start))


def measured(bound: Bound) -> str:
    """How far the namesake takes the parameters of a small model from where flax.optim took them.

    What is no literal in the call is taken to be what the table of ``flaxoptim_compat.parity`` has.
    """
    import jax
    import jax.numpy as jnp
    import optax

    from flaxoptim_compat import optim
    from flaxoptim_compat.migrate.chains.expression import definition_of
    from flaxoptim_compat.optim.source_text import written
    from flaxoptim_compat.parity import compare, trial
    from flaxoptim_compat.parity.survey import final_error

    with warnings.catch_warnings(action="ignore"):
        usual = _namesake(bound.name).legacy.made(optim)
    assumed = {
        name: getattr(usual.hyper_params, name) if name != DTYPE else usual.dtype_momentum.name
        for name in _unknown(bound)
    }
    definition = definition_of(bound, assumed)
    text = namesake_text(definition, written(definition.hyper_params))
    namesake = eval(text, {"optax": optax, "jnp": jnp})
    params = {name: trial.parameters()[name] for name in ("dense", "norm")}
    step_of = jax.jit(lambda step: trial.gradients(params, step))
    grads = [jax.device_get(step_of(step)) for step in range(_STEPS)]
    # How far they are apart is asked for here, not why: no difference needs to be explained.
    error = final_error(compare(definition, namesake, params, grads, tolerance=_ANY))
    taken = " and ".join(f"{name}={value}" for name, value in assumed.items())
    given = f", with {taken} assumed" if taken else ""
    return (
        f"after {_STEPS} steps of a small model the parameters differ by {error:.2g} of the"
        f" distance travelled{given}"
    )


def _unknown(bound: Bound) -> list[str]:
    """The hyper-parameters whose values are not in the call, and a learning rate that is not."""
    names = [name for name, given in bound.arguments.items() if not given.is_literal]
    return names if bound.rate is not None else [RATE, *names]
