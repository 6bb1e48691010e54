"""The pages of ``migration_guide/optimizers``, and running what stands in them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from flaxoptim_compat import optim, transforms
from flaxoptim_compat.catalogue import OPTIMIZERS
from tests.support.places import ROOT

FOLDER = ROOT / "migration_guide" / "optimizers"
PAGES = {row.name: (FOLDER / row.page).read_text() for row in OPTIMIZERS}
START = np.asarray([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
RATE = 0.1


def section(name: str, heading: str) -> str:
    return PAGES[name].partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def kernels(params: Any) -> Any:
    return jax.tree_util.tree_map_with_path(
        lambda path, _: "kernel" in jax.tree_util.keystr(path), params
    )


def evaluated(text: str) -> Any:
    names = {"jnp": jnp, "kernels": kernels, "optax": optax, "optim": optim}
    return eval(text, {**names, "transforms": transforms})


def gradient(t: int) -> Any:
    return np.sin(t * (1.0 + np.arange(6.0))).reshape(2, 3)


def definition(name: str, changed: dict[str, Any]) -> Any:
    if name == "WeightNorm":
        return optim.WeightNorm(optim.GradientDescent(RATE), **changed)
    return getattr(optim, name)(RATE, **changed)
