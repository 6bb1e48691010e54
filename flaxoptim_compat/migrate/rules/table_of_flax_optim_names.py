"""FOC101 to FOC110: names of ``flax.optim``, by where in a program they stand."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Change, Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.names.names import Names, NameUse
from flaxoptim_compat.migrate.names.surface import is_dynamic_scale, is_of_flax_optim, served
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Rule

RULES = (
    Rule("FOC101", "import-of-flax-optim"),
    Rule("FOC102", "name-of-flax-optim"),
    Rule("FOC103", "looked-up-name"),
    Rule("FOC105", "quoted-annotation"),
    Rule("FOC107", "dynamic-scale"),
    Rule("FOC108", "stand-in", is_rewritten=False),
    Rule("FOC109", "star-import"),
    Rule("FOC110", "name-from-another-file", is_rewritten=False),
)

GONE = "gone since flax 0.6.0"
_INSTEAD = "flaxoptim_compat.optim"


def find(code: str, reading: Reading) -> Iterator[Finding]:
    """What one of these rules is about; most names are served from elsewhere now."""
    if code == "FOC108":
        yield from _stand_ins(reading)
        return
    for use in _uses(reading).get(code, ()):
        if reading.allows(code, use.node):
            yield _finding(code, reading, use)
    if code == "FOC103":
        yield from _lookups(reading)


@functools.lru_cache(maxsize=1)  # one file comes after the other
def _uses(reading: Reading) -> dict[str, list[NameUse]]:
    """The uses of flax.optim, by the rules that are about them."""
    by_code: dict[str, list[NameUse]] = {}
    for use in reading.names.uses:
        if is_of_flax_optim(use.name):
            by_code.setdefault(_code(use, reading.names), []).append(use)
    return by_code


def _finding(code: str, reading: Reading, use: NameUse) -> Finding:
    """The finding about one use: its name comes from elsewhere now."""
    start, end = reading.document.span(use.node)
    what = f"{use.name}, {GONE}"
    instead = served(use.name)
    if instead is None:
        reason = f"flaxoptim_compat.optim has no {use.name.removeprefix('flax.optim.')}."
        return Finding(code, start, end, what, "code of your own", None, None, reason=reason)
    change = _change(use, reading)
    return Finding(code, start, end, what, instead, change, change)


def _code(use: NameUse, names: Names) -> str:
    if use.way == "project":
        return "FOC110"
    is_changed = isinstance(getattr(use.node, "ctx", None), ast.Store | ast.Del)
    if is_changed and use.name == "flax.optim":
        return "FOC108"
    if is_dynamic_scale(use.name):
        return "FOC107"
    if isinstance(use.node, ast.alias):
        return "FOC109" if use.node.name == "*" else "FOC101"
    if use.node in names.quoted:
        return "FOC105"
    return "FOC103" if any(isinstance(each, ast.Call) for each in _parts(use.node)) else "FOC102"


def _change(use: NameUse, reading: Reading) -> tuple[Edit, ...] | Change:
    if use.way == "project":
        return ()
    if isinstance(use.node, ast.alias):
        return Change(moves={use.node: served(use.name) or ""})
    anchor = _anchor(use, reading.names)
    if anchor is None:
        return ()
    old = reading.names.full_name(anchor) or ""
    start, end = reading.document.span(anchor)
    if isinstance(anchor, ast.Call) and not isinstance(anchor.func, ast.Name):
        return Change(_new_module_name(anchor, old, reading), unless=use.node)
    new = served(old) or ""
    if isinstance(anchor, ast.Name) or new.endswith(".DynamicScale"):
        new = ":".join(new.rsplit(".", 1))  # that it is looked up on its module
    wanted = "dynamic_scale_lib" if is_dynamic_scale(old) else ""
    node = use.node

    def edits_with(imports: ImportPlan) -> tuple[Edit, ...]:
        return (Edit(start, end, (imports.name_of(new, node, wanted),)),)

    return Change(edits_with, drops=(anchor,), unless=node)


def _anchor(use: NameUse, names: Names) -> ast.expr | None:
    """The part of a chain that has to be written differently; None if its import does it all."""
    assert isinstance(use.node, ast.expr)
    parts = _parts(use.node)
    if is_dynamic_scale(use.name):
        named = [each for each in parts if is_dynamic_scale(names.full_name(each) or "")]
    else:
        named = [each for each in parts if is_of_flax_optim(names.full_name(each) or "")]
    innermost = named[-1]
    if not isinstance(innermost, ast.Name):
        return innermost
    # `import *` brings the modules of flax.optim no more, only what is in them.
    by_star = use.binding is not None and use.binding.name == "*"
    is_module = (names.full_name(innermost) or "").rpartition(".")[2].islower()
    return innermost if by_star and is_module else None


def _parts(node: ast.expr) -> list[ast.expr]:
    """A chain, then it without its last attribute, and so on to its root."""
    parts = [node]
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > 1:
            node = node.args[0]
        else:
            break
        parts.append(node)
    return parts


def _new_module_name(call: ast.Call, old: str, reading: Reading) -> tuple[Edit, ...]:
    """Change the text in ``importlib.import_module("flax.optim")``."""
    start, _ = reading.document.span(call.args[0])
    inside = reading.document.source(call.args[0]).find(old)
    if inside < 0:
        return ()
    return (Edit(start + inside, start + inside + len(old), (served(old) or old,)),)


def _lookups(reading: Reading) -> Iterator[Finding]:
    """What is looked up in flax.optim while the program runs."""
    for call in reading.names.lookups:
        function = call.func.id if isinstance(call.func, ast.Name) else ""
        if function not in ("setattr", "delattr") and reading.allows("FOC103", call):
            yield from _computed(call, function, reading)


def _computed(call: ast.Call, function: str, reading: Reading) -> Iterator[Finding]:
    start, end = reading.document.span(call)
    base = reading.names.full_name(call.args[0]) or ""
    if function == "getattr":
        what = f"a name of {base} that is computed"
        reason = "Only the running program knows which optimizer this is."
        yield Finding("FOC103", start, end, what, _INSTEAD, (), None, reason=reason)
    elif function == "hasattr" and is_of_flax_optim(base):
        what = f"a question for a name of {base}, {GONE}"
        yield Finding("FOC103", start, end, what, _INSTEAD)
    elif function == "hasattr" and base == "flax":
        what = f"a question for flax.optim, {GONE}"
        reason = f"{reading.document.source(call)} is False since flax 0.6.0."
        yield Finding("FOC103", start, end, what, "nothing", None, None, reason=reason)
    elif function != "hasattr":
        what = f"an import of flax.optim by its name, {GONE}"
        reason = "Only the running program knows which module this is."
        yield Finding("FOC103", start, end, what, _INSTEAD, None, None, reason=reason)


def _stand_ins(reading: Reading) -> Iterator[Finding]:
    """Each assignment to ``flax.optim`` and each use of its entry in ``sys.modules``."""
    nodes: list[ast.expr] = [
        node for node, _ in reading.names.strings if is_in_modules_of_sys(node, reading)
    ]
    nodes += [
        call
        for call in reading.names.lookups
        if isinstance(call.func, ast.Name) and call.func.id in ("setattr", "delattr")
    ]
    uses = (use.node for use in _uses(reading).get("FOC108", ()))
    nodes += [each for each in uses if isinstance(each, ast.expr)]
    for node in nodes:
        if reading.allows("FOC108", node):
            yield Finding(
                "FOC108",
                *reading.document.span(node),
                "a stand-in for flax.optim",
                "nothing, once no code needs flax.optim",
                None,
                None,
                reason="Nothing needs this once no file uses flax.optim.",
            )


def is_in_modules_of_sys(node: ast.Constant, reading: Reading) -> bool:
    """Whether a string names an entry of ``sys.modules``.

    As in ``sys.modules["flax.optim"]``, ``sys.modules.setdefault("flax.optim", fake)`` and
    ``mock.patch.dict("sys.modules", {"flax.optim": fake})``.
    """
    parent = reading.document.parents[node]
    if isinstance(parent, ast.Subscript):
        return _is_modules(parent.value, reading)
    if isinstance(parent, ast.Compare):
        return any(_is_modules(each, reading) for each in parent.comparators)
    if isinstance(parent, ast.Dict):
        around = reading.document.parents[parent]
        parent = around if isinstance(around, ast.Call) and node in parent.keys else parent
    if isinstance(parent, ast.Call):
        first = parent.args[0] if parent.args else None
        is_named = isinstance(first, ast.Constant) and first.value == "sys.modules"
        function = parent.func
        is_method = isinstance(function, ast.Attribute) and _is_modules(function.value, reading)
        return is_method or is_named or (first is not None and _is_modules(first, reading))
    return False


def _is_modules(node: ast.expr, reading: Reading) -> bool:
    return reading.names.full_name(node) == "sys.modules"
