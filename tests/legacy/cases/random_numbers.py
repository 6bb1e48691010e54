"""Random numbers and first parameters of some seeds, as cases that run there and here."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from tests.legacy.cases.old_names import Case, Old

SEEDS = (0, 2021, -7)
_COVARIANCE = "jnp.array([[2.0, 0.5], [0.5, 1.0]])"
_ODDS = "jnp.array([0.1, 0.2, 0.3, 0.4])"

# {function of jax.random: its arguments after the key}
_SAMPLERS = {
    "ball": ["3, shape=(4,)"],
    "bernoulli": ["0.3, (9,)"],
    "beta": ["2.0, 0.5, (5,)"],
    "bits": ["(5,)", "(2, 4)", "(3,), 'uint8'", "(3,), 'uint16'"],
    "categorical": [f"jnp.log({_ODDS}), shape=(9,)"],
    "cauchy": ["(5,)"],
    "chisquare": ["3.0, shape=(5,)"],
    "choice": [
        "9, (5,)",
        "9, (5,), replace=False",
        f"4, (5,), p={_ODDS}",
        f"4, (3,), replace=False, p={_ODDS}",
    ],
    "dirichlet": ["jnp.array([0.5, 1.0, 2.0]), (3,)"],
    "double_sided_maxwell": ["0.0, 1.0, (5,)"],
    "exponential": ["(5,)"],
    "f": ["3.0, 4.0, shape=(5,)"],
    "fold_in": ["7", "2**31 - 1"],
    "gamma": ["2.0, (5,)", "0.3, (5,)"],
    "generalized_normal": ["1.5, (5,)"],
    "geometric": ["0.3, (5,)"],
    "gumbel": ["(5,)"],
    "laplace": ["(5,)"],
    "loggamma": ["0.3, (5,)"],
    "logistic": ["(5,)"],
    "maxwell": ["(5,)"],
    "multivariate_normal": [
        f"jnp.zeros(2), {_COVARIANCE}, (3,)",
        f"jnp.zeros(2), {_COVARIANCE}, (3,), method='eigh'",
        f"jnp.zeros(2), {_COVARIANCE}, (3,), method='svd'",
    ],
    "normal": ["(5,)", "(2, 4)", "()", "(5,), 'bfloat16'", "(5,), 'float16'", "(2,), 'complex64'"],
    "orthogonal": ["3"],
    "pareto": ["2.0, (5,)"],
    "permutation": ["9", "jnp.arange(12).reshape(4, 3)", "jnp.eye(3), 1, independent=True"],
    "poisson": ["3.0, (5,)", "30.0, (5,)"],
    "rademacher": ["(9,)"],
    "randint": ["(5,), 0, 10", "(2, 4), -99, 999", "(5,), 0, 99, 'uint8'", "(5,), -9, 9, 'int16'"],
    "rayleigh": ["2.0, (5,)"],
    "shuffle": ["jnp.arange(9)"],
    "split": ["2", "3", "10"],
    "t": ["3.0, (5,)"],
    "truncated_normal": ["-2.0, 2.0, (5,)"],
    "uniform": [
        "(5,)",
        "(2, 4)",
        "(5,), 'float32', -1.0, 3.0",
        "(5,), 'bfloat16'",
        "(5,), 'float16'",
    ],
    "wald": ["2.0, (5,)"],
    "weibull_min": ["1.0, 2.0, (5,)"],
}
_INITIALIZERS = (
    "delta_orthogonal glorot_normal glorot_uniform he_normal he_uniform kaiming_normal"
    " kaiming_uniform lecun_normal lecun_uniform normal orthogonal uniform variance_scaling"
    " xavier_normal xavier_uniform"
)
# {module: of what shape its input is}
_LAYERS = {
    "Dense(3)": (2, 5),
    "DenseGeneral((2, 3))": (2, 5),
    "Conv(3, (3, 3))": (1, 4, 4, 2),
    "ConvTranspose(3, (3, 3))": (1, 4, 4, 2),
    "SelfAttention(2)": (1, 3, 4),
}


class Net(nn.Module):
    """Modules in modules, some with names, some lifted."""

    @nn.compact
    def __call__(self, x: Any) -> Any:
        """Apply them."""
        x = nn.relu(nn.Dense(3, name="first")(x))
        x = nn.Sequential([nn.Dense(2), nn.relu, nn.Dense(3)])(x)
        x = nn.vmap(nn.Dense, variable_axes={"params": 0}, split_rngs={"params": True})(3)(x)
        return nn.Dropout(0.5, deterministic=False)(x)


def _case(expression: str) -> Case:
    def case(old: Old) -> list[Any]:
        del old
        scope = {"jax": jax, "jnp": jnp, "nn": nn, "Net": Net}
        made = [eval(expression, {**scope, "key": jax.random.PRNGKey(seed)}) for seed in SEEDS]
        return list(map(np.asarray, jax.tree_util.tree_leaves(made)))

    return case


def _expressions() -> Iterator[str]:
    yield "key"
    for name, calls in _SAMPLERS.items():
        yield from (f"jax.random.{name}(key, {arguments})" for arguments in calls)
    yield "jax.vmap(lambda key: jax.random.normal(key, (3,)))(jax.random.split(key, 2))"
    for name in _INITIALIZERS.split():
        made = "(2.0, 'fan_avg', 'truncated_normal')" if name == "variance_scaling" else "()"
        shape = "(3, 2, 4)" if name == "delta_orthogonal" else "(3, 4)"
        yield f"jax.nn.initializers.{name}{made}(key, {shape})"
    for name in ("lecun_normal", "normal", "uniform"):
        yield f"jax.nn.initializers.{name}()(key, (3, 4), 'bfloat16')"
    yield "nn.Embed(5, 3).init(key, jnp.zeros(2, int))"
    for made, shape in _LAYERS.items():
        yield f"nn.{made}.init(key, jnp.ones({shape}))"
    yield "nn.LSTMCell().init(key, (jnp.ones((1, 2)), jnp.ones((1, 2))), jnp.ones((1, 3)))"
    yield "Net().init_with_output({'params': key, 'dropout': key}, jnp.ones((2, 4)))"


CASES: dict[str, Case] = {each: _case(each) for each in _expressions()}

_OF_GAMMA = "jax 0.4.14 draws gamma for a below 1 otherwise"
_OF_INTEGERS = "jax 0.7.2 draws 32 bits for integers of 8 and 16 bits"
# {start of a case: why it gives other numbers today}
OTHERS = {
    "jax.random.ball(": _OF_GAMMA,
    "jax.random.beta(": _OF_GAMMA,
    "jax.random.dirichlet(": _OF_GAMMA,
    "jax.random.gamma(key, 0.3": _OF_GAMMA,
    "jax.random.generalized_normal(": _OF_GAMMA,
    "jax.random.loggamma(key, 0.3": _OF_GAMMA,
    "jax.random.randint(key, (5,), -9, 9, 'int16')": _OF_INTEGERS,
    "jax.random.randint(key, (5,), 0, 99, 'uint8')": _OF_INTEGERS,
}
# {start of a case: by how many units in the last place of the largest it may be rounded otherwise}
# QR of LAPACK chooses its kernels by the processor, and columns that nearly depend on each other
# make more of a rounding.
OF_LAPACK = {
    "jax.random.orthogonal(": 4,
    "jax.nn.initializers.delta_orthogonal(": 4,
    "jax.nn.initializers.orthogonal()": 32,
    # Its kernels for the state are orthogonal.
    "nn.LSTMCell()": 4,
}
ROUNDED = {
    **dict.fromkeys(("jax.random.cauchy(", "jax.random.exponential("), 1),
    **dict.fromkeys(("jax.random.double_sided_maxwell(", "jax.random.maxwell("), 1),
    # The logarithm of a quotient became a difference of logarithms in jax 0.7.0.
    "jax.random.logistic(": 32,
    **OF_LAPACK,
}


def row_of(name: str, rows: Mapping[str, Any]) -> Any:
    """The value of the row with which a case starts; None if there is none."""
    return next((value for start, value in rows.items() if name.startswith(start)), None)


def assert_alike(mine: Any, theirs: Any, bound: float | None) -> None:
    """Compare the leaves of a case to the bit, or up to so many units in the last place."""
    assert [each[:2] for each in mine] == [each[:2] for each in theirs]
    if bound is None:
        assert mine == theirs
        return
    for (dtype, _, bits), (_, _, then) in zip(mine, theirs, strict=True):
        if dtype[1] not in "fc":
            assert bits == then
            continue
        one, other = (np.frombuffer(bytes.fromhex(each), dtype) for each in (bits, then))
        assert np.max(np.abs(one - other)) <= bound * np.spacing(np.max(np.abs(other)))


# Starts of the cases that old programs have in nearly every line with a key; to compile all others
# takes half a minute, and they draw the same bits.
OFTEN = (
    "key",
    *("jax.random.bits(key, (5,))", "jax.random.fold_in(", "jax.random.normal(key, (5,))"),
    *("jax.random.permutation(key, 9)", "jax.random.randint(key, (5,), 0, 10)"),
    *("jax.random.split(", "jax.nn.initializers.lecun_normal()(key, (3, 4))", "nn.Dense("),
)


def recorded(names: Iterable[str] = CASES) -> dict[str, list[list[Any]]]:
    """What comes of cases here: of each array dtype, shape and bits."""
    return {
        name: [
            [each.dtype.str, list(each.shape), each.tobytes().hex()] for each in CASES[name](str)
        ]
        for name in names
    }


if __name__ == "__main__":
    print(json.dumps(recorded(sys.argv[1:])))
