"""The names of flax.optim, and what functions of jax, flax and Python do with optimizers."""

from __future__ import annotations

import ast
import builtins
import functools
import re
import sys

from flaxoptim_compat.migrate.names.dotted import argument, last_name
from flaxoptim_compat.migrate.names.surface import OPTIMIZERS

_MODULE = "flax.optim"
# So far a program may have come, with flaxoptim_compat in place of flax.
_TODAY = ("flaxoptim_compat.optim", "flaxoptim_compat")

DEFINITIONS = OPTIMIZERS | {"MultiOptimizer"}
# A class that is looked up by a name which is not known before the program runs.
COMPUTED = "flax.optim.<computed>"
# The optimizer that a TrainState stands for, of which nothing is to be rewritten any more.
BRIDGED = "flaxoptim_compat.<bridged>"
BASE = "OptimizerDef"
# What makes the optimizers of a definition DualTrainStates.
DUAL = "flaxoptim_compat.dual"

# Methods and fields that only optimizers have.
TELLING = frozenset({"apply_gradient", "optimizer_def"})
# Fields that others have too: what the variable is called decides.
_AMBIGUOUS = frozenset({"target", "state"})
HINTING = TELLING | _AMBIGUOUS
_CALLED_OPTIMIZER = re.compile(r"(^|_)(opt|optimizer)$")


@functools.cache
def legacy_name(name: str) -> str | None:
    """The name in flax.optim, without its modules, such as ``Adam``; None for other names."""
    for module in (_MODULE, *_TODAY):
        if name.startswith(f"{module}."):
            return name.rpartition(".")[2]
    return None


def is_definition(name: str) -> bool:
    """True if a full name is that of a class of definitions, such as ``flax.optim.Adam``."""
    return legacy_name(name) in DEFINITIONS


def is_base(name: str) -> bool:
    """True if a class with this base is a class of definitions."""
    return is_definition(name) or legacy_name(name) == BASE


def is_optimizer(name: str) -> bool:
    """True if a full name is that of ``Optimizer``, the class of optimizers."""
    return legacy_name(name) == "Optimizer"


def is_traversal(name: str) -> bool:
    """True if a full name is that of a traversal that selects parameters by their paths."""
    return name.rpartition(".")[2] == "ModelParamTraversal" and (
        legacy_name(name) is not None or name.startswith("flax.traverse_util.")
    )


def is_package(name: str) -> bool:
    """True if a full name is that of the module flax.optim itself."""
    return name in (_MODULE, _TODAY[0])


def is_called_optimizer(node: ast.Attribute) -> bool:
    """True for an attribute as optimizers have, of an object that is called one."""
    return node.attr in HINTING and _CALLED_OPTIMIZER.search(last_name(node.value)) is not None


def is_bridged(node: ast.Attribute) -> bool:
    """True for ``to_train_state``, and for ``from_train_state`` and attributes of its result."""
    if node.attr in _BRIDGES:
        return True
    inner: ast.expr = node.value
    while isinstance(inner, ast.Attribute | ast.Call):
        inner = inner.func if isinstance(inner, ast.Call) else inner.value
        if isinstance(inner, ast.Attribute) and inner.attr == "from_train_state":
            return True
    return False


_BRIDGES = frozenset({"to_train_state", "from_train_state"})

