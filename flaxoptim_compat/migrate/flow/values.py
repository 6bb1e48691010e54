"""What an expression can hold, as far as it matters to optimizers."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Hashable

from flaxoptim_compat.migrate.document import Document


@dataclasses.dataclass(frozen=True)
class Site:
    """The call that makes a definition, from which optimizers come.

    Args:
      document: the file it stands in.
      node: the call.
      name: the class, such as ``flax.optim.Adam``; "" if it is not known, or the program's own.
    """

    document: Document
    node: ast.Call
    name: str


@dataclasses.dataclass(frozen=True)
class Definition:
    """An OptimizerDef, and where it was made."""

    site: Site


@dataclasses.dataclass(frozen=True)
class Optimizer:
    """An Optimizer, and where its definition was made; None: one that comes from elsewhere."""

    site: Site | None


@dataclasses.dataclass(frozen=True)
class Traversal:
    """What selects parameters by their paths, by the call that makes it."""

    node: ast.Call


@dataclasses.dataclass(frozen=True)
class State:
    """The ``state`` of an optimizer."""

    site: Site | None


@dataclasses.dataclass(frozen=True)
class StateDict:
    """The values of an optimizer as nested dicts."""

    site: Site | None


@dataclasses.dataclass(frozen=True)
class Stored:
    """Nested dicts as a checkpoint has them."""


@dataclasses.dataclass(frozen=True)
class HyperParams:
    """The hyper-parameters of a definition, or of one part of a MultiOptimizer.

    Args:
      site: where the definition was made.
      part: which part; None: all of it.
    """

    site: Site | None
    part: int | None = None


@dataclasses.dataclass(frozen=True)
class External:
    """A name of a package that is not read, such as ``jax.jit``."""

    name: str


@dataclasses.dataclass(frozen=True)
class File:
    """A module of the program."""

    document: Document


@dataclasses.dataclass(frozen=True)
class Function:
    """A function or a lambda of the program, and the object that it is a method of."""

    document: Document
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    owner: Class | None = None


@dataclasses.dataclass(frozen=True)
class Class:
    """A class of the program."""

    document: Document
    node: ast.ClassDef


@dataclasses.dataclass(frozen=True)
class Instance:
    """An object of such a class. All of one class are one object here."""

    of: Class


@dataclasses.dataclass(frozen=True)
class Container:
    """A tuple, a list or a dict, by the expression that makes it."""

    node: ast.AST


@dataclasses.dataclass(frozen=True)
class Partial:
    """A function with some of its arguments, by the call that binds them."""

    document: Document
    node: ast.Call


@dataclasses.dataclass(frozen=True)
class Transformed:
    """A function whose calls are seen, but not what they return, such as ``jax.grad(f)``."""

    document: Document
    node: ast.Call


Value = (
    Definition
    | Optimizer
    | Traversal
    | State
    | StateDict
    | Stored
    | HyperParams
    | External
    | File
    | Function
    | Class
    | Instance
    | Container
    | Partial
    | Transformed
)
Values = frozenset[Value]
NOTHING: Values = frozenset()


def fields_of(node: ast.ClassDef) -> list[str]:
    """The names that the body of a class annotates, which are the fields of a dataclass."""
    return [
        each.target.id
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    ]


def key_of(node: ast.expr) -> Hashable:
    """The key of a container as far as it is known: None if it is not."""
    return node.value if isinstance(node, ast.Constant) else None
