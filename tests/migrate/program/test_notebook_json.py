"""The JSON of notebooks: what is none, and what is one though it looks odd."""

from __future__ import annotations

import pytest

from flaxoptim_compat.migrate.program.notebooks import Notebook
from flaxoptim_compat.migrate.program.source_text import Unreadable


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "it is not JSON"),
        (b"{", "it is not JSON"),
        (b'{"cells": "x"}', "no notebook of format 4"),
        (b'{"worksheets": [{"cells": []}], "nbformat": 3}', "no notebook of format 4"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"cells": [{"cell_type": "code", "source": 1}]}', "cell 1 has a source that is no text"),
        (b'{"cells": [{"cell_type": "code", "source": [1]}]}', "cell 1 has a source"),
        (b'{"cells": [], "metadata": {"language_info": {"name": "julia"}}}', "language is julia"),
        (b'{"cells": "\xe9"}', "byte 0xe9 is not UTF-8"),
    ],
)
def test_what_is_no_notebook(content: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        Notebook(content)


def test_odd_but_legal_json() -> None:
    content = (
        b'\n{"cells"\t:[ {"source" :"x = 1" , "cell_type":"code"},{"cell_type":"code",'
        b'"source":[ ]},{}, 5 ],"cells":[{"cell_type":"code","source":["y\\u0020= 1\\n" ,"z"]}]} '
    )
    found = Notebook(content)
    assert found.text == "y = 1\nz\n"
    assert found.encoded("y = 1\nw\n") == content.replace(b'"z"', b'"w"')
