"""The pictures of the guide show what this package makes."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.generate import pictures
from tests.support.pages import README
from tests.support.places import GUIDE, ROOT

# In pixels; letters of another font end elsewhere within a word.
BLOCK = 20


# To draw it takes a whole comparison.
@pytest.mark.exhaustive
def test_the_picture_of_a_comparison() -> None:
    (content,) = pictures.files().values()
    shown, committed = (darkness(each) for each in (content, pictures.PARITY.read_bytes()))
    assert shown.shape == committed.shape
    # Fonts and their smoothing differ between machines; a line further down gives 0.6.
    assert np.corrcoef(shown.ravel(), committed.ravel())[0, 1] > 0.9


def test_a_picture_is_small_and_is_shown() -> None:
    files = {path for path in (GUIDE / "pictures").rglob("*") if path.is_file()}
    assert files == {pictures.PARITY}
    assert pictures.PARITY.stat().st_size < 60_000
    assert f"]({pictures.PARITY.relative_to(ROOT)})" in README


def darkness(png: bytes) -> np.ndarray[Any, Any]:
    """How dark each block of a picture is."""
    pixels = 255.0 - np.asarray(Image.open(io.BytesIO(png)).convert("L"), np.float64)
    rows, columns = (size // BLOCK for size in pixels.shape)
    blocks = pixels[: rows * BLOCK, : columns * BLOCK].reshape(rows, BLOCK, columns, BLOCK)
    found: np.ndarray[Any, Any] = blocks.mean((1, 3))
    return found
