"""FOC151 to FOC160, FOC168: names that jax, flax, numpy and Python dropped, by their successors."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.legacy.names.linen_instead_of_nn import NN
from flaxoptim_compat.legacy.names.public import ERA
from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Change
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.names.dotted import prefixes_of
from flaxoptim_compat.migrate.names.names import NameUse
from flaxoptim_compat.migrate.optimizers.found_place import FoundPlace
from flaxoptim_compat.migrate.optimizers.fragments import replaced
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.rules.version_questions import is_for_another_version
from flaxoptim_compat.migrate.successors.rearranged_calls import (
    REARRANGED,
    LostUse,
    Rearranged,
    is_inlined,
)
from flaxoptim_compat.migrate.successors.successor import (
    OBJECTS_TODAY,
    SERVED_NN,
    TENSORBOARD,
    Successor,
    successor,
)

RULES = (
    Rule("FOC151", "removed-jax-names"),
    Rule("FOC152", "removed-jax-calls"),
    Rule("FOC153", "stand-ins-for-jax"),
    Rule("FOC154", "removed-flax-names"),
    Rule("FOC155", "removed-numpy-names"),
    Rule("FOC156", "removed-numpy-calls"),
    Rule("FOC157", "stand-ins-for-numpy"),
    Rule("FOC158", "flax-nn-without-linen"),
    Rule("FOC159", "gone-for-good", is_rewritten=False),
    Rule("FOC160", "tensorboard-without-tensorflow", is_rewritten=False),
    Rule("FOC168", "removed-python-names"),
)
_TREE_MAPS = frozenset(
    {"jax.tree_map", "jax.tree_multimap", "jax.tree_util.tree_multimap", "jax.api.tree_multimap"}
)
STAND_IN = f"{ERA}:tree_map"
_IN_NN = tuple(f"{module}." for module in NN)
_OF_SERVED_NN = (f"{SERVED_NN}:", f"{SERVED_NN}.")


def find(code: str, reading: Reading) -> Iterator[FoundPlace]:
    """The names that one of these rules is about, each with its successor."""
    for use, lost in reading.once(_lost_names).get(code, ()):
        if isinstance(use.node, ast.alias):
            yield _of_import(reading, use.node, use.name, lost)
        else:
            place = _of_use(reading, use, use.node, lost)
            if place is not None:
                yield place


def _lost_names(reading: Reading) -> dict[str, list[tuple[NameUse, Successor]]]:
    """The uses of names that are gone, by the rules that are about them."""
    by_code: dict[str, list[tuple[NameUse, Successor]]] = {}
    lost = [
        (use, replacement)
        for use in reading.names.uses
        if (replacement := _successor_of(reading, use))
    ]
    gone = {use.node for use, _ in lost}

    def is_gone(code: ast.AST) -> bool:
        return any(each in gone for each in ast.walk(code))

    for use, replacement in lost:
        # Such an import brings the name of today already, wherever it is used.
        asked = (use.node, *filter(None, [use.binding]))
        if not any(is_for_another_version(reading.document, each, is_gone) for each in asked):
            by_code.setdefault(code_of(replacement), []).append((use, replacement))
    return by_code


def code_of(replacement: Successor) -> str:
    """The code of the rule that is about a name.

    Args:
      replacement: the successor of the name.
    """
    package = replacement.old.partition(".")[0]
    if replacement.old.startswith(TENSORBOARD):
        return "FOC160"
    if package == "flax":
        return "FOC158" if replacement.today.startswith(_OF_SERVED_NN) else "FOC154"
    if not replacement.today:
        return "FOC159"
    if replacement.gone_since.startswith("Python "):
        return "FOC168"
    if replacement.old in REARRANGED:
        return "FOC156" if package == "numpy" else "FOC152"
    if replacement.is_stand_in:
        return "FOC157" if package == "numpy" else "FOC153"
    return "FOC155" if package == "numpy" else "FOC151"


def _successor_of(reading: Reading, use: NameUse) -> Successor | None:
    if not isinstance(use.node, ast.alias):
        return _beside_modules(reading, successor(use.name))
    # A name that another file of the project imports is rewritten in that file.
    if use.way != "import":
        return None
    statement = reading.document.parents[use.node]
    if isinstance(statement, ast.Import) and use.name in OBJECTS_TODAY:
        return successor(f"{use.name}.config")
    if isinstance(statement, ast.ImportFrom) and statement.module in OBJECTS_TODAY:
        of_module = successor(f"{statement.module}.config")
        if of_module is not None and use.name != of_module.old:
            instead = f"use the object {statement.module}"
            return of_module._replace(old=use.name, today="", instead=instead)
    return _in_linen(reading, successor(use.name))


def _in_linen(reading: Reading, replacement: Successor | None) -> Successor | None:
    """The successor; for ``flax.nn``, Linen if all names that the file takes from it are there."""
    if replacement is None or replacement.old not in NN:
        return replacement
    inside = [successor(use.name) for use in reading.names.uses if use.name.startswith(_IN_NN)]
    if not inside or not all(each and each.today.startswith("flax.linen") for each in inside):
        return replacement
    return replacement._replace(today="flax.linen", imported="flax.linen")


def _beside_modules(reading: Reading, replacement: Successor | None) -> Successor | None:
    """The successor; if the file imports ``flax.nn`` for its modules too, the served name."""
    if replacement is None or not replacement.old.startswith(_IN_NN):
        return replacement
    package = next(each for each in NN if replacement.old.startswith(f"{each}."))
    module = _in_linen(reading, successor(package))
    name = replacement.old[len(package) + 1 :]
    if module is None or module.today == "flax.linen" or "." in name:
        return replacement
    served = f"{SERVED_NN}:{name}"
    return replacement._replace(today=served, imported=served)


def _of_import(reading: Reading, alias: ast.alias, name: str, replacement: Successor) -> FoundPlace:
    lacking = _lacking(reading, replacement, replacement.imported)
    if not replacement.today or lacking:
        return FoundPlace(alias, replacement.what, replacement.instead, reason=lacking)
    cause = _stays_inside(reading, replacement)
    if cause:
        return FoundPlace(alias, replacement.what, _shown(replacement), cause=cause)
    if alias.name == "*":
        instead = f"the names that you need from {replacement.instead}"
        reason = f"{replacement.what}, and the names of its * are not known: import {instead}"
        return FoundPlace(alias, replacement.what, instead, reason=reason)
    is_import = isinstance(reading.document.parents[alias], ast.Import)
    if is_import and alias.asname is None:
        today = name.partition(".")[0]  # the bound name; its uses are written anew
    else:
        beyond = name[len(replacement.old) :]
        today = f"{_dotted(replacement.imported)}{beyond}" if beyond else replacement.imported
    # The import of such a name goes where every use is written anew.
    instead = replacement.instead if replacement.old in REARRANGED else _shown(replacement)
    return FoundPlace(alias, replacement.what, instead, Change(moves={alias: today}))


def _of_use(
    reading: Reading, use: NameUse, node: ast.expr, replacement: Successor
) -> FoundPlace | None:
    surplus = max(use.name.count(".") - replacement.old.count("."), 0)
    part = _part(node, surplus)
    if part is None:
        return None
    lost = LostUse(reading, part, replacement)
    *_, root = prefixes_of(node)
    bound = reading.names.full_name(root) or ""
    imported = bool(bound) and replacement.old.count(".") <= bound.count(".")
    lacking = _lacking(reading, replacement, replacement.today)
    if not replacement.today or lacking:
        if imported:
            return None
        return FoundPlace(part, replacement.what, replacement.instead, reason=lacking)
    if replacement.old in REARRANGED and (use.way == "import" or not imported):
        rearranged = REARRANGED[replacement.old](lost)
        if rearranged is not None:
            return _changed(lost, node, rearranged)
    if is_inlined(lost):
        return None  # a part of an update that is written anew
    today = _stand_in(lost) or replacement.today
    if imported and today == replacement.today:
        return None  # the import says it, and the name stays
    was = _in_linen(reading, successor(bound))
    if was is not None and not _stays_inside(reading, was):
        name = _dotted(was.imported) + replacement.old[len(bound) :]
        if name == _dotted(today):
            return None  # the import of the module says it

    def make(imports: ImportPlan) -> tuple[Edit, ...]:
        return (replaced(reading, part, imports.name_of(today, part)),)

    shown = _dotted(today) if today != replacement.today else _shown(replacement)
    return _changed(lost, node, Rearranged(part, shown, make))


def _changed(lost: LostUse, node: ast.expr, rearranged: Rearranged) -> FoundPlace:
    change = Change(rearranged.make, drops=(node, *rearranged.removed), unless=node)
    return FoundPlace(rearranged.at, lost.successor.what, rearranged.instead, change)


def _stand_in(lost: LostUse) -> str:
    """The stand-in that lets None stand for anything, if the call evidently needs it; else ""."""
    call = lost.call
    if lost.successor.old not in _TREE_MAPS or call is None or len(call.args) < 3:
        return ""
    return STAND_IN if _makes_none(call.args[1]) else ""


def _makes_none(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return node.value is None
    if isinstance(node, ast.Subscript):
        return _makes_none(node.value)  # None as an index adds an axis
    # A MultiOptimizer has None there for the parameters that no traversal selects.
    if isinstance(node, ast.Attribute) and node.attr == "param_states":
        return True
    return any(map(_makes_none, ast.iter_child_nodes(node)))


def _part(node: ast.expr, surplus: int) -> ast.expr | None:
    """The expression of a name, without attributes that are looked up on it."""
    parts = list(prefixes_of(node))
    if surplus >= len(parts):
        return None
    node = parts[surplus]
    if isinstance(node, ast.Call) and len(node.args) > 2:
        return None  # getattr with a default: the program is ready for its absence
    if isinstance(node, ast.Attribute | ast.Name) and not isinstance(node.ctx, ast.Load):
        return None  # the program gives the name to the module itself
    return node


def _lacking(reading: Reading, replacement: Successor, today: str) -> str:
    """The reason why a successor is not written for these versions; "" if it is."""
    lacking = reading.releases.lacking(today)
    if lacking is None:
        return ""
    later = f"{replacement.what}: {_dotted(today)} from {lacking.package} {lacking.since} on"
    package, _, gone_since = replacement.gone_since.partition(" ")
    if reading.releases.are_before(package, gone_since):
        return f"{later}; before, it can stay"
    return later


def _stays_inside(reading: Reading, module: Successor) -> str:
    """The reason why a name in a module, and so its import, stays for these versions; or ""."""
    for use in reading.names.uses:
        if isinstance(use.node, ast.alias) or not use.name.startswith(f"{module.old}."):
            continue
        replacement = successor(use.name)
        lacking = "" if replacement is None else _lacking(reading, replacement, replacement.today)
        if lacking:
            return lacking
    return ""


def _dotted(path: str) -> str:
    return path.replace(":", ".")


def _shown(replacement: Successor) -> str:
    """The text on what replaces a name; a stand-in has later advice too."""
    if not replacement.is_stand_in:
        return replacement.dotted
    if replacement.today == SERVED_NN:
        return (
            f"{SERVED_NN}: the modules stay as they are, and the optimizers can move;"
            f" later {replacement.instead}"
        )
    return f"{replacement.dotted}; later {replacement.instead}"
