"""The formats in which checkpoints are written, and a tree for both."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

Format = Literal["msgpack", "orbax"]
TREE = {"a": np.arange(5000.0), "b": {"c": np.ones((3, 2), np.float32)}, "step": 7}
both_formats = pytest.mark.parametrize("format_", ["msgpack", "orbax"])
