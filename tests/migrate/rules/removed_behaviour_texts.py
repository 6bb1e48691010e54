"""Programs that rely on what is otherwise today, and what ``rewrite`` makes of them."""

from __future__ import annotations

from tests.migrate.diffs import pairs

# What no rule has anything to say about.
LEFT_ALONE: dict[str, str] = {
    "other methods of that name": """\
import copy
import flax
import numpy as np
from flax.core import unfreeze
params = variables.pop('params')
a, b = d.pop('params', (1, 2))
a, b = pairs.pop(0)
def f(**kwargs):
    first, second = kwargs.pop('params')
    low, high = kwargs.pop('range')
    return first, kwargs.pop('params')[1]
model.unfreeze(), unfreeze(x)
class A:
    def unfreeze(self):
        return a.unfreeze()
    def f(self):
        return self.unfreeze(), self.copy({})
x.copy(), x.copy('C'), np.copy([1]), copy.copy({1: 2})
""",
    "methods in a file without jax": (
        "a, params = v.pop('params')\nv.unfreeze()\nw = v.unfreeze()\nx.to_py(), x.device()\n"
    ),
    "what may be a dict of something else, without flax": (
        "import jax\na, b = pairs.pop()\na, b = x.pop('c')\ny = x.copy(z)\n"
    ),
    "checkpoints that are only read, or that others write": (
        "from flax.training import checkpoints\n"
        "from flax.training.checkpoints import save_checkpoint\n"
        "checkpoints.restore_checkpoint('a', None)\n"
    ),
    "checkpoints with a format of choice": (
        "import flax\n"
        "from flax.training import checkpoints\n"
        "flax.config.update('flax_use_orbax_checkpointing', True)\n"
        "checkpoints.save_checkpoint('a', 1, 2)\n"
    ),
    "arrays": """\
import jax.numpy as jnp
import numpy as np
jnp.broadcast_to(x, (2, 3)), jnp.reshape(x, [2, 3]), jnp.stack([1, 2])
jnp.broadcast_to(*[[1], (3,)])
of_numpy = np.zeros(3)
of_numpy[[0, 1]]
text = '%s' % jnp.zeros(3)
text[[0]]
def f(unknown):
    return unknown[[0, 1]]
""",
    "calls and cells of today": """\
import functools
import jax
import jax.numpy as jnp
from flax import linen as nn
from jax.experimental.pjit import pjit
jnp.clip(x, 0, 1), jnp.clip(x, min=0), jnp.clip(x, **bounds), jnp.clip(*given)
jnp.reshape(x, shape), jnp.sort(x, kind=None), jnp.compress(c, x, out=None)
jnp.percentile(x, 50, method='lower', weights=w), jnp.where(c, x, y), jnp.array(x, d)
jax.jit(f, static_argnums=0), jax.lax.dot(x, y, precision=p), pjit(f, s, t, (0,))
jax.ShapeDtypeStruct((2,), d, sharding=s), jax.scipy.linalg.solve(a, b, False)
functools.partial(jax.checkpoint, policy=p), nn.remat(nn.Dense, concrete=False)
nn.LSTMCell(8).initialize_carry(key, (2, 8)), nn.LSTMCell(features=8)
nn.MultiHeadDotProductAttention(2)(q, k, v, mask=mask)
nn.MultiHeadDotProductAttention(2)(q, inputs_kv=k), nn.MultiHeadDotProductAttention(2)(q, k, v)
nn.MultiHeadDotProductAttention(2)(*given, mask)
""",
    "functions of numpy, of the program and of a package that has jax beside it": """\
import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf
np.clip(x, a_min=0, a_max=1), clip(x, a_min=0), f(jnp.clip, a_min=0)
tf.device('cpu'), tf.device(), my.enable_omnistaging()
""",
    "a function that the program puts into the module": (
        "import jax.numpy as jnp\njnp.clip = my_clip\njnp.clip(x, a_min=0)\n"
    ),
    "methods of what is not known": (
        "import jax\n"
        "from flax import linen as nn\n"
        "def f(x, module):\n"
        "    x.sort(kind='a'), x.copy('C'), x.split(2), x.device, self.device()\n"
        "    return module.variable(kind='a', name='b')\n"
        "class Other:\n"
        "    def f(self):\n"
        "        return self.variable(kind='a')\n"
    ),
    "methods and properties that arrays have": (
        "import jax.numpy as jnp\nx = jnp.zeros(3)\nx.sort(0), x.clip(0, 1), x.copy(), x.device\n"
    ),
    "freezing without flax.optim": "from flax.core import freeze\nfreeze({})\n",
}

