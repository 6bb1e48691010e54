"""The values that an expression can hold, as far as they matter to optimizers.

Objects are abstract: one stands for all that one place of the program makes. A set without any is
something that holds no optimizer, such as the parameters. ``Unknown`` is the top: it may be
anything.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Hashable, Iterator

from flaxoptim_compat.migrate.names.dotted import last_name
from flaxoptim_compat.migrate.names.walk import defaults
from flaxoptim_compat.migrate.program.document import Document

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Object:
    """A value that an expression can hold; two of one kind with the same fields are one object."""


@dataclasses.dataclass(frozen=True, slots=True)
class Site(Object):
    """The call that makes a definition, from which optimizers come.

    Args:
      document: the file it stands in.
      node: the call.
      names: the classes of flax.optim that it may call.
    """

    document: Document
    node: ast.Call
    names: set[str] = dataclasses.field(default_factory=set, compare=False)

    @property
    def name(self) -> str:
        """The class, such as ``Adam``, or the first of several; "" if none is known."""
        return min(self.names, default="")


@dataclasses.dataclass(frozen=True, slots=True)
class Definition(Object):
    """An OptimizerDef, and where it was made; None: one that comes from elsewhere."""

    site: Site | None


@dataclasses.dataclass(frozen=True, slots=True)
class Optimizer(Object):
    """An Optimizer.

    Args:
      site: where its definition was made; None: it comes from elsewhere.
      axis: that of the ``pmap`` over which it averages its gradients, once it was replicated by its
        own method; "" if it does not average them.
    """

    site: Site | None
    axis: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Create(Object):
    """The ``create`` of a definition, which nothing has called yet."""

    site: Site | None


@dataclasses.dataclass(frozen=True, slots=True)
class StateDict(Object):
    """The values of an optimizer as nested dicts, one whose keys are paths, or bytes of these."""

    site: Site | None


@dataclasses.dataclass(frozen=True, slots=True)
class Stored(Object):
    """Nested dicts as a checkpoint has them."""


@dataclasses.dataclass(frozen=True, slots=True)
class Traversal(Object):
    """A traversal that selects parameters by their paths, by the call that makes it."""

    document: Document
    node: ast.Call


@dataclasses.dataclass(frozen=True, slots=True)
class External(Object):
    """A name of a package that is not read, such as ``jax.jit``."""

    name: str


@functools.cache
def external(name: str) -> Objects:
    """The name of a package, as the only value."""
    return frozenset({External(name)})


@dataclasses.dataclass(frozen=True, slots=True)
class File(Object):
    """A module of the program."""

    document: Document


@dataclasses.dataclass(frozen=True, slots=True)
class Class(Object):
    """A class of the program."""

    document: Document
    node: ast.ClassDef


@dataclasses.dataclass(frozen=True, slots=True)
class Instance(Object):
    """An object of such a class. All of one class are one object here."""

    of: Class


@dataclasses.dataclass(frozen=True, slots=True)
class Function(Object):
    """A function or a lambda of the program.

    Args:
      document: the file it stands in.
      node: its definition.
      receiver: what its first parameter is given, as the object of a method; None: nothing.
    """

    document: Document
    node: FunctionNode
    receiver: Object | None = None

    @property
    def parameters(self) -> list[str]:
        """The parameters by position that a call gives."""
        arguments = self.node.args
        names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
        return names[self.receiver is not None :]

    @property
    def optional(self) -> list[str]:
        """The parameters that have a default."""
        return [each.arg for each, _ in defaults(self.node.args)]


@dataclasses.dataclass(frozen=True, slots=True)
class Property(Object):
    """A method that is called by asking an object for its name."""

    function: Function


@dataclasses.dataclass(frozen=True, slots=True)
class Container(Object):
    """A tuple, a list or a dict, by the expression that makes it.

    Args:
      node: that expression.
      is_dict: whether a loop over it gives keys, and not what is in it.
    """

    node: ast.AST
    is_dict: bool = False


def is_dict(each: Object) -> bool:
    """True if a value is a dict."""
    return isinstance(each, Container) and each.is_dict


@dataclasses.dataclass(frozen=True, slots=True)
class Partial(Object):
    """A function with some of its arguments, by the call that binds them."""

    node: ast.Call


@dataclasses.dataclass(frozen=True, slots=True)
class Transformed(Object):
    """A function that calls another one, and returns something else, such as ``jax.grad(f)``."""

    node: ast.Call


@dataclasses.dataclass(frozen=True, slots=True)
class Plain(Object):
    """A single array or number, or None.

    Args:
      kind: ``one`` or ``none``.
    """

    kind: str


@dataclasses.dataclass(frozen=True, slots=True)
class Unknown(Object):
    """Something of which the text does not show what it is.

    Args:
      document: the file.
      node: the expression or the parameter that it comes from.
      is_several: whether it stands for others, too, that come from elsewhere.
      is_unpickled: whether it is the result of ``pickle.load``, where an optimizer stays one.
    """

    document: Document
    node: ast.AST
    is_several: bool = False
    is_unpickled: bool = False


def is_unpickled(each: Object | None) -> bool:
    """True for a result of ``pickle.load``."""
    return isinstance(each, Unknown) and each.is_unpickled


ONE, NONE = Plain("one"), Plain("none")
Objects = frozenset[Object]
NOTHING: Objects = frozenset()


def is_plain(objects: Objects) -> bool:
    """True if no value among these can hold an optimizer, or be called."""
    return all(isinstance(each, Plain) for each in objects)


# The content of a container in a slot that is not known.
ANYWHERE = "*"


def key_of(node: ast.expr) -> Hashable:
    """The key of a container as far as it is known."""
    return node.value if isinstance(node, ast.Constant) else ANYWHERE


def class_of(each: Object) -> Class | None:
    """A class of the program, or that of an object; None for all else."""
    of = each.of if isinstance(each, Instance) else each
    return of if isinstance(of, Class) else None


def fields_of(node: ast.ClassDef) -> list[str]:
    """The names that the body of a class annotates, or gives ``attr.ib()``: fields of a dataclass.

    Args:
      node: the class.
    """
    return [name for each in node.body for name in _field_of(each)]


def _field_of(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=function)):
            if last_name(function) in ("attrib", "ib"):
                yield name


def bases_of(node: ast.ClassDef) -> list[ast.expr]:
    """The base classes of a class as expressions; for a generic one, as ``Base[T]``, ``Base``."""
    return [each.value if isinstance(each, ast.Subscript) else each for each in node.bases]
