"""FOC101 to FOC112: names of ``flax.optim``, by where in a program they stand."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit, Span
from flaxoptim_compat.migrate.editing.finding import Change
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.names import gin
from flaxoptim_compat.migrate.names.dotted import call_of, looked_up_by, names_in, prefixes_of
from flaxoptim_compat.migrate.names.names import Names, NameUse
from flaxoptim_compat.migrate.names.surface import (
    is_dynamic_scale,
    is_for_old_flax,
    is_of_flax_optim,
    served,
)
from flaxoptim_compat.migrate.optimizers.found_place import FoundPlace
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.values.known_names import is_base

RULES = (
    Rule("FOC101", "import-of-flax-optim"),
    Rule("FOC102", "name-of-flax-optim"),
    Rule("FOC103", "looked-up-name"),
    Rule("FOC104", "name-in-a-string", is_rewritten=False),
    Rule("FOC105", "quoted-annotation"),
    Rule("FOC106", "subclass"),
    Rule("FOC107", "dynamic-scale"),
    Rule("FOC108", "stand-in", is_rewritten=False),
    Rule("FOC109", "star-import"),
    Rule("FOC110", "name-from-another-file", is_rewritten=False),
    Rule("FOC111", "install", is_rewritten=False),
    Rule("FOC112", "name-in-a-gin-file"),
)

_GONE = "gone since flax 0.6.0"
_INSTEAD = "flaxoptim_compat.optim"
_MAGIC = re.compile(r"[ \t]*(%(?:re)?load_ext[ \t]+flaxoptim_compat)[ \t]*(?:#.*)?")


def find(code: str, reading: Reading) -> Iterator[FoundPlace]:
    """The places that one of these rules is about; flaxoptim_compat serves most of the names."""
    if code != "FOC108":
        yield from (_named(reading, use) for use in reading.once(_uses).get(code, ()))
    if code in _BESIDE:
        yield from _BESIDE[code](reading)


def _uses(reading: Reading) -> dict[str, list[NameUse]]:
    """The uses of flax.optim, by the rules that are about them."""
    by_code: dict[str, list[NameUse]] = {}
    for use in reading.names.uses:
        if is_of_flax_optim(use.name) and not is_for_old_flax(reading.document, use.node):
            by_code.setdefault(_code(use, reading.names), []).append(use)
    return by_code


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
    return "FOC103" if len(names_in(use.node)) > 1 else "FOC102"


def _named(reading: Reading, use: NameUse) -> FoundPlace:
    what = f"{use.name}, {_GONE}"
    instead = served(use.name)
    if instead is None:
        reason = f"flaxoptim_compat.optim has no {use.name.removeprefix('flax.optim.')}."
        return FoundPlace(use.node, what, "code of your own", reason=reason)
    return FoundPlace(use.node, what, instead, _change(reading, use, instead))


def _change(reading: Reading, use: NameUse, instead: str) -> tuple[Edit, ...] | Change:
    """The change by which a name comes from flaxoptim_compat; empty if its import does that."""
    node = use.node
    if use.way == "project":
        return ()
    if isinstance(node, ast.alias):
        return Change(moves={node: instead})
    anchor = _anchor(use, reading.names)
    if anchor is None:
        return ()
    old = reading.names.full_name(anchor) or ""
    new = served(old) or old
    if isinstance(anchor, ast.Name) or new.endswith(".DynamicScale"):
        new = ":".join(new.rsplit(".", 1))  # that it is looked up on its module
    wanted = "dynamic_scale_lib" if is_dynamic_scale(old) else ""
    span = reading.document.span(anchor)

    def edits_with(imports: ImportPlan) -> tuple[Edit, ...]:
        return (Edit(*span, (imports.name_of(new, node, wanted),)),)

    return Change(edits_with, drops=(anchor,), unless=node)


def _anchor(use: NameUse, names: Names) -> ast.expr | None:
    """The part of a dotted name that has to be written anew; None if its import does all."""
    assert isinstance(use.node, ast.expr)
    is_part = is_dynamic_scale if is_dynamic_scale(use.name) else is_of_flax_optim
    *_, innermost = (each for each in prefixes_of(use.node) if is_part(names.full_name(each) or ""))
    if not isinstance(innermost, ast.Name):
        return innermost
    # `import *` does not bring the modules of flax.optim any more, only their names.
    by_star = use.binding is not None and use.binding.name == "*"
    is_module = (names.full_name(innermost) or "").rpartition(".")[2].islower()
    return innermost if by_star and is_module else None


def _lookups(reading: Reading) -> Iterator[FoundPlace]:
    """The calls that look something up in flax.optim while the program runs."""
    for call in reading.names.lookups:
        function = looked_up_by(call)
        base = reading.names.full_name(call.args[0]) or ""
        if function == "getattr":
            what = f"a name of {base} that is computed"
            reason = "Only the running program knows which optimizer this is."
            yield FoundPlace(call, what, _INSTEAD, (), reason, only_shim=True, works=True)
        elif function == "hasattr" and is_of_flax_optim(base):
            yield FoundPlace(call, f"a question for a name of {base}, {_GONE}", _INSTEAD, ())
        elif function == "hasattr" and base == "flax":
            what = f"a question for flax.optim, {_GONE}"
            reason = f"{reading.document.source(call)} is False since flax 0.6.0."
            yield FoundPlace(call, what, "nothing", reason=reason)
        elif function not in ("hasattr", "setattr", "delattr"):
            what = f"an import of flax.optim by its name, {_GONE}"
            reason = "An import by a name in a string stays: import flaxoptim_compat.optim there."
            yield FoundPlace(call, what, _INSTEAD, reason=reason)


def _strings(reading: Reading) -> Iterator[FoundPlace]:
    """The names of flax.optim in strings, which rewrite leaves."""
    for node, names in reading.names.strings:
        is_import = reading.document.parents[node] in reading.names.lookups
        if not is_import and not _is_in_modules_of_sys(reading, node):
            what = f"{', '.join(names)} in a string, {_GONE}"
            instead = ", ".join(served(each) or "code of your own" for each in names)
            reason = "Only the program knows what this text is for."
            yield FoundPlace(node, what, instead, reason=reason)


def _is_in_modules_of_sys(reading: Reading, node: ast.Constant) -> bool:
    """True if a string names an entry of ``sys.modules``.

    As in ``sys.modules["flax.optim"]``, ``sys.modules.setdefault("flax.optim", fake)`` and
    ``mock.patch.dict("sys.modules", {"flax.optim": fake})``.
    """
    around = reading.document.parents[node]
    if isinstance(around, ast.Dict):
        around = reading.document.parents[around]
    is_part = isinstance(around, ast.Subscript | ast.Compare | ast.Call)
    return is_part and "sys.modules" in ast.unparse(around)


def _stand_ins(reading: Reading) -> Iterator[FoundPlace]:
    """Each assignment to ``flax.optim`` and each use of its entry in ``sys.modules``."""
    nodes: list[ast.expr | ast.alias] = [use.node for use in reading.once(_uses).get("FOC108", ())]
    nodes += [node for node, _ in reading.names.strings if _is_in_modules_of_sys(reading, node)]
    lookups = reading.names.lookups
    nodes += [each for each in lookups if looked_up_by(each) in ("setattr", "delattr")]
    for node in nodes:
        instead = "nothing, once no code needs flax.optim"
        reason = "Delete this stand-in once no file uses flax.optim."
        yield FoundPlace(node, "a stand-in for flax.optim", instead, reason=reason)


def _subclasses(reading: Reading) -> Iterator[FoundPlace]:
    """Each class with a base from ``flax.optim``, or from what serves it."""
    instead = "flaxoptim_compat.to_optax(definition) makes an optax transformation of it"
    reason = "The class has its own update rule: use flaxoptim_compat.to_optax."
    for node in reading.names.walk.scopes:
        for base in node.bases if isinstance(node, ast.ClassDef) else ():
            name = reading.names.full_name(base) or ""
            # A base from flaxoptim_compat still has to be rewritten for optax.
            if is_base(name):
                assert isinstance(node, ast.ClassDef)
                start = reading.document.offset(node.lineno, node.col_offset)
                at = Span(start, reading.document.span(base)[1])
                found = FoundPlace(at, f"a subclass of {name}", instead, (), reason)
                yield found._replace(only_shim=True, works=True)
                break


def _installs(reading: Reading) -> Iterator[FoundPlace]:
    """Each call of ``install``, and each magic of notebooks in its place."""
    instead = "nothing, once all files are rewritten"
    for use in reading.names.uses:
        call = call_of(reading.document, use.node)
        if use.name == "flaxoptim_compat.install" and call is not None:
            yield FoundPlace(call, "flaxoptim_compat.install()", instead, ())
    for line, magic in reading.document.magics.items():
        match = _MAGIC.fullmatch(magic)
        if match is not None:
            start = reading.document.offset(line, match.start(1))
            yield FoundPlace(Span(start, start), match[1], instead, ())


def _in_gin(reading: Reading) -> Iterator[FoundPlace]:
    """Each name in a gin file; files of Python have none."""
    for each in gin.names_in(reading.document.text) if reading.document.is_gin else ():
        span = Span(each.start, each.end)
        edits = None if each.new is None else (Edit(*span, (each.new,)),)
        instead = served(each.name) or "code of your own"
        yield FoundPlace(span, f"{each.name}, {_GONE}", instead, edits, each.reason)


_BESIDE = {
    "FOC103": _lookups,
    "FOC104": _strings,
    "FOC106": _subclasses,
    "FOC108": _stand_ins,
    "FOC111": _installs,
    "FOC112": _in_gin,
}
