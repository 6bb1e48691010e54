"""The source text of definitions; tests/optim/test_formula.py compares what it does."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import pytest
from flax.core import freeze

from flaxoptim_compat import optax_source, optim
from flaxoptim_compat.syntax import WIDTH
from tests.support import cases
from tests.support.legacy_subclasses import FACTORIES

PARAMS = {
    "encoder": {"kernel": jnp.ones((2, 3)), "bias": jnp.ones(3)},
    "decoder": {"kernel": jnp.ones((3, 2))},
    "scales": [jnp.ones(1), (jnp.ones(1),)],
}


def named(text: str) -> Any:
    return optim.ModelParamTraversal(lambda path, value: text in path)


def two_optimizers() -> Any:
    inner = optim.MultiOptimizer((named("bias"), optim.GradientDescent(0.5)))
    return optim.MultiOptimizer((named("kernel"), optim.Adam(0.1)), (named("encoder/b"), inner))


def test_a_short_text() -> None:
    assert optax_source(optim.Adam(3e-4, weight_decay=0.1)) == (
        "import optax\n\ntx = optax.adamw(3e-4, b1=0.9, b2=0.999, eps=1e-8, weight_decay=0.1)\n"
    )


def test_a_long_text() -> None:
    definition = optim.WeightNorm(optim.Momentum(0.1, weight_decay=1e-4, nesterov=True))
    assert (
        optax_source(definition)
        == """\
import optax
from flaxoptim_compat import transforms

tx = transforms.weight_norm(
    optax.chain(
        optax.add_decayed_weights(1e-4), optax.sgd(0.1, momentum=0.9, nesterov=True)
    ),
    decay=0.0,
    eps=1e-8,
)
"""
    )


def test_without_a_learning_rate() -> None:
    definition = optim.Adafactor(factored=False, beta1=0.9)
    assert (
        optax_source(definition)
        == """\
import jax.numpy as jnp
import optax
from flaxoptim_compat import transforms

tx = optax.inject_hyperparams(
    lambda learning_rate: optax.chain(
        transforms.in_float32(
            optax.scale_by_factored_rms(
                factored=False,
                decay_rate=0.8,
                step_offset=0,
                min_dim_size_to_factor=128,
                epsilon=1e-30,
            )
        ),
        optax.clip_by_block_rms(1.0),
        transforms.scale_by_rate_and_parameter_rms(learning_rate, min_scale=0.001),
        optax.ema(0.9, debias=False, accumulator_dtype=jnp.float32),
        optax.scale(-1.0),
    )
)(learning_rate=0.0)
"""
    )


def test_parts_of_parameters() -> None:
    assert (
        optax_source(two_optimizers(), PARAMS)
        == """\
import optax
from flaxoptim_compat import transforms

labels = {
    "decoder": {"kernel": "part_0"},
    "encoder": {"bias": "part_1.part_0", "kernel": "part_0"},
    "scales": ["frozen", ("frozen",)],
}
tx = optax.partition(
    {
        "part_0": optax.adam(0.1, b1=0.9, b2=0.999, eps=1e-8),
        "part_1.part_0": optax.sgd(0.5),
        "frozen": transforms.hold(),
    },
    labels,
)
"""
    )
    text = optax_source(two_optimizers(), freeze({"kernel": 1.0, "ünïcode": 2.0}))
    assert 'labels = freeze({"kernel": "part_0", "ünïcode": "frozen"})' in text
    assert "from flax.core import freeze\n" in text


class Pair(NamedTuple):
    kernel: Any
    bias: Any


class Everything:
    def iterate(self, tree: Any) -> Any:
        yield tree


def test_parameters_that_are_no_dict() -> None:
    text = optax_source(optim.MultiOptimizer((Everything(), optim.Adam(0.1))), jnp.ones(3))
    assert 'labels = "part_0"\n' in text
    with pytest.raises(ValueError, match="labels of parameters in a Pair"):
        optax_source(optim.MultiOptimizer((Everything(), optim.Adam(0.1))), Pair(1.0, 2.0))


def test_parts_of_parameters_that_are_not_at_hand() -> None:
    text = optax_source(two_optimizers())
    program: dict[str, Any] = {}
    exec(text, program)
    labels = jax.tree.map(lambda leaf: "frozen", PARAMS)
    state = program["make_tx"](labels).init(PARAMS)
    assert list(state.inner_states) == ["part_0", "part_1.part_0", "frozen"]
    assert '\n\n\ndef make_tx(labels):\n    """labels: ' in text


def test_what_has_no_text() -> None:
    with pytest.raises(ValueError, match="weight_decay is no single number"):
        optax_source(optim.Momentum(0.1, weight_decay=jnp.ones(3)))
    with pytest.raises(ValueError, match="learning_rate is no single number"):
        jax.jit(lambda rate: optax_source(optim.Adam(rate)) and rate)(0.1)
    for make in FACTORIES.values():
        with pytest.raises(ValueError, match="runs code that is not in optax"):
            optax_source(make(optim))


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_lines_are_short(case: cases.Case) -> None:
    text = optax_source(case.build(optim), case.parameters())
    assert max(map(len, text.splitlines())) <= WIDTH
    assert text.endswith("\n") and not text.endswith("\n\n")
