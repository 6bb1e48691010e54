"""Programs with names that are gone, and what ``rewrite`` makes of them."""

from __future__ import annotations

# What no rule has anything to say about.
LEFT_ALONE: dict[str, str] = {
    "names of today": (
        "import jax\nimport jax.numpy as jnp\nx = jax.tree.map(jnp.sin, jnp.ones(2))\n"
    ),
    "the same names of another library": (
        "import tree\nfrom mylib import jax\ntree.tree_map\njax.tree_map\n"
    ),
    "a variable of the same name": ("import jax\ndef f(jax):\n    return jax.tree_map\n"),
    "a parameter of the same name": ("import jax\ndef g(tree_map):\n    return tree_map(1, 2)\n"),
    "an attribute that the program sets": "import numpy as np\nnp.float = float\n",
    "a look-up that is ready for its absence": (
        "import numpy as np\nf = getattr(np, 'float', float)\n"
    ),
    "the object jax.config": (
        "import jax\nfrom jax import config\njax.config.update('a', 1)\nconfig.x\n"
    ),
    "numpy's bool": "import numpy as np\nnp.bool\n",
    "jax.numpy as it is": ("import jax.numpy as np\nnp.float_\nnp.float32\n"),
    "Linen": ("from flax import linen as nn\nnn.Dense(3)\nnn.relu\n"),
    "numpy's long, which is there again": "import numpy as np\nnp.long\n",
}

