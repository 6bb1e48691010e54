"""Programs with names that are gone, and what ``rewrite`` makes of them."""

from __future__ import annotations

from tests.migrate.diffs import pairs

# What no rule has anything to say about.
LEFT_ALONE: dict[str, str] = {
    "names of today": """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from jax import config
x = jax.tree.map(jnp.sin, jnp.ones(2))
jax.config.update('a', 1), config.x, nn.Dense(3), nn.relu
np.bool, np.long, jnp.float_, jnp.float32
getattr(np, 'float', float)
def f(jax, tree_map):
    return jax.tree_map, tree_map(1, 2)
""",
    "the same names of another library": (
        "import tree\nfrom mylib import jax\ntree.tree_map\njax.tree_map\n"
    ),
    "an attribute that the program sets": "import numpy as np\nnp.float = float\n",
    "an import that newer versions do not come to": """\
try:
    from collections.abc import Mapping
except ImportError:
    from collections import Mapping
Mapping
""",
}

# {what: the text before and after, as a diff}
FIXES = pairs(
    {
        "an annotation in quotes": """\
 import jax
-import jax.numpy as jnp
-x: 'jnp.DeviceArray'
+x: 'jax.Array'
""",
        "a module that moved": """\
-from jax.experimental import optimizers
+from jax.example_libraries import optimizers
 optimizers.adam(1)
""",
        "the module flax.config": "-import flax.config\n+import flax\n flax.config.flax_profile\n",
        "a fallback": """\
 import jax
 try:
-    from jax import tree_map
+    from jax.tree_util import tree_map
 except ImportError:
-    tree_map = jax.tree_map
+    tree_map = jax.tree.map
""",
        "None in the first tree": """\
 import jax
-jax.tree_map(f, {'a': None}, x)
-jax.tree_map(f, {'a': None})
-jax.tree_map(f, x[None, :], x)
-jax.tree_map(f, [None][0], x)
+from flaxoptim_compat import era
+era.tree_map(f, {'a': None}, x)
+jax.tree.map(f, {'a': None})
+jax.tree.map(f, x[None, :], x)
+era.tree_map(f, [None][0], x)
""",
        "builtins": "-import numpy as np\n-x = np.float(np.int(1))\n+x = float(int(1))\n",
        "builtins that are hidden": """\
-import numpy as np
+import builtins
 class A:
-    float = np.float
+    float = builtins.float
""",
        "names of Python's own modules": """\
 import collections
-import fractions
+import math
 import time
-from collections import Callable, OrderedDict
+from collections import abc
+from collections import OrderedDict
+from collections.abc import Callable
-def f(x: 'collections.Sequence', y: Callable = OrderedDict):
-    isinstance(x, collections.Mapping), time.clock(), fractions.gcd(4, 6)
+def f(x: 'abc.Sequence', y: Callable = OrderedDict):
+    isinstance(x, abc.Mapping), time.perf_counter(), math.gcd(4, 6)
     collections.defaultdict
""",
        "names of numpy": """\
+import math
+
 import numpy as np
-np.float_, np.AxisError, np.math.pi, np.lib.index_tricks.ix_
+np.float64, np.exceptions.AxisError, math.pi, np.ix_
""",
        "constants": """\
 import numpy as np
-[np.NINF, 1 - np.NINF, -np.NINF, np.NINF ** 2, x[np.NINF], np.PZERO]
+[-np.inf, 1 - (-np.inf), -(-np.inf), (-np.inf) ** 2, x[-np.inf], 0.0]
""",
        "a constant in a pattern": """\
-import numpy as np
+from flaxoptim_compat import era
 match x:
-    case np.NINF:
+    case era.NINF:
         pass
""",
        "updates in each other": """\
-from jax import ops
-ops.index_mul(ops.index_min(x, (0,), a), i, b)
-ops.index_add(x, i, b, True, unique_indices=u)
+import jax.numpy as jnp
+from flaxoptim_compat import era
+jnp.asarray(x).at[(0,)].min(a).at[i].multiply(b)
+era.index_add(x, i, b, True, unique_indices=u)
""",
        "an update that is passed on": """\
-import jax, functools
-f = functools.partial(jax.ops.index_update, x, jax.ops.index[0])
+import functools
+import numpy as np
+from flaxoptim_compat import era
+f = functools.partial(era.index_update, x, np.s_[0])
""",
        "tie_in": """\
-from jax import lax
-y = lax.tie_in(state.step, y)
-z = lax.tie_in(x, a + b) * 2
-key = lax.tie_in(x, 0.0)
-keep = lax.tie_in(x, 1 - rate)
-lax.tie_in(f(), y)
+from flaxoptim_compat import era
+z = (a + b) * 2
+key = 0.0
+keep = 1 - rate
+era.tie_in(f(), y)
""",
        "shuffle": """\
+from flaxoptim_compat import era
 from jax import random
-random.shuffle(
+random.permutation(
     key,
-    x,  # all
+    x, independent=True,  # all
 )
-random.shuffle(*a)
+era.shuffle(*a)
""",
        # Each brought `jax`, and both go.
        "submodules": """\
-import jax.experimental.host_callback
-import jax.lib.xla_bridge
-jax.experimental.host_callback.id_print(jax.jit(f)(jax.lib.xla_bridge.get_backend()))
+import jax
+from flaxoptim_compat.era import host_callback
+from jax.extend import backend
+host_callback.id_print(jax.jit(f)(backend.get_backend()))
""",
        "stand-ins": """\
-from jax.experimental import host_callback as hcb
-from jax.util import safe_map, partial
+from flaxoptim_compat.era import host_callback as hcb
+from flaxoptim_compat.era.jax_util import safe_map
+from functools import partial
 hcb.id_tap, safe_map, partial
""",
        "flax.nn with modules": """\
-from flax import nn
-from flax.nn.attention import Cache
+from flaxoptim_compat import nn
+from flaxoptim_compat.nn.attention import Cache
 nn.relu, nn.Module, nn.initializers.zeros, Cache
""",
        "f-strings": """\
-import jax
 import numpy as np
+from flaxoptim_compat import era
 x = f\"\"\"
-{np.float_(1)}
+{np.float64(1)}
 \"\"\"
-y = f"{jax.random.threefry2x32_key(1)} {np.NINF!r}"
+y = f"{era.threefry2x32_key(1)} {-np.inf!r}"
""",
    }
)
