from __future__ import annotations

from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from flax import serialization

from flaxoptim_compat import optim
from flaxoptim_compat.legacy.named_code import NamedCode
from flaxoptim_compat.legacy.named_objects import NamingError
from flaxoptim_compat.parity import ParityError
from flaxoptim_compat.parity.named_sides import named_parameters
from tests.support.side_by_side import assert_same

pytestmark = pytest.mark.usefixtures("folder_of_its_own")

PROGRAM = """\
import jax

def params():
    return {"w": jax.numpy.ones(3)}
"""


def parameters(text: str) -> Any:
    with NamedCode() as code:
        return named_parameters(text, code)


def test_parameters_by_name_and_in_files() -> None:
    Path("program.py").write_text(PROGRAM)
    params = {"b": [np.ones(2, np.float32), np.full((), 3.0, np.float32)], "w": np.ones((2, 3))}
    params = {"w": params["w"].astype(jnp.bfloat16), "b": params["b"]}
    optimizer = optim.Adam(0.1).create(params)
    Path("optimizer").write_bytes(serialization.to_bytes({"optimizer": optimizer}))
    Path("state").write_bytes(serialization.to_bytes(optimizer.to_train_state()))
    Path("params").write_bytes(serialization.to_bytes(params))
    Path("variables").write_bytes(serialization.to_bytes({"params": params, "batch_stats": {}}))
    np.savez("params.npz", w=np.ones(3))
    assert_same(parameters("program:params"), {"w": jnp.ones(3)})
    assert_same(parameters("{'w': jnp.ones(3)}"), {"w": jnp.ones(3)})
    assert_same(parameters("params.npz"), {"w": jnp.ones(3)})
    for file in ("optimizer", "state", "params", "variables"):
        found = parameters(file)
        found["b"] = [found["b"][key] for key in "01"] if "0" in found["b"] else found["b"]
        assert_same(found, params)


def test_files_without_parameters() -> None:
    optimizer = optim.Adam(0.1).create({"w": np.ones(2)})
    Path("two").write_bytes(serialization.to_bytes({"a": optimizer, "b": optimizer}))
    Path("text").write_bytes(serialization.to_bytes({"a": "hello"}))
    Path("empty").touch()
    for file, said in {
        "two": "two has 2 optimizers in it, at a, b. Write a function that returns",
        "text": "text has str in it where there should be parameters.",
        "empty": "empty is empty.",
        "nowhere/params": "there is no such file.",
    }.items():
        with pytest.raises((NamingError, ParityError), match=said):
            parameters(file)
