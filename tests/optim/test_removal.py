"""The texts of the deprecation warning that making a definition emits, and of its source.

What the source does is compared in tests/optim/test_formula.py.
"""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import struct
from flax.core import freeze

from flaxoptim_compat import FlaxOptimDeprecationWarning, optax_source, optim
from flaxoptim_compat.optim.base import ReplicatedOptimizer
from flaxoptim_compat.syntax import WIDTH, number
from tests.support import cases
from tests.support.legacy_subclasses import FACTORIES

PARAMS = {"w": jnp.linspace(-1.0, 1.0, 6).reshape(2, 3), "b": jnp.ones(3)}


def texts(make: Callable[[], Any]) -> list[str]:
    """The warnings that a call emits."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make()
    assert all(each.category is FlaxOptimDeprecationWarning for each in caught), caught
    assert all(each.filename == __file__ for each in caught)
    return [str(each.message) for each in caught]


def kernels() -> Any:
    return optim.ModelParamTraversal(lambda path, value: "w" in path)


EXPRESSIONS: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: optim.Momentum(0.1, nesterov=True),
        "optax.sgd(0.1, momentum=0.9, nesterov=True)",
    ),
    (
        lambda: optim.Momentum(0.1, weight_decay=1e-4),
        "optax.chain(optax.add_decayed_weights(1e-4), optax.sgd(0.1, momentum=0.9))",
    ),
    (
        lambda: optim.Adam(learning_rate=3e-4, beta2=0.98, eps=1e-9, weight_decay=0.1),
        "optax.adamw(3e-4, b1=0.9, b2=0.98, eps=1e-9, weight_decay=0.1)",
    ),
    (
        lambda: optim.RMSProp(0.01, centered=True),
        "optax.rmsprop(0.01, decay=0.9, eps=1e-8, eps_in_sqrt=False, centered=True)",
    ),
    (
        lambda: optim.Adadelta(1, weight_decay=0.5),
        "optax.chain(optax.scale_by_adadelta(rho=0.9, eps=1e-6), optax.add_decayed_weights(0.5),"
        " optax.scale_by_learning_rate(1.0))",
    ),
    (
        lambda: optim.Adagrad(0.1),
        "optax.chain(transforms.scale_by_sum_of_squares(0.1, eps=1e-8), optax.scale(-1.0))",
    ),
    (
        lambda: optim.LARS(0.1, weight_decay=5e-5),
        "optax.chain(transforms.scale_by_lars_rate(0.1, weight_decay=5e-5,"
        " trust_coefficient=0.001, eps=0.0), optax.trace(decay=0.9), optax.scale(-1.0))",
    ),
    (
        lambda: optim.Adafactor(0.05, beta1=0.9),
        "optax.chain(transforms.in_float32(optax.scale_by_factored_rms(factored=True,"
        " decay_rate=0.8, step_offset=0, min_dim_size_to_factor=128, epsilon=1e-30)),"
        " optax.clip_by_block_rms(1.0),"
        " transforms.scale_by_rate_and_parameter_rms(0.05, min_scale=0.001),"
        " optax.ema(0.9, debias=False, accumulator_dtype=jnp.float32), optax.scale(-1.0))",
    ),
    (
        lambda: optim.Adam(),
        'optax.inject_hyperparams(optax.adam, static_args=("b1", "b2", "eps", "eps_root"))'
        "(learning_rate=0.0, b1=0.9, b2=0.999, eps=1e-8)",
    ),
]


@pytest.mark.parametrize(("make", "expression"), EXPRESSIONS)
def test_the_expression_is_as_a_person_would_write_it(
    make: Callable[[], Any], expression: str
) -> None:
    (text,) = texts(make)
    assert text.startswith(f"flax.optim.{type(make()).__name__} was removed from Flax in 0.6. ")
    assert text.endswith(f": {expression}")


def test_a_whole_text() -> None:
    assert texts(lambda: optim.RMSProp(learning_rate=0.01, beta2=0.9)) == [
        "flax.optim.RMSProp was removed from Flax in 0.6. Exactly the same in optax:"
        " optax.rmsprop(0.01, decay=0.9, eps=1e-8, eps_in_sqrt=False)"
    ]


def test_what_an_expression_takes_for_granted() -> None:
    (text,) = texts(lambda: optim.Adagrad(0.1))
    assert " in optax, after `from flaxoptim_compat import transforms`: optax.chain(" in text
    (text,) = texts(lambda: optim.GradientDescent())
    settable = 'with opt_state.hyperparams["learning_rate"] set before each step'
    assert f" in optax, {settable}: optax.inject_hyperparams(" in text


def test_parts_of_parameters() -> None:
    inner = optim.WeightNorm(optim.Momentum(0.1, beta=0.8), wn_decay=0.01)
    expected = (
        "flax.optim.MultiOptimizer, and with it create(focus=...), was removed from Flax in 0.6."
        " Exactly the same in optax, after `from flaxoptim_compat import transforms`, where labels"
        " is a tree like the parameters that holds, for each parameter, the position of the"
        ' traversal that selects it, as in "part_0", or "frozen": optax.partition({"part_0":'
        " transforms.weight_norm(optax.sgd(0.1, momentum=0.8), decay=0.01, eps=1e-8),"
        ' "frozen": transforms.hold()}, labels)'
    )
    assert texts(lambda: optim.MultiOptimizer((kernels(), inner))) == [expected]
    assert texts(lambda: inner.create(PARAMS, focus=kernels())) == [expected]


def test_replicated_optimizers() -> None:
    optimizer = optim.Adam(0.1).create(PARAMS)
    expected = (
        "Optimizer.replicate was removed from Flax in 0.6. Exactly the same:"
        " flax.jax_utils.replicate(optimizer), and in each step"
        " grads = jax.lax.pmean(grads, axis_name='devices')"
    )
    assert texts(lambda: optimizer.replicate(axis_name="devices")) == [expected]
    assert texts(lambda: ReplicatedOptimizer(optimizer.optimizer_def, axis_name="devices")) == [
        expected
    ]
    assert ReplicatedOptimizer(optimizer.optimizer_def).optax_expression() is None


@pytest.mark.parametrize("name", FACTORIES)
def test_code_of_the_users_has_no_expression(name: str) -> None:
    definition = FACTORIES[name](optim)
    for each in (
        definition,
        optim.WeightNorm(definition),
        optim.MultiOptimizer((kernels(), definition)),
    ):
        assert each.optax_expression() is None
        text = each.removal_notice()
        name = type(each).__name__
        assert f" does what this {name} does. At any step, optimizer.to_train_state() " in text


def test_the_class_that_a_subclass_is_made_of_is_named() -> None:
    class Own(optim.OptimizerDef):
        pass

    class OwnAdam(optim.Adam):
        def __init__(self, scale: float) -> None:
            super().__init__(0.1 * scale)
            self.scale = scale

    (text,) = texts(lambda: Own(None))
    assert text.startswith("flax.optim.OptimizerDef was removed from Flax in 0.6. No single optax")
    # Where only the constructor differs, the values are what counts.
    (text,) = texts(lambda: OwnAdam(5))
    assert text == optim.Adam(0.5).removal_notice()


@struct.dataclass
class Other:
    momentum: Any


def test_hyper_params_that_are_not_the_usual_ones_do_no_harm() -> None:
    class Renamed(optim.Momentum):
        def __init__(self) -> None:
            optim.OptimizerDef.__init__(self, Other(0.9))

    gone = jnp.ones(())
    gone.delete()
    for make in (Renamed, lambda: optim.Momentum(gone)):
        (text,) = texts(make)
        assert "No single optax expression" in text
    (text,) = texts(lambda: optim.Momentum("fast", beta=lambda step: 0.9))
    assert text.endswith(": optax.sgd(learning_rate, momentum=beta)")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0.0"),
        (0.00025, "2.5e-4"),
        (1e-4, "1e-4"),
        (-1e-8, "-1e-8"),
        (1.25e-30, "1.25e-30"),
        (5e-324, "5e-324"),
        (1e22, "1e22"),
        (float("-inf"), "float('-inf')"),
        (0.1 + 0.2, "0.30000000000000004"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text
    assert eval(text) == value
    for array in (np.float64(value), np.asarray(value), np.float64(value).reshape(())):
        assert optim.GradientDescent(array).optax_expression() == f"optax.sgd({text})"


def test_arrays_of_one_number_are_that_number() -> None:
    for make in (np.float32, jnp.float32):
        definition = optim.GradientDescent(make(0.1))
        assert definition.optax_expression() == "optax.sgd(0.10000000149011612)"
    assert optim.GradientDescent(jnp.ones(1)).optax_expression() == "optax.sgd(learning_rate)"


def test_nothing_but_making_a_definition_warns() -> None:
    definition = optim.MultiOptimizer(
        (optim.ModelParamTraversal(_is_kernel), optim.WeightNorm(optim.Adam(0.1)))
    )
    optimizer = definition.create(PARAMS)

    def use() -> None:
        for copier in (copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))):
            assert copier(definition) == definition
        definition.with_snapshot(definition.snapshot())
        state = optimizer.to_train_state()
        optim.Optimizer.from_train_state(state, definition)
        optimizer.apply_gradient(PARAMS, learning_rate=0.2)
        jax.jit(lambda each: each.apply_gradient(PARAMS))(optimizer)
        optimizer.restore_state(optimizer.state_dict())
        jax.tree.map(jnp.copy, optimizer)

    assert texts(use) == []


def _is_kernel(path: str, value: Any) -> bool:
    return path == "/w"


NESTED = {
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


def test_parts_of_parameters_in_a_source() -> None:
    assert (
        optax_source(two_optimizers(), NESTED)
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
    labels = jax.tree.map(lambda leaf: "frozen", NESTED)
    state = program["make_tx"](labels).init(NESTED)
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
