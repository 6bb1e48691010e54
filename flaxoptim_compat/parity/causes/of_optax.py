"""An optax transformation as the definition of flax.optim that does the same, if there is one.

optax keeps the settings of a transformation in the closures of its functions, where they can be
read. Nothing is run for that, and nothing is taken for granted: whoever uses the definition
compares it with the transformation first.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import optax

from flaxoptim_compat import optim
from flaxoptim_compat.deprecation import FlaxOptimDeprecationWarning

Settings = Mapping[str, Any]

_DECAY = "add_decayed_weights"


class _Stage(NamedTuple):
    """One transformation of a chain: what made it, and with which settings."""

    maker: str
    settings: Settings

    @property
    def does_nothing(self) -> bool:
        """As the weight decay of optax.adadelta where there is none."""
        no_decay = self.maker == _DECAY and _is_zero(self.settings["weight_decay"])
        return no_decay or self.maker == "identity"


def _is_zero(value: Any) -> bool:
    return isinstance(value, int | float) and value == 0


def definition_of(tx: optax.GradientTransformation) -> Any:
    """The definition of flax.optim that a transformation could be; None if it is none."""
    stages = [each for each in _stages(tx.init, tx.update) if not each.does_nothing]
    found = {each.maker: each.settings for each in stages}
    order = [each.maker for each in stages]
    place = order.index(_DECAY) if _DECAY in order else None
    known = _KNOWN.get(tuple(each for each in order if each != _DECAY))
    # The decay stands where flax.optim had it, or it is another optimizer.
    if known is None or place not in (None, known.decay_at):
        return None
    settings = known.read(found)
    rate = found["scale"]["step_size"]
    if settings is None or not isinstance(rate, int | float):
        return None
    if place is not None:
        settings = {**settings, "weight_decay": found[_DECAY]["weight_decay"]}
    with warnings.catch_warnings():
        # The user did not make it.
        warnings.simplefilter("ignore", FlaxOptimDeprecationWarning)
        return known.cls(learning_rate=-rate, **settings)


def _stages(init: Any, update: Any) -> Iterator[_Stage]:
    maker = getattr(update, "__qualname__", "").partition(".<locals>")[0]
    inside = {**_closure(init), **_closure(update)}
    if not getattr(update, "__module__", "").startswith("optax."):
        yield _Stage("of another package", {})
    elif maker == "chain":
        for each in zip(inside["init_fns"], inside["update_fns"], strict=True):
            yield from _stages(*each)
    elif maker == "with_extra_args_support":
        yield from _stages(inside["tx"].init, inside["tx"].update)
    else:
        yield _Stage(maker, inside)


def _closure(function: Any) -> Settings:
    return inspect.getclosurevars(function).nonlocals if inspect.isfunction(function) else {}


def _moments(found: Mapping[str, Settings], maker: str) -> Settings | None:
    own = found[maker]
    if own.get("nesterov") or own.get("mu_dtype") is not None:
        return None
    return {"beta1": own["b1"], "beta2": own["b2"], "eps": own["eps"]}


def _adam(found: Mapping[str, Settings]) -> Settings | None:
    return None if found["scale_by_adam"]["eps_root"] else _moments(found, "scale_by_adam")


def _belief(found: Mapping[str, Settings]) -> Settings | None:
    own = found["scale_by_belief"]
    return _moments(found, "scale_by_belief") if own["eps"] == own["eps_root"] else None


def _rms(maker: str) -> Callable[[Mapping[str, Settings]], Settings | None]:
    def read(found: Mapping[str, Settings]) -> Settings | None:
        own = found[maker]
        if own["eps_in_sqrt"] or own["bias_correction"] or own["initial_scale"]:
            return None
        centered = maker == "scale_by_stddev"
        return {"beta2": own["decay"], "eps": own["eps"], "centered": centered}

    return read


def _trace(found: Mapping[str, Settings]) -> Settings | None:
    own = found["trace"]
    if own["accumulator_dtype"] is not None:
        return None
    return {"beta": own["decay"], "nesterov": own["nesterov"]}


class _Known(NamedTuple):
    """A class of flax.optim, where in its chain the decay would be, and what reads the settings."""

    cls: Any
    decay_at: int | None
    read: Callable[[Mapping[str, Settings]], Settings | None]


def _adadelta(found: Mapping[str, Settings]) -> Settings:
    return {name: found["scale_by_adadelta"][name] for name in ("rho", "eps")}


# By what makes the transformations of the chain, without the weight decay.
_KNOWN: dict[tuple[str, ...], _Known] = {
    ("scale",): _Known(optim.GradientDescent, None, lambda found: {}),
    ("trace", "scale"): _Known(optim.Momentum, 0, _trace),
    ("scale_by_adam", "scale"): _Known(optim.Adam, 1, _adam),
    ("scale_by_belief", "scale"): _Known(optim.AdaBelief, 1, _belief),
    ("scale_by_rms", "scale"): _Known(optim.RMSProp, None, _rms("scale_by_rms")),
    ("scale_by_stddev", "scale"): _Known(optim.RMSProp, None, _rms("scale_by_stddev")),
    ("scale_by_adadelta", "scale"): _Known(optim.Adadelta, 1, _adadelta),
}
