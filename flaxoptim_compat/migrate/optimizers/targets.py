"""What parameters and gradients are, where Flax's TrainState takes others or has them elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from flaxoptim_compat.migrate.names.dotted import last_name
from flaxoptim_compat.migrate.optimizers.hyper_params_in_code import (
    assigned_by,
    assigned_once,
    assignments,
)
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use, gradients_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.known_names import NAMED_TUPLE, RETURN_ARRAYS
from flaxoptim_compat.migrate.values.objects import Class, External, Function, Instance
from flaxoptim_compat.migrate.values.points_to import PointsTo

# Through so many assignments, calls and functions it is looked for.
_MOST_STEPS = 5
_FUNCTIONS = RETURN_ARRAYS | {each.removeprefix("jax.") for each in RETURN_ARRAYS}
# A generator, `numpy.random.RandomState(0)`, counts as what its methods return.
_PACKAGES = ("jax.random.", "numpy.random.")
_INITIALIZERS = ("jax.nn.initializers.", "flax.linen.initializers.")
_METHODS = frozenset(
    [
        "astype",
        "clip",
        "copy",
        "dot",
        "flatten",
        "max",
        "mean",
        "min",
        "normal",
        "rand",
        "randn",
        "random",
        "ravel",
        "reshape",
        "squeeze",
        "standard_normal",
        "sum",
        "transpose",
        "uniform",
    ]
)


def may_be_one(
    points_to: PointsTo, document: Document, node: ast.expr, steps: int = _MOST_STEPS
) -> bool:
    """Whether an expression is a single array or number, at least in one call.

    Args:
      points_to: what is known of the program.
      document: the file.
      node: the expression.
      steps: through how many others it may be.
    """
    if not steps:
        return False
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float)
        case ast.UnaryOp(operand=inner):
            return may_be_one(points_to, document, inner, steps - 1)
        case ast.BinOp(left=left, right=right):
            return any(may_be_one(points_to, document, each, steps - 1) for each in (left, right))
        case ast.Call(func=ast.Attribute(value=owner, attr=method)) if method in _METHODS and (
            may_be_one(points_to, document, owner, steps - 1)
        ):
            return True
        case ast.Call() if _returns_one(points_to, node):
            return True
    sources = _sources(points_to, document, node)
    return any(may_be_one(points_to, file, each, steps - 1) for file, each in sources)


def _returns_one(points_to: PointsTo, call: ast.Call) -> bool:
    names = points_to.package_names(call.func)
    made = points_to.package_names(call.func.func) if isinstance(call.func, ast.Call) else ()
    return (
        bool(names & _FUNCTIONS)
        or any(each.startswith(_PACKAGES) for each in names)
        or any(each.startswith(_INITIALIZERS) for each in made)
    )


def _sources(
    points_to: PointsTo, document: Document, node: ast.expr
) -> Iterator[tuple[Document, ast.expr]]:
    """Where the value of an expression comes from, as far as that is seen."""
    match node:
        case ast.Call():
            yield from _returned(points_to, node)
        case ast.Subscript(value=ast.Call() as call, slice=ast.Constant(value=int(index))):
            if "jax.flatten_util.ravel_pytree" in points_to.package_names(call.func):
                yield document, ast.Constant(1.0 if index == 0 else None)
            for file, each in _returned(points_to, call):
                yield from ((file, entry) for entry in _entry(each, index))
        case ast.Subscript(
            value=ast.Name() | ast.Attribute() as holder, slice=ast.Constant(value=key)
        ):
            yield document, holder
            for file, each in _sources(points_to, document, holder):
                yield from ((file, entry) for entry in _entry(each, key))
        case ast.Subscript(value=holder):
            yield document, holder
        case ast.Name():
            yield from _assigned(points_to, document, node)
        case ast.Attribute(value=owner, attr=name):
            for of in (each.of for each in points_to.values(owner) if isinstance(each, Instance)):
                yield from _set(of, name)


def _entry(node: ast.expr, key: object) -> Iterator[ast.expr]:
    """What a tuple, list or dict that is written out has under a key."""
    match node:
        case ast.Tuple(elts=entries) | ast.List(elts=entries) if isinstance(key, int):
            yield from entries[key : key + 1]
        case ast.Dict(keys=keys, values=values):
            for each, value in zip(keys, values, strict=True):
                if isinstance(each, ast.Constant) and each.value == key:
                    yield value


def _returned(points_to: PointsTo, call: ast.Call) -> Iterator[tuple[Document, ast.expr]]:
    for function in (each for each in points_to.values(call.func) if isinstance(each, Function)):
        if isinstance(function.node, ast.Lambda):
            yield function.document, function.node.body
            continue
        for each in ast.walk(function.node):
            if isinstance(each, ast.Return) and each.value is not None:
                yield function.document, each.value


def _assigned(
    points_to: PointsTo, document: Document, name: ast.Name
) -> Iterator[tuple[Document, ast.expr]]:
    """What a variable is given, by statements of its scope or by calls."""
    scope = points_to.scopes[document].binder(name, name.id)
    if isinstance(scope, ast.FunctionDef) and points_to.is_parameter(document, name):
        yield from _given(points_to, document, scope, name.id)
    statements = assignments(points_to, document, name, name.id)
    found = [value for each in statements if (value := assigned_by(each, name.id)) is not None]
    # Of several the last one before the place counts.
    before = [each for each in found if each.lineno < name.lineno]
    last = max(before, key=lambda each: each.lineno, default=None)
    yield from ((document, each) for each in ([last] if last else found))


def _given(
    points_to: PointsTo, document: Document, function: ast.FunctionDef, name: str
) -> Iterator[tuple[Document, ast.expr]]:
    """What a parameter is given by calls, and by its default."""
    around = document.parents[function]
    # What a class is called with goes to this method of it alone.
    made = around if isinstance(around, ast.ClassDef) and function.name == "__init__" else function
    positional = [*function.args.posonlyargs, *function.args.args]
    index = next((i for i, each in enumerate(positional) if each.arg == name), None)
    if index is not None:
        index -= isinstance(around, ast.ClassDef)
        defaults = dict(zip(positional[::-1], function.args.defaults[::-1], strict=False))
        yield from ((document, each) for arg, each in defaults.items() if arg.arg == name)
    for file in points_to.processes.together_with(document):
        for call in file.of_kind(ast.Call):
            # As in `jax.vmap(fit)(x)`, what it is called by may have no name.
            named = (function.name, made.name)
            if (isinstance(call.func, ast.Call) or last_name(call.func) in named) and any(
                isinstance(each, Function | Class) and each.node in (function, made)
                for each in points_to.values(call.func)
            ):
                by_name = [each.value for each in call.keywords if each.arg == name]
                by_position = [] if index is None else call.args[index : index + 1]
                yield from ((file, each) for each in (*by_position, *by_name))


def _set(of: Class, name: str) -> Iterator[tuple[Document, ast.expr]]:
    """What the methods of a class assign to a field of ``self``."""
    for node in ast.walk(of.node):
        match node:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=each)]):
                if each == name:
                    yield of.document, node.value


# TrainState.apply_gradients asks whether a name is in the gradients. A dict, a list and a tuple
# answer. Any of these makes `in` possible, and so does one of these as a base.
_ASKED_BY_IN = frozenset({"__contains__", "__getitem__", "__iter__"})
_ANSWER = frozenset(
    {
        "collections.OrderedDict",
        "collections.UserDict",
        "dict",
        "list",
        "tuple",
        NAMED_TUPLE,
    }
)


def why_refused(points_to: PointsTo, use: Use) -> str:
    """Why Flax's TrainState does not take what ``create`` is given, as far as is seen; or "".

    Args:
      points_to: what is known of the program.
      use: the call of ``create``.
    """
    if isinstance(use.node, ast.Call) and not _is_understood(use.node):
        return "Its arguments are not written out."
    for each in targets_of(use):
        if may_be_one(points_to, use.document, each):
            return _REFUSED.format("single array")
        objects = points_to.values(each)
        for of in (one.of for one in objects if isinstance(one, Instance)):
            if not _answers_in(points_to, of):
                return _REFUSED.format(of.node.name)
    return ""


def _is_understood(create: ast.Call) -> bool:
    """Whether it is seen which of its arguments are the parameters and the focus."""
    # By position they are the first ones of these.
    names = [*("target", "focus", "")[: len(create.args)], *(each.arg for each in create.keywords)]
    is_starred = any(isinstance(each, ast.Starred) for each in create.args)
    return not is_starred and sorted(map(str, names)) in (["target"], ["focus", "target"])


def has_whole_numbers(points_to: PointsTo, use: Use) -> bool:
    """Whether an optimizer is created for whole numbers that are written there."""
    return any(
        _is_whole(points_to, assigned_once(points_to, use.document, use.node, each))
        for each in targets_of(use)
    )


WHOLE_NUMBERS = "A TrainState keeps whole numbers whole, and has some here: write 1.0 for 1."


def targets_of(use: Use) -> list[ast.expr]:
    """What a call of ``create`` is given: one expression, or none that is seen."""
    create = use.node
    if not isinstance(create, ast.Call):
        return []
    by_position = [each for each in create.args[:1] if not isinstance(each, ast.Starred)]
    return [*by_position, *(each.value for each in create.keywords if each.arg == "target")]


def _is_whole(points_to: PointsTo, node: ast.expr | None) -> bool:
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int) and not isinstance(value, bool)
        case ast.UnaryOp(operand=inner):
            return _is_whole(points_to, inner)
        case ast.Dict(values=entries) | ast.List(elts=entries) | ast.Tuple(elts=entries):
            return any(_is_whole(points_to, each) for each in entries)
        case ast.Call(args=[ast.List() | ast.Tuple() as given], keywords=[]):
            makers = points_to.package_names(node.func)
            return bool(makers & _ARRAYS) and not _has_others(given)
    return False


_ARRAYS = {f"{module}.{name}" for module in ("numpy", "jax.numpy") for name in ("array", "asarray")}


def _has_others(array: ast.expr) -> bool:
    """Whether not all that is written in an array is whole numbers."""
    inner = [node for node in ast.walk(array) if isinstance(node, ast.expr)]
    lists = (ast.List, ast.Tuple, ast.UnaryOp)
    rest = [node for node in inner if not isinstance(node, lists)]
    return not all(isinstance(node, ast.Constant) and type(node.value) is int for node in rest)


_REFUSED = "Flax's TrainState takes no {} as `params`; the one of `to_train_state` does."


def _answers_in(points_to: PointsTo, of: Class) -> bool:
    """Whether objects of a class know what ``in`` means, as far as its bases are read."""
    for each, bases in points_to.ancestry(of):
        defined = {one.name for one in each.node.body if isinstance(one, ast.FunctionDef)}
        known = {one.name for one in bases if isinstance(one, External)}
        if defined & _ASKED_BY_IN or known & _ANSWER:
            return True
    return False


# Flax's traversals went into such a model: `/dense/kernel`. The labels that optax is given name its
# field as well: `/params/dense/kernel`. With a dot behind, so that `flax.nnx` is none of them.
_MODULES = ("flax.nn.", "flax.deprecated.", "flaxoptim_compat.nn.")


def may_be_models(points_to: PointsTo, documents: Iterable[Document]) -> bool:
    """Whether anything that can run with these files names ``flax.nn``.

    Args:
      points_to: what is known of the program.
      documents: the files that deal with the parameters.
    """
    together = map(points_to.processes.together_with, documents)
    return any(_names_flax_nn(points_to, each) for each in frozenset().union(*together))


def _names_flax_nn(points_to: PointsTo, document: Document) -> bool:
    for statement in document.imports:
        origin = statement.module or "" if isinstance(statement, ast.ImportFrom) else ""
        names = (f"{origin}.{alias.name}.".lstrip(".") for alias in statement.names)
        if any(name.startswith(_MODULES) for name in names):
            return True
    return any(
        isinstance(each, External) and f"{each.name}.".startswith(_MODULES)
        for node in document.of_kind(ast.Attribute)
        for each in points_to.legacy(node)
    )


def may_be_partial(points_to: PointsTo, unit: Unit, step: Use) -> bool:
    """Whether a step may be given gradients of some parameters only.

    Args:
      points_to: what is known of the program.
      unit: the optimizers that it may be a step of.
      step: the call of ``apply_gradient``.
    """
    call = step.node
    assert isinstance(call, ast.Call)
    given = gradients_of(call)
    if not given:
        return False
    grads = assigned_once(points_to, step.document, call, given[0])
    if isinstance(grads, ast.Dict):
        creates = [each for each in unit.uses if each.code == "FOC202"]
        targets = [
            assigned_once(points_to, each.document, each.node, target)
            for each in creates
            for target in targets_of(each)
        ]
        return not targets or not all(_has_all(grads, each) for each in targets)
    return any(map(_is_of_integers, ast.walk(grads)))


def _has_all(grads: ast.Dict, target: ast.expr) -> bool:
    """Whether gradients that are written out have the entries of parameters that are, too."""
    if not isinstance(target, ast.Dict):
        return False
    mine, its = _entries(grads), _entries(target)
    return mine.keys() == its.keys() and all(
        not (isinstance(each, ast.Constant) and each.value is None)
        and (not isinstance(each, ast.Dict) or _has_all(each, its[name]))
        for name, each in mine.items()
    )


def _entries(node: ast.Dict) -> dict[object, ast.expr]:
    keys = (each.value if isinstance(each, ast.Constant) else each for each in node.keys)
    return dict(zip(keys, node.values, strict=True))


def _is_of_integers(node: ast.AST) -> bool:
    """Whether it is ``jax.grad(..., allow_int=True)``, whose gradients of integers are float0."""
    return isinstance(node, ast.Call) and any(each.arg == "allow_int" for each in node.keywords)