# The value of this argument is what the function returns, perhaps with other arrays in it.
RETURNS_ARGUMENT: dict[str, tuple[int, str]] = {
    DUAL: (0, "given"),
    "jax.device_put": (0, "x"),
    "jax.device_get": (0, "x"),
    "jax.block_until_ready": (0, "x"),
    "jax.device_put_replicated": (0, "x"),
    "jax.lax.pmean": (0, "x"),
    "jax.lax.psum": (0, "x"),
    "jax.lax.stop_gradient": (0, "x"),
    "jax.lax.all_gather": (0, "x"),
    "jax.jit": (0, "fun"),
    "jax.pmap": (0, "fun"),
    "jax.vmap": (0, "fun"),
    "jax.checkpoint": (0, "fun"),
    "jax.remat": (0, "fun"),
    "jax.named_call": (0, "fun"),
    "jax.experimental.pjit.pjit": (0, "fun"),
    "jax.experimental.maps.xmap": (0, "fun"),
    "flax.core.FrozenDict": (0, "xs"),
    "flax.core.freeze": (0, "xs"),
    "flax.core.frozen_dict.FrozenDict": (0, "xs"),
    "flax.core.frozen_dict.freeze": (0, "xs"),
    "flax.core.frozen_dict.unfreeze": (0, "x"),
    "flax.core.unfreeze": (0, "x"),
    "flax.jax_utils.replicate": (0, "tree"),
    "flax.jax_utils.unreplicate": (0, "tree"),
    "flax.training.checkpoints.restore_checkpoint": (1, "target"),
    "flax.serialization.from_bytes": (0, "target"),
    "flax.serialization.from_state_dict": (0, "target"),
    # A structure stands for the tree that it is of.
    "jax.tree.structure": (0, "tree"),
    "jax.tree.unflatten": (0, "treedef"),
    "jax.tree_structure": (0, "tree"),
    "jax.tree_unflatten": (0, "treedef"),
    "jax.tree_util.tree_structure": (0, "tree"),
    "jax.tree_util.tree_unflatten": (0, "treedef"),
    "asyncio.run": (0, "main"),
    "copy.copy": (0, "x"),
    "copy.deepcopy": (0, "x"),
    "dataclasses.replace": (0, "obj"),
    "typing.cast": (1, "val"),
}

# What such a structure is asked for, and no optimizer has.
OF_STRUCTURES = frozenset({"children", "flatten_up_to", "num_leaves", "num_nodes", "unflatten"})

RESTORE = "flax.training.checkpoints.restore_checkpoint"
# What restores an optimizer in the structure of one that it is given.
RESTORING = frozenset(
    {"flax.serialization.from_bytes", "flax.serialization.from_state_dict", RESTORE}
)
# What returns the nested dicts of a checkpoint, whatever it is given.
RETURN_STORED = frozenset({"clu.checkpoint.load_state_dict", "flax.serialization.msgpack_restore"})
# What a TrainState cannot be given to, and what returns an optimizer as it was pickled.
PICKLE = frozenset({"pickle.dump", "pickle.dumps"})
UNPICKLE = frozenset({"pickle.load", "pickle.loads"})
# What makes the content of a checkpoint, or writes one.
SAVING = frozenset(
    {
        "flax.serialization.to_bytes",
        "flax.serialization.to_state_dict",
        "flax.training.checkpoints.save_checkpoint",
        "flax.training.checkpoints.save_checkpoint_multiprocess",
    }
)


def axis_of(replicate: ast.Call) -> str:
    """The axis that a call of ``Optimizer.replicate`` names; "" if it is not written out."""
    by_name = {each.arg: each.value for each in replicate.keywords}
    if not by_name.keys() <= {"devices", "axis_name"} or len(replicate.args) > 2:
        return ""
    if any(isinstance(each, ast.Starred) for each in replicate.args):
        return ""
    given = [*replicate.args[1:], *(by_name[each] for each in by_name if each == "axis_name")]
    match given:
        case []:
            return "batch"
        case [ast.Constant(value=str(name))] if name.isidentifier():
            return name
    return ""


def returns_stored(name: str, call: ast.Call) -> bool:
    """True if a call returns the nested dicts of a checkpoint, not a target that they fill."""
    if name in RETURN_STORED:
        return True
    if name not in (RESTORE, "flax.serialization.from_bytes"):
        return False
    target = argument(call, *RETURNS_ARGUMENT[name])
    return target is None or (isinstance(target, ast.Constant) and target.value is None)


_OF_JAX_NUMPY = (
    "abs arange array asarray ceil clip concatenate copy cos cumsum diag dot einsum empty exp"
    " expand_dims eye floor full full_like linspace log log1p matmul maximum mean minimum multiply"
    " ones ones_like outer power ravel repeat reshape roll sign sin sqrt square squeeze stack sum"
    " swapaxes tanh tile transpose where zeros zeros_like"
)
# Functions that return arrays of jax, whatever they are given.
RETURN_ARRAYS: frozenset[str] = frozenset(
    [
        *(f"jax.numpy.{name}" for name in _OF_JAX_NUMPY.split()),
        *(f"jax.random.{name}" for name in ("bernoulli", "normal", "randint", "uniform")),
        *(f"jax.ops.index_{name}" for name in ("add", "max", "min", "mul", "update")),
        *(f"jax.nn.{name}" for name in ("one_hot", "relu", "sigmoid", "softmax")),
    ]
)

