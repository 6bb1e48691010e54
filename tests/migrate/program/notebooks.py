"""Notebooks as files, and the code in their cells."""

from __future__ import annotations

import json
from typing import Any

Sources = str | list[str]


def code(source: Sources) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": 1,
        "metadata": {"tags": ["ä"]},
        "outputs": [{"text": ["flax.optim: jax.tree_map\n"]}],
        "source": source,
    }


def notebook(*sources: Sources, **options: Any) -> bytes:
    cells = [{"cell_type": "markdown", "metadata": {}, "source": ["import flax\n", "# é"]}]
    content = {
        "cells": cells + [code(each) for each in sources],
        "metadata": {"kernelspec": {"language": "python"}},
        "nbformat": 4,
        "nbformat_minor": 2,
    }
    return (json.dumps(content, **{"indent": 1, "ensure_ascii": False, **options}) + "\n").encode()


def sources_of(content: bytes) -> list[Sources]:
    cells = json.loads(content.decode("utf-8-sig"))["cells"]
    return [cell["source"] for cell in cells if cell["cell_type"] == "code"]
