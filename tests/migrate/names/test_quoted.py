"""Names in annotations that stand in quotes."""

from __future__ import annotations

import pytest

from tests.support.names_in_texts import ADAM, names_of

QUOTED = {
    "def f(x: 'o.Adam'): ...": ["o.Adam"],
    "def f() -> 'list[o.Adam] | None': ...": ["o.Adam"],
    "x: 'o.Adam'": ["o.Adam"],
    "x: dict[str, 'o.Adam'] = {}": ["o.Adam"],
    "x: '''o.Adam''' = 1": ["o.Adam"],
    "ä: ('ä', 'o.Adam')": ["o.Adam"],
    "class A:\n  x: ' o.Adam'": ["o.Adam"],
    "from typing import Literal\nx: Literal['o.Adam']": [],
    "x = 'o.Adam'": [],
    "from typing import cast\nx = cast('o.Adam', f('o.Adam'))": ["o.Adam"],
    "import typing as t\nT = t.TypeVar('T', bound='o.Adam')": ["o.Adam"],
    "import typing as t\nT = t.TypeVar('o.Adam', int, list['o.Adam'])": ["o.Adam"],
    "def f(x: t.cast(o, 'o.Adam')): ...": ["o.Adam"],
    "x = frame.cast('o.Adam')": [],
    "x: 'o.' 'Adam'": [],
    "x: '\\x6f.Adam'": [],
    "x: 'see o.Adam'": [],
    "def f(o, x: 'o.Adam'): ...": ["o.Adam"],
    "class A:\n  def o(self): ...\n  def f(self, x: 'o.Adam'): ...": [],
}


@pytest.mark.parametrize("text", QUOTED)
def test_annotations_in_quotes(text: str) -> None:
    names = names_of(f"from flax import optim as o\n{text}\n")
    found = [use for use in names.uses if use.node in names.quoted]
    assert [names.document.source(use.node) for use in found] == QUOTED[text]
    for use in found:
        assert use.name == ADAM
        statement = names.document.statement(use.node)
        assert names.document.statement(names.quoted[use.node]) is statement