# {what: the text before and after}
FIXES: dict[str, tuple[str, str]] = {
    "an attribute": (
        "import jax\njax.tree_map\n",
        "import jax\njax.tree.map\n",
    ),
    "getattr": (
        "import jax\ngetattr(jax, 'tree_map')(f, x)\n",
        "import jax\njax.tree.map(f, x)\n",
    ),
    "an annotation in quotes": (
        ("import jax\nimport jax.numpy as jnp\nx: 'jnp.DeviceArray'\n"),
        "import jax\nx: 'jax.Array'\n",
    ),
    "a module that moved": (
        "from jax.experimental import optimizers\noptimizers.adam(1)\n",
        "from jax.example_libraries import optimizers\noptimizers.adam(1)\n",
    ),
    "the module flax.config": (
        "import flax.config\nflax.config.flax_profile\n",
        "import flax\nflax.config.flax_profile\n",
    ),
    "a variable": (
        ("import jax\nf = jax.tree_map\nf(g, x)\n"),
        ("import jax\nf = jax.tree.map\nf(g, x)\n"),
    ),
    "a fallback": (
        (
            "import jax\n"
            "try:\n"
            "    from jax import tree_map\n"
            "except ImportError:\n"
            "    tree_map = jax.tree_map\n"
        ),
        (
            "import jax\n"
            "try:\n"
            "    from jax.tree_util import tree_map\n"
            "except ImportError:\n"
            "    tree_map = jax.tree.map\n"
        ),
    ),
    "None in the first tree": (
        ("import jax\njax.tree_map(f, {'a': None}, x)\njax.tree_map(f, {'a': None})\n"),
        (
            "import jax\n"
            "from flaxoptim_compat import era\n"
            "era.tree_map(f, {'a': None}, x)\n"
            "jax.tree.map(f, {'a': None})\n"
        ),
    ),
    "builtins": (
        "import numpy as np\nx = np.float(np.int(1))\n",
        "x = float(int(1))\n",
    ),
    "builtins that are hidden": (
        ("import numpy as np\nclass A:\n    float = np.float\n"),
        ("import builtins\nclass A:\n    float = builtins.float\n"),
    ),
    "names of numpy": (
        "import numpy as np\nnp.float_, np.AxisError, np.math.pi, np.lib.index_tricks.ix_\n",
        (
            "import math\n\nimport numpy as np\n"
            "np.float64, np.exceptions.AxisError, math.pi, np.ix_\n"
        ),
    ),
    "constants": (
        (
            "import numpy as np\n"
            "[np.NINF, 1 - np.NINF, -np.NINF, np.NINF ** 2, x[np.NINF], np.PZERO]\n"
        ),
        (
            "import numpy as np\n"
            "[-np.inf, 1 - (-np.inf), -(-np.inf), (-np.inf) ** 2, x[-np.inf], 0.0]\n"
        ),
    ),
    "a constant in a pattern": (
        ("import numpy as np\nmatch x:\n    case np.NINF:\n        pass\n"),
        ("from flaxoptim_compat import era\nmatch x:\n    case era.NINF:\n        pass\n"),
    ),
    "an update": (
        ("import jax\ndef f(x):\n    return jax.ops.index_update(x, jax.ops.index[1:, 0], y)\n"),
        ("import jax\ndef f(x):\n    return jax.numpy.asarray(x).at[1:, 0].set(y)\n"),
    ),
    "updates in each other": (
        (
            "from jax import ops\n"
            "ops.index_mul(ops.index_min(x, (0,), a), i, b)\n"
            "ops.index_add(x, i, b, True, unique_indices=u)\n"
        ),
        (
            "import jax.numpy as jnp\n"
            "from flaxoptim_compat import era\n"
            "jnp.asarray(x).at[(0,)].min(a).at[i].multiply(b)\n"
            "era.index_add(x, i, b, True, unique_indices=u)\n"
        ),
    ),
    "an update that is passed on": (
        (
            "import jax, functools\n"
            "f = functools.partial(jax.ops.index_update, x, jax.ops.index[0])\n"
        ),
        (
            "import functools\n"
            "import numpy as np\n"
            "from flaxoptim_compat import era\n"
            "f = functools.partial(era.index_update, x, np.s_[0])\n"
        ),
    ),
    "an update with comments": (
        ("import jax\ny = jax.ops.index_max(\n    x,  # the array\n    0, 1.0)\n"),
        ("import jax\n# the array\ny = jax.numpy.asarray(x).at[0].max(1.0)\n"),
    ),
    "tie_in": (
        (
            "from jax import lax\n"
            "y = lax.tie_in(state.step, y)\n"
            "z = lax.tie_in(x, a + b) * 2\n"
            "lax.tie_in(f(), y)\n"
        ),
        ("from flaxoptim_compat import era\nz = (a + b) * 2\nera.tie_in(f(), y)\n"),
    ),
    "shuffle": (
        (
            "from jax import random\n"
            "random.shuffle(\n"
            "    key,\n"
            "    x,  # all\n"
            ")\n"
            "random.shuffle(*a)\n"
        ),
        (
            "from flaxoptim_compat import era\n"
            "from jax import random\n"
            "random.permutation(\n"
            "    key,\n"
            "    x, independent=True,  # all\n"
            ")\n"
            "era.shuffle(*a)\n"
        ),
    ),
    # Each brought `jax`, and both go.
    "submodules": (
        (
            "import jax.experimental.host_callback\nimport jax.lib.xla_bridge\n"
            "jax.experimental.host_callback.id_print(jax.jit(f)(jax.lib.xla_bridge.get_backend()))\n"
        ),
        (
            "import jax\nfrom flaxoptim_compat.era import host_callback\n"
            "from jax.extend import backend\n"
            "host_callback.id_print(jax.jit(f)(backend.get_backend()))\n"
        ),
    ),
    "calls that are written otherwise today": (
        "import numpy as np\nnp.msort(x), np.in1d(a, b, invert=True), np.asfarray((x))\n",
        (
            "from flaxoptim_compat import era\n"
            "era.msort(x), era.in1d(a, b, invert=True), era.asfarray((x))\n"
        ),
    ),
    "stand-ins": (
        (
            "from jax.experimental import host_callback as hcb\n"
            "from jax.util import safe_map, partial\n"
            "hcb.id_tap, safe_map, partial\n"
        ),
        (
            "from flaxoptim_compat.era import host_callback as hcb\n"
            "from flaxoptim_compat.era.jax_util import safe_map\n"
            "from functools import partial\n"
            "hcb.id_tap, safe_map, partial\n"
        ),
    ),
    "backends": (
        "from jax.lib import xla_bridge\nxla_bridge.get_backend().platform\n",
        "from jax.extend import backend\nbackend.get_backend().platform\n",
    ),
    "flax.nn with what Linen has": (
        "from flax import nn\nnn.relu, nn.initializers.zeros\n",
        "from flax import linen as nn\nnn.relu, nn.initializers.zeros\n",
    ),
    "flax.nn with modules": (
        (
            "from flax import nn\n"
            "from flax.nn.attention import Cache\n"
            "nn.relu, nn.Module, nn.initializers.zeros, Cache\n"
        ),
        (
            "from flaxoptim_compat import nn\n"
            "from flaxoptim_compat.nn.attention import Cache\n"
            "nn.relu, nn.Module, nn.initializers.zeros, Cache\n"
        ),
    ),
    "flax.nn with modules, by its full name": (
        "import flax\nclass Net(flax.nn.Module):\n    pass\n",
        "from flaxoptim_compat import nn\nclass Net(nn.Module):\n    pass\n",
    ),
    "f-strings": (
        (
            "import jax\n"
            "import numpy as np\n"
            'x = f"""\n'
            "{np.float_(1)}\n"
            '"""\n'
            'y = f"{jax.random.threefry2x32_key(1)} {np.NINF!r}"\n'
        ),
        (
            "import numpy as np\n"
            "from flaxoptim_compat import era\n"
            'x = f"""\n'
            "{np.float64(1)}\n"
            '"""\n'
            'y = f"{era.threefry2x32_key(1)} {-np.inf!r}"\n'
        ),
    ),
}
