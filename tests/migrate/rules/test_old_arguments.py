"""Old calls that jax 0.4.13 and flax 0.5.3 took: each is found, and does the same afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import pytest

import flaxoptim_compat
from tests.legacy.cases.calls import CASES
from tests.legacy.cases.old_names import encode, outcome
from tests.migrate.rules.rewritten_calls import WrittenCalls

# Where jax still takes an old call, it says for how long.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*deprecated:DeprecationWarning",
    "ignore:In a future release of JAX, flatten-up-to:DeprecationWarning",
)

# {a part of the name of a case: why nothing in the text of its call says that it is old}
NOT_FOUND = {
    "update() as a pair": "only what becomes of the result says whether it is old",
    ", traced": "what a compiled function is given may be an array of numpy as well",
    "jax.random.fold_in: negative": "that the number is negative is known when it runs",
    **dict.fromkeys(
        (f"jax.Array.{name}:" for name in ("argsort", "sort", "clip", "copy")),
        "other objects have such methods too",
    ),
    "jax.tree_util.tree_map: None": "so is what there is in a tree",
    "jax.Array.__float__": "so is how many numbers there are in an array",
    "jax.Array.__bool__": "so is how many numbers there are in an array",
    "jax.dlpack.from_dlpack: a capsule": "FOC152 finds what makes the capsule",
    ": in scan": "the cell is made by what scan has made of its class",
    "MultiHeadDotProductAttention(...): by name": "flax still takes inputs_kv by its name",
    "MultiHeadDotProductAttention(...)": "the module is handed to another function",
}


@pytest.fixture(autouse=True)
def numbers_of_then() -> Iterator[None]:
    with jax.threefry_partitionable(False):
        yield


def is_not_found(name: str) -> bool:
    return any(part in name for part in NOT_FOUND)


@pytest.mark.parametrize("name", CASES)
def test_an_old_call_is_found_and_does_the_same_afterwards(name: str) -> None:
    served = WrittenCalls(name, rewritten=False)
    with flaxoptim_compat.installed(era=True):
        expected = outcome(CASES[name], served)
    assert "raised" not in expected
    assert bool(served.findings) is not is_not_found(name)
    if served.findings and all(each.shim is not None for each in served.findings):
        rewritten = WrittenCalls(name, rewritten=True)
        assert encode(CASES[name](rewritten)) == expected
        assert rewritten.findings


def test_every_reason_is_about_a_case() -> None:
    assert all(any(part in name for name in CASES) for part in NOT_FOUND)
