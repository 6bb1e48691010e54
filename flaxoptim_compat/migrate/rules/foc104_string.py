"""FOC104: a name of ``flax.optim`` in a string."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.edits import Edit
from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.names.stand_ins import is_in_modules_of_sys
from flaxoptim_compat.migrate.names.surface import served
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.names_of_flax_optim import GONE
from flaxoptim_compat.migrate.rules.rule import Example, Rule

RULE = Rule(
    code="FOC104",
    name="name-in-a-string",
    summary="a name of `flax.optim` in a string: for `mock.patch`, for gin, in a configuration",
    what="""\
The text that `mock.patch`, `mocker.patch` or `monkeypatch.setattr` take as the place to patch names
`flaxoptim_compat.optim`, with either target. Other texts are reported and marked.""",
    why="""\
A text is found by no import: it fails where it is used, or, worse, is compared and never equal.""",
    refuses="""\
In every other string. gin knows a class by the module that it was registered with, a configuration
is read by code elsewhere, and both may come from files that are no Python: only the program tells
what the text is for. Docstrings and prose are not reported.""",
    examples=(
        Example(
            before="""\
from unittest import mock


def test_training(train):
    with mock.patch("flax.optim.Adam"):
        train()
""",
            shim="""\
from unittest import mock


def test_training(train):
    with mock.patch("flaxoptim_compat.optim.Adam"):
        train()
""",
            optax="""\
from unittest import mock


def test_training(train):
    with mock.patch("flaxoptim_compat.optim.Adam"):
        train()
""",
        ),
    ),
)

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
    if not isinstance(call, ast.Call) or call.args[:1] != [node] or not _patches(call, reading):
        return None
    new = served(names[0])
    inside = reading.document.source(node).find(names[0])
    if new is None or inside < 0:
        return None
    start = reading.document.span(node)[0] + inside
    return (Edit(start, start + len(names[0]), (new,)),)


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