# {what: the text before and after, as a diff}
FIXES = pairs(
    {
        "pop": """\
 import flax
-state, params = variables.pop('params')
-b = f(x).pop('batch_stats')[1]
-state, stats = self.state.pop('stats')
+state, params = flax.core.pop(variables, 'params')
+b = flax.core.pop(f(x), 'batch_stats')[1]
+state, stats = flax.core.pop(self.state, 'stats')
""",
        "names of arguments": """\
 from functools import partial
 import jax
 import jax.numpy as jnp
 from jax.numpy import clip as limit
-y = limit(jnp.reshape(x, newshape=(-1,)), a_min=0, a_max=jnp.quantile(
-    x, 0.9, interpolation='lower',  # no more
+y = limit(jnp.reshape(x, shape=(-1,)), min=0, max=jnp.quantile(
+    x, 0.9, method='lower',  # no more
 ))
-z = [jnp.clip(a = x, a_min=None, a_max=1, out=None), jnp.where(c, x=x, y=y)]
-step = partial(jnp.clip, a_min=-1)
+z = [jnp.clip(x, max=1), jnp.where(c, x, y)]
+step = partial(jnp.clip, min=-1)
""",
        "arguments by their places": """\
 import jax
 import jax.numpy as jnp
-jax.lax.dot(x, y, p, d), jnp.array(x, d, False), jax.lax.linalg.svd(x, False)
-jnp.argsort(x, -1, 'stable', None), jax.remat(f, False, True)
+jax.lax.dot(x, y, precision=p, preferred_element_type=d), jnp.array(
+    x, d, copy=False
+), jax.lax.linalg.svd(x, full_matrices=False)
+jnp.argsort(x, -1, order=None), jax.remat(f, prevent_cse=True)
""",
        "arguments that change nothing": """\
 import functools
 import jax
 from flax import linen as nn
-from jax import numpy as jnp
-@functools.partial(jax.checkpoint, concrete=True)
+@functools.partial(jax.checkpoint)
 def f(x):
-    return nn.softmax(x, initial=-jnp.inf) + jax.nn.softmax(initial=None, x=x)
-g = nn.remat(f, concrete=cfg.concrete, policy=None)
+    return nn.softmax(x) + jax.nn.softmax(x=x)
+g = nn.remat(f, policy=None)
""",
        "methods of arrays": """\
 import jax.numpy as jnp
 x = jnp.zeros(3)
-(x + 1).device(), x.device_buffer, x.split(
+next(iter((x + 1).devices())), x.addressable_data(0), jnp.split(x,
     2, axis=0  # halves
 )
""",
        "unfreeze and copy": """\
 import jax
-p = x.params.unfreeze()['a']
-q = p.copy({'a': 1}).copy(add_or_replace=new)
+from flax import core
+p = core.unfreeze(x.params)['a']
+q = core.copy(core.copy(p, {'a': 1}), add_or_replace=new)
""",
        "checkpoints": """\
 \"\"\"Train.\"\"\"
+import flax
 from flax.training.checkpoints import save_checkpoint
 import os
+
+# Checkpoints stay msgpack files, as they were before Flax 0.6.11.
+flax.config.update("flax_use_orbax_checkpointing", False)


 def f():
     save_checkpoint("a", 1, 2)
     save_checkpoint("a", 1, 2)
""",
        "an annotation alone": """\
-from flax import core, optim
+from flax import core
+from flaxoptim_compat import optim
 x: core.FrozenDict
 optim
""",
        "lists": """\
 import jax.numpy as jnp
-jnp.broadcast_to([x], s)
-jnp.linalg.norm(x=(1, 2))
-jnp.hstack([[1], x])
-jnp.vstack([[i] for i in x])
-jnp.meshgrid([1], x)
+jnp.broadcast_to(jnp.asarray([x]), s)
+jnp.linalg.norm(x=jnp.asarray((1, 2)))
+jnp.hstack([jnp.asarray([1]), x])
+jnp.vstack([jnp.asarray([i]) for i in x])
+jnp.meshgrid(jnp.asarray([1]), x)
""",
        "lists that jit wants to know": """\
 import jax.numpy as jnp
 import numpy as np
-jnp.repeat(x, [1, 2]), np.e, jnp.repeat(x, [n])
+jnp.repeat(x, np.asarray([1, 2])), np.e, jnp.repeat(x, np.asarray([n]))
""",
        "lists as indices": """\
 import jax.numpy as jnp
 x = jnp.arange(3) % 2
-x[[0, 1]]
+x[jnp.asarray([0, 1])]
 x[[slice(2), None]]
""",
        "omnistaging in a block, with a comment, beside something": """\
-import jax
-jax.config.enable_omnistaging()  # as in 0.2
+# as in 0.2
 if x:
-    jax.config.enable_omnistaging()
-jax.config.enable_omnistaging(); f()
+    pass
+pass; f()
""",
    }
)

