"""Which legacy names a program uses is counted, whichever way it reaches them."""

from __future__ import annotations

from pathlib import Path

from tests.support.processes import compat
from tests.support.written_programs import write


def test_the_counts(tmp_path: Path) -> None:
    program = """
import jax
from jax import partial, mask
import flax
from flax import optim as optimizers
for _ in range(3):
    jax.tree_multimap(abs, [1])
class State:
    optimizer: flax.optim.Optimizer
optimizers.Adam(0.1), optimizers.Adam(0.2)
hasattr(jax, "tree_nonsense")
"""
    write(tmp_path, program=program)
    done = compat(["run", "program.py"], tmp_path)
    used = done.stderr.splitlines()[-1].removeprefix("flaxoptim-compat: used ").split(". To see")[0]
    assert used.split(", ") == [
        "jax.tree_multimap (3x)",
        "flax.optim.Adam (2x)",
        "jax.partial (1x)",
        "jax.mask (1x)",
        "flax.optim.Optimizer (1x)",
    ]


def test_old_calls_are_counted(tmp_path: Path) -> None:
    program = """
import jax.numpy as jnp
x = jnp.arange(3.0)
for _ in range(2):
    jnp.clip(x, 1, 2, None)
jnp.clip(x, min=1)
jnp.clip(x, 1, 2)
x.device().id
jnp.broadcast_to(arr=[1, 2], shape=(2, 2))
"""
    write(tmp_path, program=program)
    done = compat(["run", "program.py"], tmp_path)
    used = done.stderr.splitlines()[-1].removeprefix("flaxoptim-compat: used ").split(". To see")[0]
    assert used == ("jax.numpy.clip() (2x), jax.Array.device() (1x), jax.numpy.broadcast_to() (1x)")
    assert "program.py:9: FlaxOptimDeprecationWarning: jax.numpy.broadcast_to takes" in done.stderr
