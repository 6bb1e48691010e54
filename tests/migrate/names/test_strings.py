"""Names in strings that are no annotations."""

from __future__ import annotations

import pytest

from tests.support.names_in_texts import ADAM, names_of

STRINGS = {
    "flax.optim": ("flax.optim",),
    ADAM: (ADAM,),
    f"{ADAM}.beta1 = 0.9": (ADAM + ".beta1",),
    f"a/{ADAM}.beta1=0.9\ntrain.d = @{ADAM}()": (f"{ADAM}.beta1", ADAM),
    f"train.d = @b/{ADAM}": (ADAM,),
    f"uses {ADAM} here": (),
    "my.flax.optim.Adam": (),
    "flax.optimizers": (),
    "see flax.optim.": (),
}


@pytest.mark.parametrize("text", STRINGS)
def test_names_in_strings(text: str) -> None:
    names = names_of(f"'''{text}'''\nx = {text!r}\n")
    assert [found for _, found in names.strings] == ([STRINGS[text]] if STRINGS[text] else [])


def test_a_string_that_another_cast_takes() -> None:
    names = names_of(f"frame.cast('{ADAM}')\n")
    assert [found for _, found in names.strings] == [(ADAM,)]
