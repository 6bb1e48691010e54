"""Rewritten programs run without ``install``, and compute what the old ones do under it."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from tests.legacy.cases.jax_updates import UPDATES
from tests.legacy.cases.old_names import encode
from tests.migrate.successors.old_code import run, run_as_it_was
from tests.support.rewriting_texts import INSTALLED, rewrite_alone

VECTOR = np.linspace(-2.5, 4.0, 7).astype(np.float32)
MATRIX = np.cos(np.arange(12.0)).astype(np.float32).reshape(4, 3)
INTEGERS = np.asarray([[3, -1, 2], [5, 0, -7]], np.int32)

# {what: a program; x, m and i are a vector, a matrix and integers, and key is a key}
PROGRAMS = {
    "shuffle": """
from jax import random
result = [random.shuffle(key, m), random.shuffle(key, i, axis=1), *map(random.shuffle, [key], [x])]
""",
    "a key": """
import jax
result = jax.random.threefry2x32_key(7)
""",
    "in1d": """
import numpy as np, jax.numpy as jnp
result = [np.in1d(i, [5, 2, 2]), np.in1d(3, i, True), np.in1d(["a", "b"], ["b"])]
result.append(jnp.in1d(i, i[0], invert=True))
""",
    "functions of numpy": """
import numpy as np
result = [np.msort(i), np.msort([3, 1, 2]), np.asfarray([1, 2]), np.asfarray(i, "f4")]
result += [np.asscalar(x[:1] + 1), np.alltrue(i), np.round_(x, 1), np.product(i)]
result += [np.float(1), np.float_(3), np.int(2.5), np.math.floor(2.5), np.cast["f"](i)]
""",
    "constants": """
import numpy as np, jax.numpy as jnp
result = [np.NINF, str(np.NZERO), 2 - jnp.NINF, str(-np.PZERO), 3 * np.NINF, np.NINF ** 2]
""",
    "tie_in": """
from jax import lax
f = lax.tie_in
result = [lax.tie_in(m, x + 1) * 2, f(m, x), lax.tie_in(max(1, 2), 3)]
""",
    "spherical harmonics": """
import jax.numpy as jnp
from jax.scipy.special import sph_harm
n = jnp.array([2])
result = sph_harm(jnp.array([1]), n, jnp.array([0.5]), jnp.array([0.7]), n_max=2)
""",
    "updates": """
import jax
import jax.numpy as jnp
from functools import partial
from jax.ops import index_update, index, index_add
@jax.jit
def f(x):
    y = jnp.zeros(3)
    y = index_update(y, index[0], x[0])
    return y
result = [index_add(index_update(m, index[:, 0], 2.0), index[1, ...], x[:3], True), f(x)]
result.append(jax.ops.index_mul(y=2.0, idx=index[1:], x=m))
result.append(partial(jax.ops.index_max, x, index[2:4])(1.0))
""",
    "trees": """
import jax
from jax import tree_multimap, tree_leaves
result = [tree_multimap(lambda a, b: a + b, {"a": x}, {"a": x}), tree_leaves([1, (2,)])]
result += [jax.tree_unflatten(jax.tree_structure([0, 0]), [1, 2]), jax.tree_flatten([3])[0]]
result.append(jax.tree_multimap(lambda a, b: a, {"a": None, "b": 1}, {"a": 2, "b": 3}))
""",
    "modules": """
from jax import api
from jax.abstract_arrays import ShapedArray
result = [api.jit(lambda x: x + 1)(x), ShapedArray((2,), x.dtype).shape, api.partial(max, 3)(2)]
""",
    "64 bits": """
import jax.numpy as jnp
from jax.config import config
from jax.experimental import enable_x64
config.enable_omnistaging()
with enable_x64():
    result = [jnp.asarray(2.5)]
result += [jnp.asarray(2.5), config.jax_enable_x64]
""",
    "lists under jit": """
import jax
import jax.numpy as jnp
result = jax.jit(lambda x: jnp.repeat(x, [1, 2, 0, 1, 1, 1, 1]))(x)
""",
}


# Before jax 0.6 it does what later ones refuse, and says so.
@pytest.mark.filterwarnings("ignore:In a future release of JAX, flatten-up-to:DeprecationWarning")
@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_it_computes_what_it_did(text: str) -> None:
    names = {"x": VECTOR, "m": MATRIX, "i": INTEGERS, "key": jax.random.PRNGKey(3)}
    new = rewrite_alone(text, releases=INSTALLED)
    assert new != text
    assert encode(run(new, **names)) == encode(run_as_it_was(text, **names))


@pytest.mark.parametrize("name", ["update", "add", "mul", "min", "max"])
def test_updates_compute_what_they_did(name: str) -> None:
    text = f"import jax\ndef f(x, i, y):\n    return jax.ops.index_{name}(x, i, y)\n"
    text += "result = [f(*each) for each in cases]\n"
    new = rewrite_alone(text)
    assert ".at[i]." in new
    with_order = [x for what, x in UPDATES.items() if what != "complex numbers"]
    assert encode(run(new, cases=with_order)) == encode(run_as_it_was(text, cases=with_order))
