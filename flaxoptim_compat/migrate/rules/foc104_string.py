"""FOC104: a name of ``flax.optim`` in a string."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.names import gin
from flaxoptim_compat.migrate.names.surface import served
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.rules.table_of_flax_optim_names import GONE, is_in_modules_of_sys

RULE = Rule("FOC104", "name-in-a-string")

_PATCH = frozenset(["unittest.mock.patch", "mock.patch"])
_FIXTURES = frozenset([("mocker", "patch"), ("monkeypatch", "setattr")])


def find(reading: Reading) -> Iterator[Finding]:
    """Each string that is a name of ``flax.optim``, or binds one for gin."""
    for node, names in reading.names.strings:
        if is_in_modules_of_sys(node, reading) or not reading.allows(RULE.code, node):
            continue
        start, end = reading.document.span(node)
        what = f"{', '.join(names)} in a string, {GONE}"
        instead = ", ".join(served(each) or "code of your own" for each in names)
        edits = _edits(node, names, reading)
        reason = "" if edits else "Only the program knows what this text is for."
        yield Finding(RULE.code, start, end, what, instead, edits, edits, reason=reason)


def _edits(node: ast.Constant, names: tuple[str, ...], reading: Reading) -> tuple[Edit, ...] | None:
    call = reading.document.parents[node]
    if isinstance(call, ast.Call) and call.args[:1] == [node] and _patches(call, reading):
        new = {name: served(name) for name in names}
    elif _is_for_gin(node, names, reading):
        new = {name: gin.renamed(name) for name in names}
    else:
        return None
    return _in_source(node, new, reading)


def _in_source(
    node: ast.Constant, new: Mapping[str, str | None], reading: Reading
) -> tuple[Edit, ...] | None:
    """The names written anew between the quotation marks; None if not all of them can be."""
    start, _ = reading.document.span(node)
    source = reading.document.source(node)
    edits: list[Edit] = []
    for name, instead in new.items():
        # A line may start with the escape of the one before.
        pattern = rf"(?:(?<![\w.])|(?<=\\n)){re.escape(name)}(?![\w.])"
        found = [match.start() for match in re.finditer(pattern, source)]
        if instead is None or len(found) != len(re.findall(pattern, str(node.value))):
            return None
        edits += [Edit(start + each, start + each + len(name), (instead,)) for each in found]
    return tuple(edits)


def _is_for_gin(node: ast.Constant, names: tuple[str, ...], reading: Reading) -> bool:
    """Whether a string is evidently read by gin, which finds the same classes in it afterwards."""
    if names != (node.value,):
        imported = reading.names.imported.values()
        return any(f"{each}.".startswith("gin.") for each in imported)
    parents = reading.document.parents
    around = parents[node]
    while isinstance(around, ast.keyword | ast.List | ast.Tuple):
        around = parents[around]
    if not isinstance(around, ast.Call):
        return False
    function = reading.names.full_name(around.func) or ""
    if not function.startswith("gin."):
        return False
    registered = _registered(around, function, reading)
    return not registered or gin.renamed(f"{names[0]}.{registered}") is not None


def _registered(call: ast.Call, function: str, reading: Reading) -> str:
    """The name of the class or function that a call registers, if the name is evident."""
    target = reading.document.parents[call]
    if isinstance(target, ast.ClassDef | ast.FunctionDef) and call in target.decorator_list:
        return target.name
    if function.endswith(".external_configurable") and call.args:
        registered = call.args[0]
        name = reading.names.full_name(registered)
        if name is not None:
            return name.rpartition(".")[2]
        own = {getattr(scope, "name", "") for scope in reading.names.walk.scopes}
        return registered.id if isinstance(registered, ast.Name) and registered.id in own else ""
    return ""


def _patches(call: ast.Call, reading: Reading) -> bool:
    """Whether a call takes the name of what it is to replace for a while."""
    function = call.func
    if reading.names.full_name(function) in _PATCH:
        return True
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and (function.value.id, function.attr) in _FIXTURES
    )
