"""Flax deprecates ``flax.training.checkpoints``. Legacy checkpoints do not wait for it to stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.processes import output_of

PROGRAM = """
import sys

class Hiding:
    def find_spec(self, name, path=None, target=None):
        if name == "flax.training.checkpoints":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hiding())
import numpy as np
import flaxoptim_compat
flaxoptim_compat.install()
from flax import optim, serialization
from flaxoptim_compat.cli import main

def stepped(optimizer):
    return optimizer.apply_gradient({"w": np.ones(3, np.float32)})

def written(path, optimizer):
    with open(path, "wb") as file:
        file.write(serialization.to_bytes(optimizer))

def restored(path):
    fresh = optim.Adam(0.1).create({"w": np.zeros(3, np.float32)})
    with open(path, "rb") as file:
        return serialization.from_bytes(fresh, file.read())

optimizer = stepped(optim.Adam(0.1).create({"w": np.ones(3, np.float32)}))
written("legacy", optimizer)
adam = ["--definition", "optim.Adam(0.1)", "--format", FORMAT]
convert = ["checkpoint", "convert"]
assert main([*convert, "legacy", "new", "--to", "train-state", *adam]) == 0
assert main([*convert, "new", "back", "--to", "legacy", "--format", "msgpack"]) == 0
assert main(["checkpoint", "inspect", "back"]) == 0
expected = serialization.to_bytes(stepped(optimizer))
same = [serialization.to_bytes(stepped(restored(path))) == expected for path in ("legacy", "back")]
try:
    import flax.training.checkpoints
except ImportError:
    print(same)
"""


@pytest.mark.parametrize("format_", ["msgpack", "orbax"])
def test_saving_converting_and_restoring_do_without_it(format_: str, tmp_path: Path) -> None:
    program = PROGRAM.replace("FORMAT", repr(format_))
    assert output_of(["-c", program], tmp_path).endswith("[True, True]\n")
