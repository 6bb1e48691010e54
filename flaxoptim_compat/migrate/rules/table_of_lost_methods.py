"""FOC161 and FOC167: methods that FrozenDicts and arrays had, each written as a call of today."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator

from flaxoptim_compat.legacy.calls.of_jax import METHODS
from flaxoptim_compat.migrate.editing.edits import Edit, Span
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.names.dotted import call_of
from flaxoptim_compat.migrate.optimizers.found_place import FoundPlace
from flaxoptim_compat.migrate.optimizers.fragments import owner, replaced, span
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.successors.evident_values import is_array

RULES = (
    Rule("FOC161", "frozen-dict-methods"),
    Rule("FOC167", "array-methods"),
)
# No other objects in programs with jax have these methods.
_ONLY_OF_ARRAYS = ("to_py", "device", "device_buffer", "device_buffers")
_FUNCTION = re.compile(r"([\w.]+)\.(\w+)\(x\b.*")
_OF_ARRAYS = {row.old.rpartition(".")[2]: row for row in METHODS}
_OF_DICTS = {
    "unfreeze": "which plain dicts do not have",
    "copy": "which is another method in a plain dict",
    "pop": "which is another method in a plain dict",
}
_COLLECTIONS = frozenset(
    {"params", "batch_stats", "cache", "intermediates", "losses", "params_axes", "spectral_stats"}
)
_NEW = (ast.Dict, ast.DictComp, ast.List, ast.ListComp, ast.Set)


def find(code: str, reading: Reading) -> Iterator[FoundPlace]:
    """The lost methods of arrays, or those of FrozenDicts, in files that use jax or flax."""
    packages = {use.name.partition(".")[0] for use in reading.names.uses}
    if packages & {"flax", "jax"}:
        yield from _of_arrays(reading) if code == "FOC167" else _of_dicts(reading)


def _of_arrays(reading: Reading) -> Iterator[FoundPlace]:
    """Lost methods of evident arrays, and those that are known by their names."""
    for node in reading.document.of_kind(ast.Attribute):
        whole = call_of(reading.document, node) or node
        row = _OF_ARRAYS.get(node.attr if whole is node else f"{node.attr}()")
        if row is None:
            continue
        what = f"{row.old}, which arrays do not have any more"
        if is_array(reading, node.value):
            edits = functools.partial(_edits, reading, node, whole, row.today)
            yield FoundPlace(whole, what, row.today, edits)
        elif node.attr in _ONLY_OF_ARRAYS and not _is_own_or_imported(reading, node.value):
            reason = f"{what}: if this is an array, write {row.today}"
            yield FoundPlace(whole, what, row.today, reason=reason)


def _of_dicts(reading: Reading) -> Iterator[FoundPlace]:
    """The calls of methods that only the results of ``init`` and ``apply`` have."""
    own = {each.name for each in reading.document.of_kind(ast.FunctionDef)}
    methods = _OF_DICTS.keys() - own
    for call in reading.document.of_kind(ast.Call):
        method = call.func
        if not isinstance(method, ast.Attribute) or method.attr not in methods:
            continue
        if _is_of_a_frozen_dict(reading, call, method):
            what = f"FrozenDict.{method.attr}, {_OF_DICTS[method.attr]}"
            today = f"flax.core.{method.attr}"
            yield FoundPlace(
                call, what, today, functools.partial(_edits, reading, method, call, f"{today}(x)")
            )


def _is_own_or_imported(reading: Reading, node: ast.expr) -> bool:
    """True for ``self``, ``cls``, and names that are imported."""
    is_own = isinstance(node, ast.Name) and node.id in ("self", "cls")
    return is_own or reading.names.full_name(node) is not None


def _edits(
    reading: Reading, node: ast.Attribute, whole: ast.expr, today: str, imports: ImportPlan
) -> tuple[Edit, ...]:
    """The edit that makes a method a call of today, such as ``numpy.asarray(x)``."""
    function = _FUNCTION.fullmatch(today)
    if function is None:
        before, after = re.split(r"\bx\b", today)
        return (replaced(reading, whole, before, *owner(reading, node.value), after),)
    name = imports.name_of(f"{function[1]}:{function[2]}", whole)
    # The arguments, with everything behind the parenthesis.
    start = reading.document.text.index("(", span(reading, node).end) + 1
    arguments = Span(start, span(reading, whole).end)
    comma = ""
    if isinstance(whole, ast.Call) and (whole.args or whole.keywords):
        comma = "," if reading.document.text[arguments.start] == "\n" else ", "
    return (replaced(reading, whole, f"{name}(", span(reading, node.value), comma, arguments),)


def _is_of_a_frozen_dict(reading: Reading, call: ast.Call, method: ast.Attribute) -> bool:
    """True if a call is evidently of a method of FrozenDict, and of nothing else."""
    holder = method.value
    if isinstance(holder, _NEW) or _is_own_or_imported(reading, holder):
        return False
    around = reading.document.parents[call]
    match method.attr, call:
        case "pop", ast.Call(args=[ast.Constant(value=str(key))], keywords=[]):
            return not _are_keywords(reading, holder) and _has_two_results(around, call, key)
        case "copy", ast.Call(args=[], keywords=[ast.keyword(arg="add_or_replace")]):
            return True
        case "copy", ast.Call(args=[added], keywords=[]):
            return _is_dict(reading, added)
        case "unfreeze", ast.Call(args=[], keywords=[]):
            # Layers of other libraries are unfrozen in place; here only the result counts.
            return not isinstance(around, ast.Expr)
    return False


def _has_two_results(around: ast.AST, call: ast.Call, key: str) -> bool:
    """True if both results of ``pop`` get names, or one is taken by its index; a dict's has one."""
    match around:
        case ast.Subscript(value=value, slice=ast.Constant(value=0 | 1)) if value is call:
            return key in _COLLECTIONS
        case ast.Assign(targets=[ast.Tuple(elts=[_, second])]):
            return key in _COLLECTIONS or key in ast.unparse(second)
    return False


def _are_keywords(reading: Reading, holder: ast.expr) -> bool:
    """True for the dict of keywords, ``**kwargs``, of the function around it."""
    here = reading.document.variables_of(holder) if isinstance(holder, ast.Name) else None
    keywords = here.args.kwarg if isinstance(here, ast.FunctionDef) else None
    return keywords is not None and keywords.arg == ast.unparse(holder)


def _is_dict(reading: Reading, node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.Dict | ast.DictComp)
    if isinstance(node.func, ast.Name) and node.func.id in ("dict", "vars", "locals"):
        return True
    return str(reading.names.full_name(node.func)).startswith(("flax.core.", "flax.traverse_util."))
