"""Comments that keep findings from being reported."""

from __future__ import annotations

import pytest

from flaxoptim_compat.migrate.program.noqa import Ignored, ignored_lines

COMMENTS = {
    "x = 1  # NOQA": {1: {""}},
    "x = 1  #noqa:foc101,FOC102  FOC151 for a reason": {1: {"FOC101", "FOC102", "FOC151"}},
    "x = 1  # noqa: E501 # noqa": {1: {"E501"}},
    "x = 1  # mine  # noqa : FOC101": {1: {"FOC101"}},
    "x = 1  # noqa: because": {},
    "x = '# noqa'": {},
    '"""\n# noqa\n"""\nx = 1': {},
    "x = (  # noqa\n  1,  # noqa: FOC101\n)  # noqa: FOC102": {
        1: {"", "FOC102"},
        2: {"FOC101", "FOC102"},
        3: {"FOC102"},
    },
    "def f(\n  x\n):  # noqa\n  y": {1: {""}, 2: {""}, 3: {""}},
    "if x:\n  y  # noqa\n  z": {2: {""}},
    'x = """\n\n"""  # noqa': {1: {""}, 2: {""}, 3: {""}},
    "x = 1\n\n\n  # noqa\ny = (\n2)": {4: {""}},
}


@pytest.mark.parametrize("text", COMMENTS)
@pytest.mark.parametrize("end", ["", "\n"])
def test_comments(text: str, end: str) -> None:
    assert ignored_lines(text + end) == COMMENTS[text]


def test_comments_and_settings_together() -> None:
    ignored = Ignored({2: frozenset({"FOC101"})}, frozenset({"FOC151"}))
    codes = ("FOC101", "FOC151", "FOC201")
    assert [code for code in codes if ignored.has(code, 1)] == ["FOC151"]
    assert [code for code in codes if ignored.has(code, 2)] == ["FOC101", "FOC151"]
    assert Ignored({3: frozenset({""})}).has("FOC201", 3)
