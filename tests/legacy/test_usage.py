"""Which legacy names a program uses is counted, whichever way it reaches them."""

from __future__ import annotations

from pathlib import Path

from tests.support.processes import compat
from tests.support.written_programs import write


def in_line(stderr: str) -> str:
    """The names in the line at the end."""
    return stderr.splitlines()[-1].removeprefix("flaxoptim-compat: used ").split(". To see")[0]


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
    done = compat(["run", "--verbose", "program.py"], tmp_path)
    assert in_line(done.stderr).split(", ") == [
        "jax.tree_multimap (3x)",
        "flax.optim.Adam (2x)",
        "jax.partial (1x)",
        "jax.mask (1x)",
        "flax.optim.Optimizer (1x)",
    ]


def test_old_calls_are_counted(tmp_path: Path) -> None:
    program = """
import jax
import jax.numpy as jnp
jax.partial, jax.mask
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
    assert in_line(done.stderr) == (
        "jax.numpy.clip() (2x), jax.partial (1x), jax.mask (1x) and 2 other names, which"
        " run --verbose lists"
    )
    assert "program.py:11: FlaxOptimDeprecationWarning: jax.numpy.broadcast_to takes" in done.stderr


def test_each_name_of_flax_nn_warns_once(tmp_path: Path) -> None:
    program = """
from flax import nn
class Net(nn.Module):
    def apply(self, x):
        return nn.Dense(nn.relu(nn.Dense(x, 3)), 2)
class Other(nn.Module):
    def apply(self, x):
        return nn.Dense(nn.relu(x), 2)
Net.init_by_shape, Other.init_by_shape, nn.Dense, nn.relu, nn.Dense
"""
    write(tmp_path, program=program)
    done = compat(["run", "program.py"], tmp_path)
    assert in_line(done.stderr) == "flax.nn.Module (2x), flax.nn.Dense (2x), flax.nn.relu (1x)"
    warned = [line for line in done.stderr.splitlines() if "is gone since" in line]
    warned = [line.removeprefix(f"{tmp_path}/") for line in warned]
    assert [line.partition(": FlaxOptimDeprecationWarning: ")[::2] for line in warned] == [
        (
            "program.py:3",
            "flax.nn.Module is gone since flax 0.4.0. In Linen: subclass flax.linen.Module, turn"
            " the arguments of apply that configure it into annotated fields of the class, and"
            " rename apply to __call__, decorated with flax.linen.compact.",
        ),
        (
            "program.py:9",
            "flax.nn.Dense is gone since flax 0.4.0. In Linen: flax.nn.Dense(inputs, ...) is"
            " flax.linen.Dense(...)(inputs), with use_bias= for bias=.",
        ),
        ("program.py:9", "flax.nn.relu is gone since flax 0.4.0. Use flax.linen.relu instead."),
    ]
