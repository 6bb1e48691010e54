"""What names of flax.optim are, and what functions of jax, flax and Python do with optimizers."""

from __future__ import annotations

import ast
import functools
import re
import sys
from typing import NamedTuple

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

# Methods and fields that only optimizers have.
TELLING = frozenset({"apply_gradient", "optimizer_def"})
# Fields that others have too: what the variable is called decides.
_AMBIGUOUS = frozenset({"target", "state"})
_CALLED_OPTIMIZER = re.compile(r"(^|_)(opt|optimizer)$")
_CALLED_DEFINITION = re.compile(r"(^|_)(opt|optim|optimizer)_def(inition)?$")


@functools.cache
def legacy_name(name: str) -> str | None:
    """The name in flax.optim, without its modules, such as ``Adam``; None for other names."""
    for module in (_MODULE, *_TODAY):
        if name.startswith(f"{module}."):
            return name.rpartition(".")[2]
    return None


def is_definition(name: str) -> bool:
    """Whether a full name is that of a class of definitions."""
    return legacy_name(name) in DEFINITIONS


def is_base(name: str) -> bool:
    """Whether a class with this base is a class of definitions."""
    return is_definition(name) or legacy_name(name) == BASE


def is_base_itself(name: str) -> bool:
    """Whether a full name is that of the class all definitions are derived from."""
    return legacy_name(name) == BASE


def is_optimizer(name: str) -> bool:
    """Whether a full name is that of the class of optimizers."""
    return legacy_name(name) == "Optimizer"


def is_traversal(name: str) -> bool:
    """Whether a full name is that of a traversal that selects parameters by their paths."""
    return name.rpartition(".")[2] == "ModelParamTraversal" and (
        legacy_name(name) is not None or name.startswith("flax.traverse_util.")
    )


def is_package(name: str) -> bool:
    """Whether a full name is that of flax.optim itself."""
    return name in (_MODULE, _TODAY[0])


@functools.cache
def makes_legacy(name: str) -> bool:
    """Whether calling what a full name means makes something of flax.optim."""
    return is_definition(name) or is_traversal(name) or name == COMPUTED


@functools.cache
def leads_to_flax_optim(name: str) -> bool:
    """Whether a full name is that of flax.optim, of something in it, or of what it is in."""
    return (
        name in ("flax", "flaxoptim_compat", "flax.traverse_util")
        or is_package(name)
        or legacy_name(name) is not None
        or is_traversal(name)
    )


def tells_optimizer(node: ast.Attribute) -> bool:
    """Whether an entry, or what a call returns, is asked for what only optimizers have."""
    return node.attr in TELLING and isinstance(node.value, ast.Call | ast.Subscript)


def hints_at_optimizer(attribute: str, owner: str, *, is_own: bool = False) -> bool:
    """Whether something is used as only optimizers are.

    Args:
      attribute: what it is asked for.
      owner: what it is called.
      is_own: whether a class of the program has such a method, too.
    """
    if attribute in TELLING and not is_own:
        return True
    return attribute in _AMBIGUOUS | TELLING and _CALLED_OPTIMIZER.search(owner) is not None


def hints_at_definition(attribute: str, owner: str) -> bool:
    """Whether something is used, and called, as definitions are."""
    return attribute == "create" and _CALLED_DEFINITION.search(owner) is not None


def is_bridged(node: ast.Attribute) -> bool:
    """Whether this is between a TrainState and the optimizer that it stands for, or back."""
    if node.attr in _BRIDGES:
        return True
    inner: ast.expr = node.value
    while isinstance(inner, ast.Attribute | ast.Call):
        inner = inner.func if isinstance(inner, ast.Call) else inner.value
        if isinstance(inner, ast.Attribute) and inner.attr == "from_train_state":
            return True
    return False


_BRIDGES = frozenset({"to_train_state", "from_train_state"})

# Their keyword `default`, or what `default_factory` returns, is what the field of an object has.
MAKE_FIELDS = frozenset({"dataclasses.field", "flax.struct.field"})
NAMED_TUPLE = "typing.NamedTuple"
MAKES_NAMED_TUPLE = "collections.namedtuple"
IMPORT_BY_NAME = frozenset({"__import__", "importlib.import_module"})
MAKE_NAMESPACES = frozenset(
    {"argparse.Namespace", "threading.local", "types.ModuleType", "types.SimpleNamespace"}
)

# Dicts whose entries are attributes as well.
ATTRIBUTE_DICTS = frozenset(
    {
        "addict.Dict",
        "easydict.EasyDict",
        "ml_collections.ConfigDict",
        "ml_collections.FrozenConfigDict",
        "ml_collections.config_dict.ConfigDict",
        "ml_collections.config_dict.FrozenConfigDict",
        "munch.Munch",
    }
)

# Classes of Python whose objects are containers, and whether these are dicts.
CONTAINERS = {
    "collections.OrderedDict": True,
    "collections.UserDict": True,
    "collections.UserList": False,
    "collections.abc.Mapping": True,
    "collections.abc.MutableMapping": True,
    "collections.abc.MutableSequence": False,
    "collections.abc.Sequence": False,
    "collections.deque": False,
    "dict": True,
    "list": False,
    "set": False,
    "tuple": False,
    "typing.Dict": True,
    "typing.List": False,
    "typing.Mapping": True,
    "typing.MutableMapping": True,
}