# The trees from the second argument on have one structure, and so does the result.
MAPS_TREES = {
    "jax.tree_map",
    "jax.tree_multimap",
    "jax.tree.map",
    "jax.tree_util.tree_map",
    "jax.tree_util.tree_multimap",
}

# They return the leaves of a tree, and its structure, which stands for it.
FLATTEN = frozenset(
    {
        "jax.flatten_util.ravel_pytree",
        "jax.tree.flatten",
        "jax.tree_flatten",
        "jax.tree_util.tree_flatten",
    }
)

# What they return of an optimizer, a TrainState has in another number and order.
LEAVES = frozenset(
    {
        "jax.flatten_util.ravel_pytree",
        "jax.tree.leaves",
        "jax.tree_leaves",
        "jax.tree_util.tree_leaves",
        "optax.global_norm",
    }
)

# They return a function that calls the one they are given.
CALLS_LATER = {
    "jax.grad",
    "jax.value_and_grad",
    "jax.jacfwd",
    "jax.jacrev",
    "jax.hessian",
    "jax.linearize",
    "jax.make_jaxpr",
    "jax.xla_computation",
}

# They call a function, also on what it returned.
CONTROL_FLOW = frozenset(
    {
        "functools.reduce",
        "jax.eval_shape",
        "jax.lax.cond",
        "jax.lax.fori_loop",
        "jax.lax.map",
        "jax.lax.scan",
        "jax.lax.switch",
        "jax.lax.while_loop",
    }
)

# A function, and some of its arguments.
PARTIALS = frozenset({"functools.partial", "jax.tree_util.Partial"})

# Functions of Python that make lists, or take containers apart.
CONTAINER_FUNCTIONS = frozenset(
    {"enumerate", "iter", "list", "next", "reversed", "set", "sorted", "tuple", "zip"}
)
MAKE_DICTS = frozenset({"dict", "collections.OrderedDict", "collections.defaultdict"})
# Objects that are nothing but what they are given by name, which is not followed.
NAMESPACES = frozenset(
    {
        "argparse.Namespace",
        "ml_collections.ConfigDict",
        "ml_collections.FrozenConfigDict",
        "ml_collections.config_dict.ConfigDict",
        "types.SimpleNamespace",
    }
)
# Methods of something unknown that return what they are given, as those of `clu.checkpoint` do.
RESTORE_METHODS = frozenset({"restore", "restore_or_initialize"})

# Packages that make no optimizers of flax.optim, nor return one that they were not given.
_MAKE_NONE = frozenset(
    {
        *(
            "absl",
            "chex",
            "clu",
            "flax",
            "flaxoptim_compat",
            "gin",
            "gym",
            "haiku",
            "jax",
            "jaxlib",
        ),
        *("matplotlib", "ml_collections", "numpy", "optax", "orbax", "pandas", "PIL", "pytest"),
        *("scipy", "tensorboardX", "tensorflow", "tensorflow_datasets", "torch", "tqdm", "tree"),
        *sys.stdlib_module_names,
    }
)
_MAY_MAKE_ANY = frozenset(
    {
        *(
            "__import__",
            "eval",
            "exec",
            "globals",
            "importlib",
            "locals",
            "operator",
            "pickle",
            "runpy",
        ),
        *("shelve", "vars"),
    }
)


def makes_none(name: str) -> bool:
    """True if a function is one of Python, or of a package that makes no optimizers."""
    root, _, rest = name.partition(".")
    if root in _MAY_MAKE_ANY or not (rest or hasattr(builtins, name)):
        return False
    return not rest or root in _MAKE_NONE


def is_number(name: str) -> bool:
    """True if a function returns a single array, whatever it is given."""
    of_jax = f"jax.{name}" if name.startswith("numpy.") else name
    return of_jax in RETURN_ARRAYS or name.startswith(("jax.random.", "numpy.random."))


# Methods that ask what they are given for nothing.
KEEP_THINGS = frozenset(
    {
        *("assertIs", "assertIsInstance", "assertIsNone", "assertIsNot", "assertIsNotNone"),
        *("assertNotIsInstance", "debug", "info", "log", "replace", "save", "warning", "write"),
        *("from_train_state", "to_train_state"),
        *RESTORE_METHODS,
    }
)
