"""The table of optimizers that all tests walk over, and the model they train.

This file also runs beside numpy 1.25 in the environment of the genuine flax 0.5.3, so it
imports nothing but the standard library and numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

LEARNING_RATE = 0.05
GRADIENT_KINDS = ("varying", "tiny", "zero")

# Scale of the "varying" gradients from step to step; five of them, so that sign (which
# alternates) and scale do not repeat together before the tenth step.
_SCALES = (1.0, 0.03, 8.0, 0.3, 2.5)


@dataclass(frozen=True)
class Case:
    """One optimizer definition with its hyper-parameters, as data."""

    name: str
    optimizer: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    inner: tuple[Case, ...] = ()
    selectors: tuple[str, ...] = ()

    def build(self, optim: ModuleType | Any) -> Any:
        """Build the definition from a namespace that has the ``flax.optim`` classes."""
        cls = getattr(optim, self.optimizer)
        inner = [case.build(optim) for case in self.inner]
        if self.optimizer == "MultiOptimizer":
            traversals = [optim.ModelParamTraversal(_selects(s)) for s in self.selectors]
            return cls(*zip(traversals, inner, strict=True))
        return cls(*inner, **{k: _value(k, v) for k, v in self.kwargs.items()})

    def without_rate(self) -> Case:
        """The same case without a learning rate, neither its own nor one inside."""
        kwargs = {name: value for name, value in self.kwargs.items() if name != "learning_rate"}
        inner = tuple(case.without_rate() for case in self.inner)
        return Case(self.name, self.optimizer, kwargs, inner, self.selectors)

    def parameters(self, seed: int = 0, dtype: str = "float32") -> dict[str, Any]:
        """Return the test model's parameters that this optimizer can train."""
        params = parameters(seed, dtype)
        if self.optimizer == "WeightNorm":
            # The genuine WeightNorm raises IndexError on a scalar parameter.
            del params["temperature"]
        return params


def parameters(seed: int = 0, dtype: str = "float32") -> dict[str, Any]:
    """Return a small model's parameters, the same numbers on every machine."""
    rng = np.random.RandomState(seed)

    def leaf(*shape: int) -> np.ndarray:
        # RandomState.uniform is frozen by numpy's promise, and free of transcendentals.
        return np.asarray(rng.uniform(-1.0, 1.0, shape)).astype(_dtype(dtype))

    # No two equal dimensions in one leaf: the genuine Adafactor orders them by an argsort
    # that is not stable, so a tie would make its numbers depend on the processor.
    return {
        "conv": {"kernel": leaf(2, 3, 5, 4)},
        "dense": {"kernel": leaf(4, 6), "bias": leaf(6)},
        "embed": {"embedding": leaf(16, 12)},
        "norm": {"offset": np.zeros((5,), _dtype(dtype))},
        "temperature": leaf(),
    }


def gradients(step: int, params: Mapping[str, Any], kind: str = "varying") -> dict[str, Any]:
    """Return the gradients of a step, shaped and typed as ``params``."""
    if kind not in GRADIENT_KINDS:
        raise ValueError(f"unknown kind of gradients: {kind!r}")
    rng = np.random.RandomState(1000 + step)
    sign = -1.0 if step % 2 else 1.0
    scale = {"varying": sign * _SCALES[step % 5], "tiny": 1e-5, "zero": 0.0}[kind]

    def gradient(param: Any) -> np.ndarray:
        # 0.25 of bias gives each step a direction, else the momenta would only cancel.
        drawn = np.asarray(rng.uniform(-1.0, 1.0, np.shape(param))) + 0.25
        return (scale * drawn).astype(param.dtype)

    return _map_sorted(gradient, params)


def _map_sorted(function: Callable[[Any], Any], tree: Mapping[str, Any]) -> dict[str, Any]:
    # In key order, so that the numbers do not depend on how a dict came to be.
    return {
        key: _map_sorted(function, tree[key])
        if isinstance(tree[key], Mapping)
        else function(tree[key])
        for key in sorted(tree)
    }


def _dtype(name: str) -> np.dtype:
    if name == "bfloat16":
        import ml_dtypes  # comes with every jax

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def _value(name: str, value: Any) -> Any:
    return _dtype(value) if name.startswith("dtype") else value


def _selects(part: str) -> Callable[[str, Any], bool]:
    return lambda path, _: part in path


