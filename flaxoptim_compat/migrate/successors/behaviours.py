"""Methods and settings of flax that are still there and do something else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Change, Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.successors.lost_uses import gap_after_imports


def set_once(
    reading: Reading, code: str, node: ast.expr, what: str, setting: str, value: bool
) -> Finding:
    """Change a setting behind the imports.

    Args:
      reading: the file; it does not mention the setting.
      code: the rule.
      node: what needs it.
      what: what that is, for people.
      setting: the name of the setting.
      value: its value.
    """
    start, end = reading.document.span(node)
    instead = f'flax.config.update("{setting}", {value})'
    gap = gap_after_imports(reading.document)
    if gap is None:
        reason = f"{what}: call {instead} first"
        return Finding(code, start, end, what, instead, None, None, reason=reason)

    def edits(imports: ImportPlan) -> tuple[Edit, ...]:
        config = imports.name_of("flax:config", gap.following)
        return gap.edits(f'{config}.update("{setting}", {value})')

    return Finding(code, start, end, what, instead, Change(edits), Change(edits))


_COLLECTIONS = frozenset(
    {"params", "batch_stats", "cache", "intermediates", "losses", "params_axes", "spectral_stats"}
)


class OldMethod(NamedTuple):
    """A call of a method.

    Args:
      name: ``pop``, ``unfreeze`` or ``copy``.
      call: the call.
      doubt: why it may be the method of something else; empty if it is certain.
    """

    name: str
    call: ast.Call
    doubt: str = ""


def is_about_flax(reading: Reading) -> bool:
    """Whether a file uses jax or flax at all, and one of the methods.

    Args:
      reading: the file.
    """
    text = reading.document.text
    if not any(f".{name}(" in text for name in ("pop", "unfreeze", "copy")):
        return False
    return any(use.name.partition(".")[0] in ("flax", "jax") for use in reading.names.uses)


def methods_in(reading: Reading) -> Iterator[OldMethod]:
    """The calls in a file.

    Args:
      reading: the file.
    """
    parents = reading.document.parents
    uses_flax = any(use.name.partition(".")[0] == "flax" for use in reading.names.uses)
    own = {each.name for each in parents if isinstance(each, ast.FunctionDef)}
    for node in parents:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name, receiver = node.func.attr, node.func.value
        if name not in ("pop", "unfreeze", "copy") or name in own:
            continue
        if _is_something_else(reading, receiver):
            continue
        if name == "pop":
            found = _pop(reading, node)
        else:
            found = _unfreeze(reading, node) if name == "unfreeze" else _copy(reading, node)
        if found is not None and (uses_flax or not found.doubt):
            yield found


def _is_something_else(reading: Reading, receiver: ast.expr) -> bool:
    """Whether it is a module, an object that the class is about, or a dict that is made here."""
    if isinstance(receiver, ast.Name) and receiver.id in ("self", "cls"):
        return True
    if isinstance(receiver, ast.Dict | ast.DictComp | ast.List | ast.ListComp | ast.Set):
        return True
    if reading.names.full_name(receiver) is not None:
        return True
    return isinstance(receiver, ast.Call) and reading.names.full_name(receiver) is not None


def _pop(reading: Reading, call: ast.Call) -> OldMethod | None:
    parent = reading.document.parents[call]
    targets: list[ast.expr] = []
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target = parent.targets[0]
        targets = target.elts if isinstance(target, ast.Tuple | ast.List) else []
    takes_one = isinstance(parent, ast.Subscript) and parent.value is call
    if len(call.args) != 1 or call.keywords or not (len(targets) == 2 or takes_one):
        return None
    key = call.args[0]
    if isinstance(key, ast.Starred) or any(isinstance(each, ast.Starred) for each in targets):
        return None
    if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
        return None
    assert isinstance(call.func, ast.Attribute)
    if _is_made_here(reading, call.func.value):
        return None
    if key.value in _COLLECTIONS:
        is_at_place = not takes_one or _is_one_or_two(parent)
        return OldMethod("pop", call) if is_at_place else None
    if takes_one:
        return None
    if key.value in ast.unparse(targets[1]):
        return OldMethod("pop", call)
    return OldMethod(
        "pop", call, f"whether {key.value!r} is a collection of variables is not known"
    )


def _is_one_or_two(node: ast.AST) -> bool:
    index = node.slice if isinstance(node, ast.Subscript) else None
    return isinstance(index, ast.Constant) and index.value in (0, 1)


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


def _unfreeze(reading: Reading, call: ast.Call) -> OldMethod | None:
    if call.args or call.keywords:
        return None
    # Layers of other libraries are unfrozen in place; here only the result counts.
    is_statement = isinstance(reading.document.parents[call], ast.Expr)
    return None if is_statement else OldMethod("unfreeze", call)


def _copy(reading: Reading, call: ast.Call) -> OldMethod | None:
    given = [*call.args, *(each.value for each in call.keywords if each.arg == "add_or_replace")]
    if len(given) != 1 or len(call.args) + len(call.keywords) != 1:
        return None
    added = given[0]
    if isinstance(added, ast.Starred | ast.Constant):
        return None
    if _is_dict(reading, added) or call.keywords:
        return OldMethod("copy", call)
    if isinstance(added, ast.Name) and _is_made_here(reading, added):
        return OldMethod("copy", call)
    return OldMethod("copy", call, "whether it is given a dict is not known")


def _is_dict(reading: Reading, node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        name = reading.names.full_name(node.func)
        return _is_plain_dict(node) or str(name).startswith(("flax.core.", "flax.traverse_util."))
    return _is_plain_dict(node)
