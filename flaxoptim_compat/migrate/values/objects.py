"""The objects that an expression can hold, as far as they matter to optimizers.

They are abstract: one object stands for all that one place of the program makes.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Hashable, Iterator
from typing import ClassVar

from flaxoptim_compat.migrate.names.dotted import last_name
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values import known_names

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
# The call by which a function was called that is kept apart by its calls; None for all others.
Context = ast.Call | None


class Object:
    """What an expression can hold; two of one kind with the same fields are one object.

    Sets of objects are what the analysis consists of, so the hash is worked out once.
    """

    # Whether it is of flax.optim, and whether it is followed for that or for its name.
    matters: ClassVar[bool] = False
    is_followed: ClassVar[bool] = False
    # What decides whether it matters otherwise: all of one function or class do, or none.
    key: Hashable

    def __post_init__(self) -> None:
        fields = tuple(self.__dict__.values())
        self.__dict__["fields"] = fields
        self.__dict__["hash"] = hash((type(self), fields))
        self.__dict__["key"] = self._key()

    def _key(self) -> Hashable:
        return self

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return type(self) is type(other) and self.__dict__["fields"] == other.__dict__["fields"]

    def __hash__(self) -> int:
        hashed: int = self.__dict__["hash"]
        return hashed


@dataclasses.dataclass(frozen=True, eq=False)
class Site(Object):
    """The call that makes a definition, from which optimizers come.

    Args:
      document: the file it stands in.
      node: the call.
      name: the class, such as ``flax.optim.Adam``; "" if it is not known, or the program's own.
    """

    document: Document
    node: ast.Call
    name: str


@dataclasses.dataclass(frozen=True, eq=False)
class Definition(Object):
    """An OptimizerDef, and where it was made; None: one that comes from elsewhere."""

    matters = True
    is_followed = True
    site: Site | None


@dataclasses.dataclass(frozen=True, eq=False)
class Optimizer(Object):
    """An Optimizer.

    Args:
      site: where its definition was made; None: it comes from elsewhere.
      axis: that of the ``pmap`` over which it averages its gradients, once it was replicated by its
        own method; "" if it does not average them.
    """

    matters = True
    is_followed = True
    site: Site | None
    axis: str = ""


@dataclasses.dataclass(frozen=True, eq=False)
class Create(Object):
    """The ``create`` of a definition, which nothing has called yet."""

    matters = True
    is_followed = True
    site: Site | None


@dataclasses.dataclass(frozen=True, eq=False)
class Traversal(Object):
    """What selects parameters by their paths, by the call that makes it."""

    matters = True
    is_followed = True
    document: Document
    node: ast.Call


@dataclasses.dataclass(frozen=True, eq=False)
class State(Object):
    """The ``state`` of an optimizer."""

    matters = True
    is_followed = True
    site: Site | None


@dataclasses.dataclass(frozen=True, eq=False)
class StateDict(Object):
    """The values of an optimizer as nested dicts, or as one whose keys are paths."""

    matters = True
    is_followed = True
    site: Site | None
    is_flat: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class Stored(Object):
    """Nested dicts as a checkpoint has them."""

    matters = True
    is_followed = True


@dataclasses.dataclass(frozen=True, eq=False)
class HyperParams(Object):
    """The hyper-parameters of a definition, or of one part of a MultiOptimizer.

    Args:
      site: where the definition was made.
      part: which part; None: all of it.
    """

    matters = True
    is_followed = True
    site: Site | None
    part: int | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class External(Object):
    """A name of a package that is not read, such as ``jax.jit``."""

    name: str

    def __post_init__(self) -> None:
        super().__post_init__()
        self.__dict__["matters"] = known_names.makes_legacy(self.name)
        self.__dict__["is_followed"] = known_names.leads_to_flax_optim(self.name)


# Programs name the same things again and again.
external = functools.cache(External)


@dataclasses.dataclass(frozen=True, eq=False)
class File(Object):
    """A module of the program."""

    is_followed = True
    document: Document


@dataclasses.dataclass(frozen=True, eq=False)
class Class(Object):
    """A class of the program."""

    document: Document
    node: ast.ClassDef

    def _key(self) -> Hashable:
        return self.node


@dataclasses.dataclass(frozen=True, eq=False)
class Instance(Object):
    """An object of such a class. All of one class are one object here."""

    of: Class

    def _key(self) -> Hashable:
        return self.of.node


@dataclasses.dataclass(frozen=True, eq=False)
class Super(Object):
    """What ``super()`` gives in a method of a class."""

    of: Class


@dataclasses.dataclass(frozen=True, eq=False)
class Function(Object):
    """A function or a lambda of the program.

    Args:
      document: the file it stands in.
      node: its definition.
      is_bound: whether its first parameter is given by the object or class it was looked up on.
      context: where it is inside of a function that is kept apart by its calls, the call.
    """

    document: Document
    node: FunctionNode
    is_bound: bool = False
    context: Context = None

    def _key(self) -> Hashable:
        return self.node


@dataclasses.dataclass(frozen=True, eq=False)
class Container(Object):
    """A tuple, a list or a dict, by the expression that makes it.

    Args:
      node: that expression.
      context: where it is inside of a function that is kept apart by its calls, the call.
      is_dict: whether a loop over it gives keys, and not what is in it.
    """

    node: ast.AST
    context: Context = None
    is_dict: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class Entries(Object):
    """The values of an object or a container as nested dicts, those of optimizers among them."""

    of: Instance | Container

    def _key(self) -> Hashable:
        return self.of.key


@dataclasses.dataclass(frozen=True, eq=False)
class Partial(Object):
    """A function with some of its arguments, by the call that binds them."""

    node: ast.Call
    context: Context = None


@dataclasses.dataclass(frozen=True, eq=False)
class Transformed(Object):
    """A function whose calls are seen, but not what they return, such as ``jax.grad(f)``."""

    node: ast.Call
    context: Context = None


Objects = frozenset[Object]
NOTHING: Objects = frozenset()
LEGACY = frozenset(
    {Create, Definition, Optimizer, Traversal, State, StateDict, Stored, HyperParams}
)


def class_of(each: Object) -> Class | None:
    """A class of the program, or that of an object; None for all else."""
    of = each.of if isinstance(each, Instance) else each
    return of if isinstance(of, Class) else None


def fields_of(node: ast.ClassDef, annotation: str = "") -> list[str]:
    """The names that the body of a class annotates, or gives ``attr.ib()``: fields of a dataclass.

    Args:
      node: the class.
      annotation: what they are annotated with, such as ``InitVar``; "" for all.
    """
    return [name for each in node.body for name in _field_of(each, annotation)]


def _field_of(statement: ast.stmt, annotation: str) -> Iterator[str]:
    match statement:
        case ast.AnnAssign(target=ast.Name(id=name)):
            if annotation in ("", _generic(statement.annotation)):
                yield name
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=function)):
            if not annotation and last_name(function) in ("attrib", "ib"):
                yield name


def _generic(annotation: ast.expr) -> str:
    """What stands before the brackets of an annotation, without its module."""
    return last_name(annotation.value if isinstance(annotation, ast.Subscript) else annotation)


def bases_of(node: ast.ClassDef) -> list[ast.expr]:
    """What the bases of a class are written as; of a generic one, as ``Base[T]``, ``Base`` too."""
    generic = [each.value for each in node.bases if isinstance(each, ast.Subscript)]
    return [*node.bases, *generic]


# The content of a container in a slot that is not known.
ANYWHERE = "*"
# The keys of a dict, as a loop over it gives them, among its values.
KEYS = "keys"
# What the `send` of a generator gives it, among what it yields.
SENT = "sent"


def key_of(node: ast.expr) -> Hashable:
    """The key of a container as far as it is known."""
    return node.value if isinstance(node, ast.Constant) else ANYWHERE
