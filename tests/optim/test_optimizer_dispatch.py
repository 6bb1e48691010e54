"""What a jitted function adds to each of its calls because it takes and returns an optimizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from flaxoptim_compat import optim
from tests.support.python_calls import files_of_calls

LEAF = jnp.linspace(-1.0, 2.0, 3)
# The Python functions that one call runs beyond those it runs for a genuine optimizer, which jax
# takes apart in C++: they make a snapshot of the hyper-parameters on the way in, compare it with
# the one that was traced, and do the same on the way out. For Adam that takes about 2 µs, whatever
# the number of leaves. WeightNorm puts its hyper-parameters together anew for each snapshot.
CALLS = {"Adam": 9, "MultiOptimizer": 11, "WeightNorm": 25}
# Before 0.6 jax calls some functions more for each class of states that it meets.
MORE = 4 if jax.__version_info__ < (0, 6) else 0


def parts(namespace: Any, count: int) -> Any:
    of = lambda number: namespace.ModelParamTraversal(
        lambda path, value: int(path.removeprefix("/layer")) % count == number
    )
    pairs = [(of(number), namespace.Momentum(0.1)) for number in range(count)]
    return namespace.MultiOptimizer(*pairs)


DEFINITIONS: dict[str, Callable[[Any], Any]] = {
    "Adam": lambda namespace: namespace.Adam(0.1),
    "MultiOptimizer": lambda namespace: parts(namespace, 4),
    "WeightNorm": lambda namespace: namespace.WeightNorm(namespace.Momentum(0.1)),
}


def parameters(leaves: int) -> dict[str, Any]:
    return {f"layer{index}": LEAF + index for index in range(leaves)}


def calls_of_a_dispatch(definition: Any, leaves: int) -> int:
    """The Python functions that run in each call of a jitted function."""
    traces = []

    @jax.jit
    def scaled(optimizer: Any) -> Any:
        traces.append(None)
        return optimizer.replace(target=jax.tree.map(lambda leaf: 2 * leaf, optimizer.target))

    optimizer = definition.create(parameters(leaves))
    for _ in range(3):
        optimizer = scaled(optimizer)
    counts = {len(files_of_calls(lambda: scaled(optimizer))) for _ in range(3)}
    assert len(traces) == 1
    assert len(counts) == 1
    return counts.pop()


@pytest.mark.parametrize("name", DEFINITIONS)
def test_few_python_functions_however_many_leaves(genuine: Any, name: str) -> None:
    for leaves in (1, 8, 24):
        mine, theirs = (
            calls_of_a_dispatch(DEFINITIONS[name](space), leaves) for space in (optim, genuine)
        )
        # Those of the genuine one make the states of the leaves, and ours are of the same classes.
        assert mine - theirs <= CALLS[name] + MORE, leaves


def test_as_many_python_functions_for_two_parts_as_for_eight() -> None:
    counts = [calls_of_a_dispatch(parts(optim, count), leaves=8) for count in (2, 8)]
    assert counts[0] == counts[1]


def nested() -> Any:
    """A definition with others inside it, three deep."""
    everything = lambda path, value: True
    return optim.MultiOptimizer(
        (optim.ModelParamTraversal(lambda path, value: path == "/layer0"), optim.Adam(0.1)),
        (
            optim.ModelParamTraversal(lambda path, value: path != "/layer0"),
            optim.MultiOptimizer(
                (optim.ModelParamTraversal(everything), optim.WeightNorm(optim.Momentum(0.2))),
            ),
        ),
    )


def everything_inside(definition: Any) -> list[Any]:
    inside = [definition.sub_optimizers[0], definition.sub_optimizers[1]]
    weight_norm = inside[1].sub_optimizers[0]
    return [definition, *inside, weight_norm, weight_norm.wrapped_optimizer]


def test_a_snapshot_of_nested_definitions_is_theirs_wherever_it_changed() -> None:
    assigned = {
        0: lambda each: [each.hyper_params[0].replace(beta1=0.5), *each.hyper_params[1:]],
        1: lambda each: each.hyper_params.replace(beta1=0.5),
        2: lambda each: [each.hyper_params[0].replace(wn_decay=0.5)],
        3: lambda each: each.hyper_params.replace(wn_decay=0.5),
        4: lambda each: each.hyper_params.replace(beta=0.5),
    }
    described = lambda whole: [repr(each.hyper_params) for each in everything_inside(whole)]
    before = described(nested())
    for place, assign in assigned.items():
        optimizer = nested().create(parameters(3))
        definition = optimizer.optimizer_def
        leaves, treedef = jax.tree.flatten(optimizer)
        assert jax.tree.structure(optimizer) == treedef
        changed = everything_inside(definition)[place]
        changed.hyper_params = assign(changed)
        after = described(definition)
        assert after != before
        assert jax.tree.structure(optimizer) != treedef
        restored = jax.tree.unflatten(treedef, leaves).optimizer_def
        assert described(restored) == before
        assert described(definition) == after  # the live one is as it was assigned
        assert restored.hyper_params is not definition.hyper_params
        again = jax.tree.structure(nested().create(parameters(3)))
        assert (again == treedef) and (again != jax.tree.structure(optimizer))