# Per optimizer: what every case of it is given, and a non-default value per hyper-parameter.
_TABLE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "Adam": ({}, {"beta1": 0.8, "beta2": 0.95, "eps": 1e-3, "weight_decay": 0.1}),
    "AdaBelief": ({}, {"beta1": 0.8, "beta2": 0.95, "eps": 1e-6, "weight_decay": 0.1}),
    "Adadelta": ({}, {"rho": 0.8, "eps": 1e-3, "weight_decay": 0.1}),
    "Adafactor": (
        {"min_dim_size_to_factor": 4},
        {
            "min_dim_size_to_factor": 6,
            "factored": False,
            "multiply_by_parameter_scale": False,
            "beta1": 0.9,
            "decay_rate": 0.6,
            "step_offset": -3,
            "clipping_threshold": None,
            "weight_decay_rate": 0.01,
            "epsilon1": 1e-6,
            "epsilon2": 0.1,
        },
    ),
    "Adagrad": ({}, {"eps": 1e-3}),
    "GradientDescent": ({}, {}),
    "LAMB": ({}, {"beta1": 0.8, "beta2": 0.95, "weight_decay": 0.1, "eps": 1e-3}),
    "LARS": (
        {},
        {
            "beta": 0.8,
            "weight_decay": 0.1,
            "trust_coefficient": 0.02,
            "eps": 1e-3,
            "nesterov": True,
        },
    ),
    "Momentum": ({}, {"beta": 0.8, "weight_decay": 0.1, "nesterov": True}),
    "RMSProp": ({}, {"beta2": 0.8, "eps": 1e-3, "centered": True}),
}


def _plain_cases() -> Iterator[Case]:
    for optimizer, (common, changes) in _TABLE.items():
        base = {"learning_rate": LEARNING_RATE, **common}
        yield Case(f"{optimizer}-default", optimizer, base)
        yield Case(f"{optimizer}-learning_rate", optimizer, {**base, "learning_rate": 0.3})
        for name, value in changes.items():
            yield Case(f"{optimizer}-{name}", optimizer, {**base, name: value})
        if len(changes) > 1:
            # No hyper-parameter is at its default.
            yield Case(f"{optimizer}-all", optimizer, {**base, "learning_rate": 0.02, **changes})


def _adafactor_cases() -> Iterator[Case]:
    rate = {"learning_rate": LEARNING_RATE}
    base = {**rate, "min_dim_size_to_factor": 4}
    bf16 = {"beta1": 0.9, "dtype_momentum": "bfloat16"}
    all_factored = {**_TABLE["Adafactor"][1], **bf16, "factored": True, "clipping_threshold": 0.5}
    for name, kwargs in {
        "bf16_momentum": {**base, **bf16},
        # No leaf is large enough.
        "unfactored_size": rate,
        # It clips often.
        "tight_clipping": {**base, "clipping_threshold": 0.3},
        "all_factored": {**base, **all_factored},
    }.items():
        yield Case(f"Adafactor-{name}", "Adafactor", kwargs)


def _weight_norm_cases() -> Iterator[Case]:
    by_name = {case.name: case for case in _plain_cases()}
    decay, eps = {"wn_decay": 0.1}, {"wn_eps": 1e-2}
    for name, kwargs, inner in (
        *(
            (f"over_{inner}", {}, f"{inner}-default")
            for inner in ("Momentum", "Adam", "GradientDescent", "LAMB", "Adafactor")
        ),
        ("wn_decay", decay, "Momentum-default"),
        ("wn_eps", eps, "Momentum-default"),
        ("all", {**decay, **eps}, "Momentum-all"),
    ):
        yield Case(f"WeightNorm-{name}", "WeightNorm", kwargs, (by_name[inner],))


def _multi_cases() -> Iterator[Case]:
    by_name = {case.name: case for case in (*_plain_cases(), *_adafactor_cases())}
    for name, parts in {
        # The leaves that no part has stay as they are; of three, that is one.
        "single": {"kernel": "Momentum-default"},
        "two": {"kernel": "Adam-all", "bias": "LARS-all"},
        "three": {
            "kernel": "Adafactor-bf16_momentum",
            "temperature": "RMSProp-centered",
            "embedding": "GradientDescent-default",
            "bias": "RMSProp-default",
        },
    }.items():
        inner = tuple(by_name[case] for case in parts.values())
        yield Case(f"MultiOptimizer-{name}", "MultiOptimizer", {}, inner, tuple(parts))


CASES: tuple[Case, ...] = (
    *_plain_cases(),
    *_adafactor_cases(),
    *_weight_norm_cases(),
    *_multi_cases(),
)


def case(name: str) -> Case:
    """Return the case of this name."""
    return next(entry for entry in CASES if entry.name == name)
