"""Inside jit a step costs, and takes to trace, what it does by hand in optax; nothing is copied."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax.training.train_state import TrainState

from flaxoptim_compat import optim
from tests.benchmarks.subjects import BY_HAND, DEFINITIONS, OURS, subjects
from tests.support.options import exhaustive
from tests.support.python_calls import calls_in_package

MATRIX, LARGE = (64, 64), (4096, 2048)
# Beside the leaves there are scalars: counters, and powers of decay rates with them. XLA computes
# one in two places where it saves a kernel, and does that by the kernels around it.
SCALAR_FLOPS = 3
# A scalar more among the temporaries takes a line of the cache.
CACHE_LINE = 64
# Each array that a step returns takes four bytes, if it is a scalar, and a pointer.
RETURNED_SCALAR = 4 + 8
# Adafactor keeps two arrays of shape (1,) for a parameter that has no factors. With each step optax
# reads zeros and writes them there; here they stay as they are.
UNWRITTEN = {"Adafactor": 2 * (4 + 4)}
# The legacy state has a third one, which is handed through.
HANDED_THROUGH = {"Adafactor": 1}

by_optimizer = pytest.mark.parametrize("optimizer", DEFINITIONS)
by_shapes = pytest.mark.parametrize(
    ("optimizer", "leaves", "shape"),
    # XLA takes up to a minute for a hundred leaves with norms.
    [
        *((optimizer, 2, LARGE) for optimizer in DEFINITIONS),
        *(
            pytest.param(optimizer, 100, MATRIX, marks=exhaustive)
            for optimizer in ("Adam", "Momentum", "MultiOptimizer")
        ),
        *((optimizer, 16, MATRIX) for optimizer in ("LAMB", "Adafactor")),
    ],
)


def parameters(leaves: int, shape: tuple[int, ...]) -> Any:
    """Shapes only: compiling needs no numbers."""
    leaf = jax.ShapeDtypeStruct(shape, jnp.float32)
    return {f"layer{index}": {("kernel", "bias")[index % 2]: leaf} for index in range(leaves)}


def state(optimizer: str, subject: str, leaves: int, shape: tuple[int, ...]) -> Any:
    return jax.eval_shape(subjects(optimizer)[subject].create, parameters(leaves, shape))


@functools.cache
def compiled(optimizer: str, subject: str, leaves: int, shape: tuple[int, ...]) -> Any:
    step = jax.jit(subjects(optimizer)[subject].step, donate_argnums=0)
    before = state(optimizer, subject, leaves, shape)
    return step.lower(before, parameters(leaves, shape)).compile()


def costs_of(program: Any) -> Any:
    """What XLA says that a compiled program costs; before jax 0.4.36 in a list of one."""
    found = program.cost_analysis()
    return found[0] if isinstance(found, list) else found


def skip_unless_donated(memory: Any) -> None:
    if not memory.alias_size_in_bytes:
        by_itself = jax.jit(lambda x: x + 1, donate_argnums=0).lower(jnp.ones(8)).compile()
        if not by_itself.memory_analysis().alias_size_in_bytes:
            pytest.skip("before jax 0.4.31 nothing is donated on a CPU")


def cost(optimizer: str, subject: str, leaves: int, shape: tuple[int, ...]) -> tuple[int, int]:
    """Operations, and bytes read and written."""
    analysis = costs_of(compiled(optimizer, subject, leaves, shape))
    return int(analysis["flops"]), int(analysis["bytes accessed"])


@functools.cache
def returned() -> int:
    """Bytes that XLA counts for each array that a program returns, beside what computes it.

    They are eight, and in jax 0.12 four.
    """
    program = jax.jit(lambda *numbers: [-each for each in numbers])
    two, three = (
        costs_of(program.lower(*[jnp.int32(0)] * count).compile())["bytes accessed"]
        for count in (2, 3)
    )
    return int(three - two) - (4 + 4)


def counters(optimizer: str, subject: str) -> int:
    """How many numbers of steps a state holds: the legacy one has one, a TrainState often two."""
    leaves = jax.tree.leaves(state(optimizer, subject, 2, MATRIX))
    return sum(leaf.dtype == jnp.int32 for leaf in leaves)


@by_optimizer
def test_every_leaf_costs_what_it_costs_by_hand(optimizer: str) -> None:
    ours, by_hand = (
        np.subtract(cost(optimizer, subject, 8, MATRIX), cost(optimizer, subject, 4, MATRIX))
        for subject in (OURS, BY_HAND)
    )
    assert min(ours) > 0
    assert ours[0] == by_hand[0]
    more = returned() * HANDED_THROUGH.get(optimizer, 0) - UNWRITTEN.get(optimizer, 0)
    assert ours[1] == by_hand[1] + 4 * more


@by_shapes
def test_beside_the_leaves_there_is_one_counter(
    optimizer: str, leaves: int, shape: tuple[int, ...]
) -> None:
    flops, accessed = np.subtract(
        cost(optimizer, OURS, leaves, shape), cost(optimizer, BY_HAND, leaves, shape)
    )
    # XLA's own count is a float32, which rounds what is large.
    total = cost(optimizer, BY_HAND, leaves, shape)
    assert abs(flops) <= max(SCALAR_FLOPS, np.spacing(np.float32(total[0])))
    # By hand the further counters are returned.
    spared = returned() * (counters(optimizer, BY_HAND) - counters(optimizer, OURS))
    rounding = np.spacing(np.float32(total[1]))
    if optimizer in UNWRITTEN:
        assert accessed <= max(0, rounding - spared)
    else:
        assert abs(accessed + spared) <= (0 if total[1] < 2**24 else rounding)


@by_shapes
def test_every_buffer_of_the_state_is_used_again(
    optimizer: str, leaves: int, shape: tuple[int, ...]
) -> None:
    arrays = jax.tree.leaves(state(optimizer, OURS, leaves, shape))
    memory = compiled(optimizer, OURS, leaves, shape).memory_analysis()
    skip_unless_donated(memory)
    assert memory.alias_size_in_bytes == sum(map(size, arrays))
    by_hand = compiled(optimizer, BY_HAND, leaves, shape).memory_analysis()
    # XLA of jax 0.4.38 keeps a second line for Adafactor.
    lines = 1 if jax.__version_info__ >= (0, 5) else 2
    assert memory.temp_size_in_bytes <= by_hand.temp_size_in_bytes + lines * CACHE_LINE
    if not hasattr(memory, "peak_memory_in_bytes"):
        pytest.skip("before jax 0.5.3 the peak is not told")
    # Adafactor's legacy state has an array of shape (1,) for each leaf that optax does not have.
    more = len(arrays) - len(jax.tree.leaves(state(optimizer, BY_HAND, leaves, shape)))
    allowed = by_hand.peak_memory_in_bytes + RETURNED_SCALAR * more
    assert 0 < memory.peak_memory_in_bytes <= allowed


@by_optimizer
def test_no_array_of_a_step_is_larger_than_the_largest_leaf(optimizer: str) -> None:
    # Inside of fused kernels as well, where most of them never exist.
    text = compiled(optimizer, OURS, 4, MATRIX).as_text()
    shapes = re.findall(r"\b[a-z]+(\d+)\[([\d,]*)\]", text)
    sizes = [
        int(bits) // 8 * int(np.prod([int(length) for length in shape.split(",") if length]))
        for bits, shape in shapes
    ]
    assert max(sizes) == 4 * 64 * 64


def size(leaf: Any) -> int:
    return int(leaf.size) * int(leaf.dtype.itemsize)


PARAMS = {"w": jnp.ones((64, 32)), "b": jnp.ones((256,))}


def with_a_rate() -> Iterator[Any]:
    adam = optax.inject_hyperparams(optax.adamw)(0.1, b1=0.8, eps=1e-6, weight_decay=0.01)
    momentum = optax.inject_hyperparams(optax.sgd, static_args=("momentum",))(0.1, momentum=0.9)
    yield pytest.param(optim.Adam(0.1, beta1=0.8, eps=1e-6, weight_decay=0.01), adam, id="Adam")
    yield pytest.param(optim.Momentum(0.1), momentum, id="Momentum")


@pytest.mark.parametrize(("definition", "tx"), list(with_a_rate()))
def test_a_step_with_its_own_rate_costs_no_more_either(definition: Any, tx: Any) -> None:
    def legacy(optimizer: Any, grads: Any, rate: Any) -> Any:
        return optimizer.apply_gradient(grads, learning_rate=rate)

    def modern(state: Any, grads: Any, rate: Any) -> Any:
        state.opt_state.hyperparams["learning_rate"] = rate
        return state.apply_gradients(grads=grads)

    before = TrainState.create(apply_fn=None, params=PARAMS, tx=tx)
    optimizer = definition.create(PARAMS)
    mine, theirs = (
        jax.jit(step, donate_argnums=0).lower(state, PARAMS, 0.1).compile()
        for step, state in ((legacy, optimizer), (modern, before))
    )
    costs = [costs_of(each) for each in (mine, theirs)]
    assert 0 < costs[0]["flops"] <= costs[1]["flops"]
    assert 0 < costs[0]["bytes accessed"] <= costs[1]["bytes accessed"]
    memory = mine.memory_analysis()
    skip_unless_donated(memory)
    assert memory.alias_size_in_bytes == sum(leaf.nbytes for leaf in jax.tree.leaves(optimizer))
    # Not one parameter is copied; what remains are the scalars.
    smallest = min(leaf.nbytes for leaf in jax.tree.leaves(PARAMS))
    assert memory.temp_size_in_bytes < smallest


# How often a trace may enter functions of this package for each leaf.
CALLS_PER_LEAF = {"Adam": 16, "Momentum": 12, "LAMB": 17, "Adafactor": 32, "MultiOptimizer": 18}


def small_parameters(leaves: int) -> Any:
    leaf = jax.ShapeDtypeStruct((8,), jnp.float32)
    return {f"layer{index:03d}": {("kernel", "bias")[index % 2]: leaf} for index in range(leaves)}


def tracing(optimizer: str, subject: str, leaves: int) -> Callable[[], Any]:
    """A function that traces the step, each time anew."""
    made = subjects(optimizer)[subject]
    params = small_parameters(leaves)
    state = jax.eval_shape(made.create, params)

    def step(state: Any, grads: Any) -> Any:
        return made.step(state, grads)

    return lambda: jax.jit(functools.partial(step)).trace(state, params)


def equations(optimizer: str, subject: str, leaves: int) -> Counter[str]:
    jaxpr = tracing(optimizer, subject, leaves)().jaxpr
    return Counter(equation.primitive.name for equation in jaxpr.eqns)


def calls(optimizer: str, leaves: int) -> int:
    """How often a trace enters a function of this package."""
    trace = tracing(optimizer, OURS, leaves)
    trace()  # What is traced but once, and imported but once, is no matter of the leaves.
    return calls_in_package(trace)


@by_optimizer
def test_every_leaf_has_the_equations_that_it_has_by_hand(optimizer: str) -> None:
    ours, by_hand = (
        [equations(optimizer, subject, leaves) for leaves in (4, 8, 12)]
        for subject in (OURS, BY_HAND)
    )
    assert ours[1] - ours[0] == ours[2] - ours[1] == by_hand[1] - by_hand[0]
    assert sum((ours[1] - ours[0]).values()) > 0


@by_optimizer
def test_the_calls_of_a_trace_are_linear_in_the_leaves(optimizer: str) -> None:
    counts = [calls(optimizer, leaves) for leaves in (4, 8, 12)]
    assert counts[2] - counts[1] == counts[1] - counts[0]
    assert 0 < counts[1] - counts[0] <= 4 * CALLS_PER_LEAF[optimizer], counts
