"""Methods of the FrozenDicts that ``init`` and ``apply`` returned, and dicts do not have."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit, Span
from flaxoptim_compat.migrate.editing.finding import Change, Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.names.dotted import arguments_of
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Rule

RULE = Rule("FOC161", "frozen-dict-methods")
_METHODS = frozenset({"pop", "unfreeze", "copy"})
_COLLECTIONS = frozenset(
    {"params", "batch_stats", "cache", "intermediates", "losses", "params_axes", "spectral_stats"}
)


def find(reading: Reading) -> Iterator[Finding]:
    """The calls of the methods."""
    if not any(f".{name}(" in reading.document.text for name in _METHODS):
        return
    packages = {use.name.partition(".")[0] for use in reading.names.uses}
    if packages.isdisjoint({"flax", "jax"}):
        return
    own = {each.name for each in reading.document.of_kind(ast.FunctionDef)}
    for call in reading.document.of_kind(ast.Call):
        method = call.func
        if not isinstance(method, ast.Attribute) or method.attr not in _METHODS - own:
            continue
        doubt = _doubt(reading, call, method)
        if doubt is None or (doubt and "flax" not in packages):
            continue
        if reading.allows(RULE.code, call):
            yield _finding(reading, call, method, doubt)


def _finding(reading: Reading, call: ast.Call, method: ast.Attribute, doubt: str) -> Finding:
    document, name = reading.document, method.attr
    start, end = document.span(call)
    what = f"FrozenDict.{name}, which plain dicts do not have"
    if name != "unfreeze":
        what = f"FrozenDict.{name}, which is another method in a plain dict"
    instead = f"flax.core.{name}"
    if doubt:
        reason = f"{what}: {doubt}"
        return Finding(RULE.code, start, end, what, instead, None, None, reason=reason)
    pieces: list[str | Span] = [Span(*document.span(method.value))]
    for each in arguments_of(call):
        pieces += [", ", Span(*document.span(each))]

    def edits(imports: ImportPlan) -> tuple[Edit, ...]:
        function = imports.name_of(f"flax.core:{name}", call)
        return (Edit(start, end, (f"{function}(", *pieces, ")")),)

    return Finding(RULE.code, start, end, what, instead, Change(edits), Change(edits))


def _doubt(reading: Reading, call: ast.Call, method: ast.Attribute) -> str | None:
    """Why a call may be one of something else; "" if it is certain, None if it is no such call."""
    if _is_something_else(reading, method.value):
        return None
    if method.attr == "pop":
        return _doubt_of_pop(reading, call, method.value)
    if method.attr == "copy":
        return _doubt_of_copy(reading, call)
    # Layers of other libraries are unfrozen in place; here only the result counts.
    is_statement = isinstance(reading.document.parents[call], ast.Expr)
    return None if is_statement or call.args or call.keywords else ""


def _is_something_else(reading: Reading, receiver: ast.expr) -> bool:
    """Whether it is a module, an object that the class is about, or a dict that is made here."""
    if isinstance(receiver, ast.Name) and receiver.id in ("self", "cls"):
        return True
    if isinstance(receiver, ast.Dict | ast.DictComp | ast.List | ast.ListComp | ast.Set):
        return True
    return reading.names.full_name(receiver) is not None


def _doubt_of_pop(reading: Reading, call: ast.Call, receiver: ast.expr) -> str | None:
    parent = reading.document.parents[call]
    targets: list[ast.expr] = []
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target = parent.targets[0]
        targets = target.elts if isinstance(target, ast.Tuple | ast.List) else []
    takes_one = isinstance(parent, ast.Subscript) and parent.value is call
    if len(call.args) != 1 or call.keywords or not (len(targets) == 2 or takes_one):
        return None
    key = call.args[0]
    if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
        return None
    if any(isinstance(each, ast.Starred) for each in targets) or _is_made_here(reading, receiver):
        return None
    if takes_one:
        return "" if key.value in _COLLECTIONS and _is_one_or_two(parent) else None
    if key.value in _COLLECTIONS or key.value in ast.unparse(targets[1]):
        return ""
    return f"whether {key.value!r} is a collection of variables is not known"


def _is_one_or_two(node: ast.AST) -> bool:
    index = node.slice if isinstance(node, ast.Subscript) else None
    return isinstance(index, ast.Constant) and index.value in (0, 1)


def _doubt_of_copy(reading: Reading, call: ast.Call) -> str | None:
    given = [*call.args, *(each.value for each in call.keywords if each.arg == "add_or_replace")]
    if len(given) != 1 or len(call.args) + len(call.keywords) != 1:
        return None
    added = given[0]
    if isinstance(added, ast.Starred | ast.Constant):
        return None
    if call.keywords or _is_dict(reading, added) or _is_made_here(reading, added):
        return ""
    return "whether it is given a dict is not known"


def _is_dict(reading: Reading, node: ast.expr) -> bool:
    name = reading.names.full_name(node.func) if isinstance(node, ast.Call) else None
    return _is_plain_dict(node) or str(name).startswith(("flax.core.", "flax.traverse_util."))


def _is_made_here(reading: Reading, receiver: ast.expr) -> bool:
    """Whether it is a dict of keywords, or one that the file writes out."""
    if not isinstance(receiver, ast.Name):
        return False
    here = reading.document.variables_of(receiver)
    if isinstance(here, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        keywords = here.args.kwarg
        if keywords is not None and keywords.arg == receiver.id:
            return True
    for node in reading.document.of_kind(ast.Assign):
        if _is_plain_dict(node.value):
            names = [each.id for each in node.targets if isinstance(each, ast.Name)]
            if receiver.id in names and reading.document.variables_of(node) is here:
                return True
    return False


def _is_plain_dict(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in ("dict", "vars", "locals")
    return isinstance(node, ast.Dict | ast.DictComp)