# {what: the text, the code, a part of the reason}
LEFT: dict[str, tuple[str, str, str]] = {
    "tensorboard by name": (
        "from flax.metrics.tensorboard import SummaryWriter\nSummaryWriter('x')\n",
        "FOC160",
        "install tensorflow and tensorboard",
    ),
    "other names of jax.config": (
        "from jax.config import flags\n",
        "FOC159",
        "the object jax.config",
    ),
    "omnistaging as a value": (
        "import jax\nf(jax.config.enable_omnistaging)\n",
        "FOC164",
        "delete this, as omnistaging is always on",
    ),
    "an argument that could only be None": (
        "import jax\njax.make_jaxpr(f, abstracted_axes={0: 'n'})\n",
        "FOC166",
        "abstracted_axes could only be None",
    ),
    "arguments in another order": (
        "import jax.numpy as jnp\njnp.where(y=f(), x=g(), condition=c)\n",
        "FOC166",
        "the arguments stand in another order",
    ),
    "places that later arguments take": (
        "import functools\nimport jax.numpy as jnp\nfunctools.partial(jnp.where, condition=c)\n",
        "FOC166",
        "the places of the later arguments are not known",
    ),
    "an argument in parentheses": (
        "import jax.numpy as jnp\njnp.array(x, d, (y))\n",
        "FOC166",
        "an argument stands in parentheses of its own",
    ),
    "an argument by two names": (
        "import jax.numpy as jnp\njnp.quantile(x, q, method='a', interpolation='b')\n",
        "FOC166",
        "one argument is given twice",
    ),
    "what is more than other names": (
        "import jax\njax.jit(f, (0,))\n",
        "FOC166",
        "jax.jit does not take in_shardings by its place any more: write"
        " jax.jit(fun, static_argnums=..., ...)",
    ),
    "what only its name calls a mask": (
        "from flax import linen as nn\nnn.MultiHeadDotProductAttention(2)(x, y, my_mask)\n",
        "FOC166",
        "only the name says that the argument is a mask",
    ),
    "a method of the class of a convolution": (
        "from flax import linen as nn\nnn.ConvLSTMCell.initialize_carry(key, (3,), (8, 8, 1))\n",
        "FOC171",
        "write nn.ConvLSTMCell(features, kernel_size).initialize_carry(rng, input_shape)",
    ),
    "a method that only arrays had": (
        "import jax\ndef f(x):\n    return x.scores.to_py()\n",
        "FOC167",
        "if this is an array, write numpy.asarray(x)",
    ),
}
