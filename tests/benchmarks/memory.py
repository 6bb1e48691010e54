"""What a donated step needs beside its arguments, as the compiler reports it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import jax

from tests.benchmarks.compiled_step import SHAPES
from tests.benchmarks.measurement import Bar, Effort, Measurement
from tests.benchmarks.models import gradients, parameters
from tests.benchmarks.subjects import BY_HAND, GENUINE, OURS, optimizers, subjects

LARGEST_LEAF, STATE = "largest leaf", "state"
BARS = {
    # No temporary is larger than any array that the code names.
    "largest array": (Bar(OURS, LARGEST_LEAF, 1.0),),
    "temporaries": (),
    "aliased": (Bar(OURS, STATE, 1.0, at_least=True),),
    "peak": (Bar(OURS, BY_HAND, 1.0), Bar(OURS, GENUINE, 1.0)),
}
_ARRAY = re.compile(r"\b([a-z]+)(\d*)\[([\d,]*)\]")


def measure(effort: Effort) -> Iterator[Measurement]:
    """Rows for each optimizer and shape.

    A thousand leaves say no more than a hundred here, and compile for a minute.
    """
    for shapes in list(SHAPES)[: 1 if effort.quick else 2]:
        leaves, shape = SHAPES[shapes]
        params = parameters(leaves, shape)
        grads = gradients(params)
        for optimizer in optimizers(effort.quick):
            effort.report(f"{optimizer}, {shapes}")
            found = {}
            for label, each in subjects(optimizer).items():
                state = each.create(params)
                found[label] = _analysis(each.step, state, grads)
                if label == OURS:
                    found[STATE] = {"aliased": _size(state)}
            found[LARGEST_LEAF] = {"largest array": max(map(_size, jax.tree.leaves(params)))}
            for kind in BARS:
                yield _row(kind, f"{kind}, {optimizer}, {shapes}", found)


def _row(kind: str, setting: str, found: Mapping[str, Mapping[str, int]]) -> Measurement:
    values = {label: each[kind] for label, each in found.items() if kind in each}
    difference = values[OURS] - values[BY_HAND]
    note = f"{abs(difference)} bytes {'more' if difference >= 0 else 'less'} than by hand."
    samples = {label: [float(value)] for label, value in values.items()}
    return Measurement("memory", setting, "bytes", samples, BARS[kind], note)


def _analysis(step: Any, state: Any, grads: Any) -> dict[str, int]:
    compiled = jax.jit(step, donate_argnums=0).lower(state, grads).compile()
    memory: Any = compiled.memory_analysis()
    held = memory.argument_size_in_bytes + memory.output_size_in_bytes - memory.alias_size_in_bytes
    return {
        "largest array": largest_array(compiled.as_text() or ""),
        "temporaries": memory.temp_size_in_bytes,
        "aliased": memory.alias_size_in_bytes,
        # Arguments, outputs that are none of them, and temporaries: what has to be there at once.
        "peak": held + memory.temp_size_in_bytes,
    }


def largest_array(code: str) -> int:
    """The bytes of the largest array that compiled code names, such as ``f32[64,64]``."""
    sizes = (
        math.prod(int(size) for size in shape.split(",") if size) * int(bits or 8) // 8
        for _, bits, shape in _ARRAY.findall(code)
    )
    return max(sizes, default=0)


def _size(tree: Any) -> int:
    return sum(leaf.nbytes for leaf in jax.tree.leaves(tree))
