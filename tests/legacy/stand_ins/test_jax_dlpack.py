"""An array as a capsule of DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np

from flaxoptim_compat.legacy.stand_ins import jax_functions
from tests.support.vectors import X


def test_to_dlpack() -> None:
    class Capsule:
        def __dlpack__(self, **kwargs: Any) -> Any:
            return jax_functions.to_dlpack(X)

        def __dlpack_device__(self) -> Any:
            return X.__dlpack_device__()

    assert np.from_dlpack(Capsule()).tolist() == X.tolist()
