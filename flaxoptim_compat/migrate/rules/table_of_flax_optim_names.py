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
from flaxoptim_compat.migrate.rules.rule import Example, Rule

_SCALED = """\
from flax.training import dynamic_scale as dynamic_scale_lib

scale = dynamic_scale_lib.DynamicScale(growth_interval=10)
"""
_ELSEWHERE = """\
from .optimizers import Adam


def create(params):
    return Adam(0.1).create(params)
"""

RULES = (
    Rule(
        code="FOC101",
        name="import-of-flax-optim",
        summary="an import of `flax.optim` or of something in it",
        what="""\
The name is imported from `flaxoptim_compat.optim`, under the name that it has in the file. Other
names of the same statement stay where they are, and so do comments. `import flax.optim` without
`as` goes, because what uses it is written differently (FOC102), or becomes `import flax` where that
is still needed. With `--to optax` the import goes altogether when nothing uses it any more.""",
        why="""\
Flax 0.6 removed `flax.optim`: the import raises `ModuleNotFoundError` or `ImportError`.
`flaxoptim_compat.optim` has the same modules, with the same names in them.""",
        refuses="""\
Where the name is one that `flax.optim` had only by the way, such as
`flax.optim.base.traverse_util`. An import in an `__init__.py`, or one that is listed in `__all__`
or taken by other files, is kept though nothing in its own file uses it.""",
        examples=(
            Example(
                before="""\
from flax import linen as nn, optim
from flax.optim.adam import Adam, _AdamParamState


def create(params):
    return optim.Momentum(0.1).create(params), Adam(0.1), _AdamParamState, nn
""",
                shim="""\
from flax import linen as nn
from flaxoptim_compat import optim
from flaxoptim_compat.optim.adam import Adam, _AdamParamState


def create(params):
    return optim.Momentum(0.1).create(params), Adam(0.1), _AdamParamState, nn
""",
            ),
        ),
    ),
    Rule(
        code="FOC102",
        name="name-of-flax-optim",
        summary="a name of `flax.optim`, whatever the file calls it",
        what="""\
`flax.optim.Adam` becomes `optim.Adam`, and `optim` is imported from `flaxoptim_compat`: under
another name if the file calls something else so. Where the import alone brings the new one
(`optim.Adam` after `from flax import optim`), the place itself stays as it is. With `--to optax`,
what no rule about optimizers rewrites is treated in the same way.""",
        why=(
            "`flaxoptim_compat.optim` has all names of `flax.optim`, and every step the same"
            " numbers."
        ),
        refuses="""\
Where `flax.optim` had the name only by the way, such as `flax.optim.adam.jnp`. Where a name means
`flax.optim` in one place and something else in another, it is not found for certain: `scan` lists
it among what it did not understand.""",
        examples=(
            Example(
                before="""\
import flax


def is_optimizer(value):
    return isinstance(value, flax.optim.Optimizer) or value is flax.optim.adam._AdamParamState
""",
                shim="""\
from flaxoptim_compat import optim


def is_optimizer(value):
    return isinstance(value, optim.Optimizer) or value is optim.adam._AdamParamState
""",
            ),
        ),
    ),
    Rule(
        code="FOC103",
        name="looked-up-name",
        summary=(
            "`flax.optim` or a name of it, looked up by `getattr`, `import_module` and the like"
        ),
        what="""\
The module in `getattr(flax.optim, name)` becomes `flaxoptim_compat.optim`, with either target, and
the text in `importlib.import_module("flax.optim")` names the new module.""",
        why="""\
`flaxoptim_compat.optim` has every name that `flax.optim` had, so whichever is looked up is found.
Which one it is shows only when the program runs, so no text of optax can be written for it.""",
        refuses="""\
`hasattr(flax, "optim")` stays: it is false since Flax 0.6, and what follows from that is the
program's own business. The name of a module that is put together
(`import_module(f"flax.optim.{name}")`) stays too, and so does `__import__("flax.optim")`, which
gives `flax`. With `--to optax` a computed name is left on `flaxoptim_compat` and marked.""",
        examples=(
            Example(
                before="""\
import flax


def make(name, **settings):
    return getattr(flax.optim, name)(**settings)
""",
                shim="""\
from flaxoptim_compat import optim


def make(name, **settings):
    return getattr(optim, name)(**settings)
""",
                optax="""\
from flaxoptim_compat import optim


def make(name, **settings):
    # FOC103: Which optimizer this is shows only when it runs.
    return getattr(optim, name)(**settings)
""",
            ),
        ),
    ),
    Rule(
        code="FOC105",
        name="quoted-annotation",
        summary="a name of `flax.optim` in an annotation in quotes",
        what=(
            "The same as FOC102 does outside of quotes; what else stands between the quotes stays."
        ),
        why="""\
Nothing evaluates the annotation when the program starts, but `typing.get_type_hints`, dataclass
libraries and type checkers do.""",
        refuses="""\
Where the text between the quotes is not written as it reads: with escapes, in several pieces, over
several lines.""",
        examples=(
            Example(
                before="""\
import flax


def learning_rate(optimizer: "flax.optim.Optimizer") -> "float | None":
    return optimizer.optimizer_def.hyper_params.learning_rate
""",
                shim="""\
from flaxoptim_compat import optim


def learning_rate(optimizer: "optim.Optimizer") -> "float | None":
    return optimizer.optimizer_def.hyper_params.learning_rate
""",
            ),
        ),
    ),
    Rule(
        code="FOC107",
        name="dynamic-scale",
        summary="`DynamicScale` from `flax.optim`",
        what="It comes from `flax.training.dynamic_scale`, with either target.",
        why="""\
The class is still part of Flax, which moved it there. Losses, gradients and scales are the same
numbers. Today's class has bounds besides: the scale stops at the largest float32 where it once
became infinite, and at the smallest normal one (`minimum_scale`) where it once became 0.""",
        refuses="",
        examples=(
            Example.alike(
                before="""\
from flax import optim

scale = optim.DynamicScale(growth_interval=10)
""",
                after=_SCALED,
            ),
        ),
    ),
    Rule(
        code="FOC108",
        name="stand-in",
        summary="something put in the place of `flax.optim` by hand",
        what="Nothing: it is reported, and marked.",
        why="""\
Programs helped themselves when `flax.optim` was gone, with copies and with mocks. After a rewrite
nothing looks at `flax.optim` any more, so the line has no effect and can be deleted; what it did
until now, and whether anybody relied on that, only its owner can tell.""",
        refuses="Always.",
        examples=(
            Example.alike(
                before="""\
import sys
from unittest import mock

sys.modules["flax.optim"] = mock.MagicMock()
""",
                after="""\
import sys
from unittest import mock

# FOC108: Nothing needs this once no file uses flax.optim.
sys.modules["flax.optim"] = mock.MagicMock()
""",
            ),
        ),
    ),
    Rule(
        code="FOC109",
        name="star-import",
        summary="`from flax.optim import *`",
        what="""\
The names come from `flaxoptim_compat.optim`. Modules of `flax.optim` that the file got in this way
(`adam.Adam`) are written `optim.adam.Adam`. With `--to optax` the import goes when nothing uses it
any more.""",
        why="`flaxoptim_compat.optim` has the same public names.",
        refuses="Names after a second `import *` are not known for certain, and not followed.",
        examples=(
            Example(
                before="""\
from flax.optim import *

optimizers = [Adam, adam.Adam]
""",
                shim="""\
from flaxoptim_compat.optim import *
from flaxoptim_compat import optim

optimizers = [Adam, optim.adam.Adam]
""",
            ),
        ),
    ),
    Rule(
        code="FOC110",
        name="name-from-another-file",
        summary="a name of `flax.optim` that comes from another file of the project",
        what="""\
Nothing here: it is reported, and rewritten where the other file imports it (FOC101). With `--to
optax` the rules about optimizers know what it is.""",
        why="The import from the other file keeps working, and brings the new name.",
        refuses="",
        examples=(Example(before=_ELSEWHERE, shim=_ELSEWHERE),),
    ),
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
        reason = "Which optimizer this is shows only when it runs."
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
        reason = "Which module this is shows only when it runs."
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
