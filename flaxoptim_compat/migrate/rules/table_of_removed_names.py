"""FOC151 to FOC160: names that jax, flax and numpy dropped, by what takes their place."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.successors.finding_names import findings

RULES = (
    Rule(
        code="FOC151",
        name="removed-jax-names",
        summary="a name that jax removed, and that is there under another name",
        what=(
            "The new name takes the place of the old one: `jax.tree_map` becomes `jax.tree.map`,"
            " `jnp.DeviceArray` becomes `jax.Array`, and `jax.partial` becomes `functools.partial`."
            " What is imported by name keeps the name that it has in the file: `from jax import"
            " tree_map` becomes `from jax.tree_util import tree_map`."
        ),
        why=(
            "jax raises an AttributeError or an ImportError. The new name stands for the same"
            " object, or for one that does the same."
        ),
        refuses=(
            "`import *` of a module that is gone, names that a program gives to a module itself"
            " (`jax.tree_map = ...`), and `getattr` with a default. Where a tree that `tree_map` is"
            " given first has `None` evidently, it becomes the stand-in"
            " `flaxoptim_compat.era.tree_map`: the old one let `None` there"
            " stand for anything in the others, while `jax.tree.map` raises an error."
        ),
        examples=(
            Example(
                before=(
                    "import jax\nimport jax.numpy as jnp\nfrom jax import tree_leaves\n\n\n"
                    "def size(x: jnp.DeviceArray):\n"
                    "    return jax.tree_map(jnp.size, tree_leaves(x))\n"
                ),
                shim=(
                    "import jax\nimport jax.numpy as jnp\nfrom jax.tree_util import tree_leaves\n\n"
                    "\ndef size(x: jax.Array):\n    return jax.tree.map(jnp.size, tree_leaves(x))\n"
                ),
            ),
        ),
    ),
    Rule(
        code="FOC152",
        name="removed-jax-calls",
        summary="a function that jax removed, and that is written in another way",
        what=(
            "The call is written anew: `jax.ops.index_update(x, jax.ops.index[i], y)` becomes"
            " `x.at[i].set(y)`, `jax.lax.tie_in(x, y)` becomes `y`, `jax.random.shuffle(key, x)`"
            " becomes `jax.random.permutation(key, x, independent=True)`, and `jnp.NINF` becomes"
            " `-jnp.inf`."
        ),
        why=(
            "jax raises an AttributeError or an ImportError. The new form computes the same, from"
            " `jnp.asarray(x)` where x could be a list or an array of numpy, which have no `at`."
            " Where y has a wider dtype than x, jax warns that it will be an error one day."
        ),
        refuses=(
            "Unpacked arguments, arguments in another order, and functions that are passed on"
            " without being called: there the stand-in of `flaxoptim_compat.era` takes"
            " the place of the name."
        ),
        examples=(
            Example(
                before=(
                    "import jax\nimport jax.numpy as jnp\n\n"
                    "x = jnp.zeros(3)\nx = jax.ops.index_add(x, jax.ops.index[1:], 2.0)\n"
                ),
                shim="import jax.numpy as jnp\n\nx = jnp.zeros(3)\nx = x.at[1:].add(2.0)\n",
            ),
        ),
    ),
    Rule(
        code="FOC153",
        name="stand-ins-for-jax",
        summary="a name that jax removed, and that only this package still has",
        what=(
            "The name is imported from `flaxoptim_compat.era`, where it does what it"
            " did: `host_callback`, `custom_transforms`, `safe_map`, `device_put_replicated`,"
            " `xla_computation` and others."
        ),
        why=(
            "jax raises an AttributeError or an ImportError, and what it has instead takes other"
            " arguments. The finding says what to write in the long run."
        ),
        refuses=(
            "`import *` of a module that is gone, and names that a program gives to a module"
            " itself."
        ),
        examples=(
            Example(
                before="from jax.util import safe_map\n\nprint(safe_map(abs, [1]))\n",
                shim=(
                    "from flaxoptim_compat.era.jax_util import safe_map\n\n"
                    "print(safe_map(abs, [1]))\n"
                ),
            ),
        ),
    ),
    Rule(
        code="FOC154",
        name="removed-flax-names",
        summary="`flax.nn`, `flax.deprecated` or `ConvLSTM`",
        what=(
            "A file that takes only activations, initializers and poolings from `flax.nn` gets them"
            " from `flax.linen`, where they are the same functions. If it has modules, they stay as"
            " they are, and all of `flax.nn` comes from `flaxoptim_compat.nn`; the optimizers can"
            " move nevertheless. `flax.linen.ConvLSTM` comes from `flaxoptim_compat.era`."
        ),
        why=(
            "flax raises an AttributeError or an ImportError. FOC158 says for single names what to"
            " write in Linen."
        ),
        refuses=(
            "`import *` of a module that is gone, and names that a program gives to a module"
            " itself."
        ),
        examples=(
            Example(
                before="from flax import nn\n\nprint(nn.relu(-1.0))\n",
                shim="from flax import linen as nn\n\nprint(nn.relu(-1.0))\n",
            ),
        ),
    ),
    Rule(
        code="FOC155",
        name="removed-numpy-names",
        summary="a name that numpy removed, and that is there under another name",
        what=(
            "The new name takes the place of the old one: `np.float_` becomes `np.float64`,"
            " `np.float` becomes `float`, `np.product` becomes `np.prod`, `np.math` becomes `math`,"
            " and `np.VisibleDeprecationWarning` becomes `np.exceptions.VisibleDeprecationWarning`."
        ),
        why="numpy raises an AttributeError. The new name stands for the same object.",
        refuses=(
            "`import *`, names that a program gives to numpy itself (`np.float = float`), and"
            " `getattr` with a default."
        ),
        examples=(
            Example(
                before="import numpy as np\n\nprint(np.product([2, 3], dtype=np.float_))\n",
                shim="import numpy as np\n\nprint(np.prod([2, 3], dtype=np.float64))\n",
            ),
        ),
    ),
    Rule(
        code="FOC156",
        name="removed-numpy-calls",
        summary="a function or a constant that numpy removed, and that is written in another way",
        what=(
            "`np.NINF` becomes `-np.inf`, `np.asscalar(a)` becomes `a.item()`, `np.in1d(a, b)`"
            " becomes `np.isin(a, b).ravel()`, `np.msort(a)` becomes `np.sort(a, axis=0)`, and"
            " `np.asfarray(a)` becomes `np.asarray(a, dtype=np.float64)`."
        ),
        why="numpy raises an AttributeError. The new form computes the same.",
        refuses=(
            "Unpacked arguments, keywords that have another name today, and functions that are"
            " passed on without being called: there the stand-in of"
            " `flaxoptim_compat.era` takes the place of the name."
        ),
        examples=(
            Example(
                before="import numpy as np\n\nprint(np.NINF, np.asscalar(np.ones(1)))\n",
                shim="import numpy as np\n\nprint(-np.inf, np.ones(1).item())\n",
            ),
        ),
    ),
    Rule(
        code="FOC157",
        name="stand-ins-for-numpy",
        summary="a name that numpy removed, and that only this package still has",
        what=(
            "The name is imported from `flaxoptim_compat.era`, where it does what it"
            " did: `find_common_type`, `cast`, `sctypes`, `obj2sctype`, `alen`, `disp` and others."
        ),
        why=(
            "numpy raises an AttributeError, and what it has instead takes other arguments. The"
            " finding says what to write in the long run."
        ),
        refuses="Names that a program gives to numpy itself, and `getattr` with a default.",
        examples=(
            Example(
                before="import numpy as np\n\nprint(np.obj2sctype('f4'))\n",
                shim="from flaxoptim_compat import era\n\nprint(era.obj2sctype('f4'))\n",
            ),
        ),
    ),
    Rule(
        code="FOC158",
        name="flax-nn-without-linen",
        summary="a name of `flax.nn` that Linen has not, or has in another form",
        what=(
            "The name is imported from `flaxoptim_compat.nn`, which has all of `flax.nn`. The"
            " finding says what to write in `flax.linen` in the long run."
        ),
        why=(
            "A module of `flax.nn` got its inputs and what configures it in one call, and kept the"
            " parameters by its own names. In Linen these are two calls, and what becomes of which"
            " is for the owner of the program to say."
        ),
        refuses="Names that a program gives to a module itself.",
        examples=(
            Example(
                before="from flax.nn import Dense\n\nprint(Dense)\n",
                shim="from flaxoptim_compat.nn import Dense\n\nprint(Dense)\n",
            ),
        ),
    ),
    Rule(
        code="FOC159",
        name="gone-for-good",
        summary="a name that jax or numpy removed, and that nothing replaces as it is",
        what="Nothing; the finding says what there is instead.",
        why="What came after was made differently, so that the program around it has to change.",
        refuses="Always.",
        examples=(
            Example.alike(
                before="from jax.experimental.maps import xmap\n",
                after=(
                    "# FOC159: jax.experimental.maps.xmap, gone since jax 0.4.31: use"
                    " jax.shard_map, or\n#   jax.jit with jax.sharding.NamedSharding\n"
                    "from jax.experimental.maps import xmap\n"
                ),
            ),
        ),
    ),
    Rule(
        code="FOC160",
        name="tensorboard-without-tensorflow",
        summary="`flax.metrics.tensorboard`, which cannot be imported without TensorFlow",
        what=(
            "Nothing; the finding says what to install, or what to write with instead. Where"
            " TensorFlow and TensorBoard are installed, `# noqa: FOC160` silences it."
        ),
        why=(
            "flax still has the module, but it imports TensorFlow and TensorBoard, which neither"
            " flax nor this package installs."
        ),
        refuses="Always.",
        examples=(
            Example.alike(
                before="from flax.metrics import tensorboard\n",
                after=(
                    "# FOC160: flax.metrics.tensorboard, which needs TensorFlow: install tensorflow"
                    " and\n#   tensorboard, or use tensorboardX.SummaryWriter, whose methods have"
                    " other names\nfrom flax.metrics import tensorboard\n"
                ),
            ),
        ),
    ),
)


def find(code: str, reading: Reading) -> Iterator[Finding]:
    """The names that one of these rules is about, each with what takes its place."""
    yield from findings(reading, code)