# The value of this argument is what the function returns, perhaps with other arrays in it.
RETURNS_ARGUMENT: dict[str, tuple[int, str]] = {
    "jax.device_put": (0, "x"),
    "jax.device_get": (0, "x"),
    "jax.block_until_ready": (0, "x"),
    "jax.device_put_replicated": (0, "x"),
    "jax.lax.pmean": (0, "x"),
    "jax.lax.psum": (0, "x"),
    "jax.lax.stop_gradient": (0, "x"),
    "jax.lax.all_gather": (0, "x"),
    "jax.lax.tie_in": (1, "y"),
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
    "functools.cmp_to_key": (0, "mycmp"),
    "asyncio.run": (0, "main"),
    "copy.copy": (0, "x"),
    "copy.deepcopy": (0, "x"),
    "dataclasses.replace": (0, "obj"),
    "functools.wraps": (0, "wrapped"),
    "typing.cast": (1, "val"),
}

# What such a structure is asked for, and no optimizer has.
OF_STRUCTURES = frozenset({"children", "flatten_up_to", "num_leaves", "num_nodes", "unflatten"})

RESTORE = "flax.training.checkpoints.restore_checkpoint"
# What restores an optimizer in the structure of one that it is given.
RESTORING = frozenset(
    {"flax.serialization.from_bytes", "flax.serialization.from_state_dict", RESTORE}
)
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


# What reads whatever it was that a program wrote.
READ_ANYTHING = frozenset(
    {
        "cloudpickle.load",
        "cloudpickle.loads",
        "dill.load",
        "dill.loads",
        "joblib.load",
        "json.load",
        "json.loads",
        "numpy.load",
        "pickle.load",
        "pickle.loads",
    }
)


def returns_stored(name: str, call: ast.Call) -> bool:
    """Whether a call returns what a checkpoint has, not in the structure of anything."""
    if name == "flax.serialization.msgpack_restore":
        return True
    if name not in (RESTORE, "flax.serialization.from_bytes"):
        return False
    position, target = RETURNS_ARGUMENT[name]
    targets = call.args[position:][:1]
    targets += [each.value for each in call.keywords if each.arg == target]
    return all(isinstance(each, ast.Constant) and each.value is None for each in targets)


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

# What functions are given to these is traced: in it there are no numbers of Python.
TRACE = frozenset(
    {"jax.jit", "jax.lax.fori_loop", "jax.lax.scan", "jax.lax.while_loop", "jax.pmap"}
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

# They call a function on the host, with what stands from this place on.
CALL_BACK = {
    "jax.debug.callback": 1,
    "jax.experimental.host_callback.call": 1,
    "jax.experimental.host_callback.id_tap": 1,
    "jax.experimental.io_callback": 2,
    "jax.pure_callback": 2,
}

# They make a pool of threads.
POOLS = frozenset(
    {
        "concurrent.futures.ThreadPoolExecutor",
        "concurrent.futures.thread.ThreadPoolExecutor",
        "multiprocessing.pool.ThreadPool",
    }
)
POOL = "concurrent.futures.<pool>"
POOL_MAP = f"{POOL}.map"


class Later(NamedTuple):
    """Where something that calls a function later is given it, and what it calls it with.

    Args:
      function: the position of the function, and its keyword.
      arguments: the position of a tuple of the arguments; None if they stand there themselves.
    """

    function: tuple[int, str]
    arguments: int | None = None


# In another thread, or when the program ends.
CALL_LATER = {
    "asyncio.to_thread": Later((0, "func")),
    "atexit.register": Later((0, "func")),
    "threading.Thread": Later((1, "target"), 3),
    "threading.Timer": Later((1, "function"), 2),
    f"{POOL}.submit": Later((0, "fn")),
}

# A function, and some of its arguments; none of these is given the object it is looked up on.
PARTIALS = frozenset({"functools.partial", "jax.tree_util.Partial", "staticmethod"})

# They call the functions that stand in these places with what else they are given.
CALL_WITH_THE_REST: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(PARTIALS, (0,)),
    POOL_MAP: (0,),
    "filter": (0,),
    "functools.reduce": (0,),
    "jax.eval_shape": (0,),
    "jax.lax.cond": (1, 2),
    "jax.lax.fori_loop": (2,),
    "jax.lax.map": (0,),
    "jax.lax.scan": (0,),
    "jax.lax.while_loop": (0, 1),
    "map": (0,),
}

# Packages whose functions take any tree. To others an optimizer is not given unseen.
TAKE_ANY_TREE = {
    "absl",
    "chex",
    "clu",
    "copy",
    "dill",
    "flax",
    "gc",
    "jax",
    "jaxlib",
    "logging",
    "ml_collections",
    "orbax",
    "pickle",
    "pprint",
    "tree",
}

# Packages whose functions keep to what is said of them here.
_READ = frozenset({"flax", "jax", *sys.stdlib_module_names})


def is_not_read(name: str) -> bool:
    """Whether it is a name of a package of which nothing is known."""
    return "." in name and name.partition(".")[0] not in _READ


# Functions that ask what they are given for nothing.
TAKE_ANYTHING = frozenset(
    {
        "all",
        "any",
        "asyncio.run",
        "dataclasses.is_dataclass",
        *PARTIALS,
        "hash",
        "id",
        "isinstance",
        "len",
        "print",
        "pytest.param",
        "repr",
        "str",
        "type",
        "typing.cast",
    }
)

# They give, and put, what is in a field of an object by its name.
GET_FIELD = frozenset({"getattr", "object.__getattribute__"})
SET_FIELD = frozenset({"object.__setattr__", "setattr"})
# Functions that leave what is in the fields of an object where it is.
LEAVE_FIELDS = frozenset({"hasattr", *SET_FIELD})

# Methods that ask what they are given for nothing, besides those that put it into containers.
KEEP_THINGS = frozenset(
    {
        "_replace",
        "assertIs",
        "assertIsInstance",
        "assertIsNone",
        "assertIsNot",
        "assertIsNotNone",
        "assertNotIsInstance",
        "debug",
        "info",
        "log",
        "replace",
        "restore",
        "restore_or_initialize",
        "save",
        "warning",
        "write",
    }
)
