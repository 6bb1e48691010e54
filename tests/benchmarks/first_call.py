"""Prints how many seconds the first step outside jit takes in a new process.

It is started as ``python -m tests.benchmarks.first_call SUBJECT OPTIMIZER LEAVES``.
"""

from __future__ import annotations

import os
import sys
import warnings

import jax

from flaxoptim_compat import FlaxOptimDeprecationWarning
from tests.benchmarks.models import gradients, parameters
from tests.benchmarks.subjects import parameters_of, subjects
from tests.benchmarks.timing import seconds
from tests.support.places import ROOT
from tests.support.processes import output_of

SHAPE = (64, 64)


def first_call(subject: str, optimizer: str, leaves: int) -> float:
    """The seconds, measured in a process of its own with nothing compiled before."""
    environment = {
        # Where this process runs, which may hold most of a GPU's memory.
        "JAX_PLATFORMS": os.environ.get("JAX_PLATFORMS", ""),
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        "JAX_ENABLE_COMPILATION_CACHE": "false",
    }
    program = ["-m", "tests.benchmarks.first_call", subject, optimizer, str(leaves)]
    return float(output_of(program, ROOT, environment))


def main(label: str, optimizer: str, leaves: int) -> None:
    """Measure in this process and print."""
    warnings.simplefilter("ignore", FlaxOptimDeprecationWarning)
    subject = subjects(optimizer)[label]
    params = parameters(leaves, SHAPE)
    grads = jax.block_until_ready(gradients(params))
    state = jax.block_until_ready(subject.create(params))
    print(seconds(lambda: parameters_of(subject.step(state, grads))))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
