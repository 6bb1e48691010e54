"""Texts without the marks that ``rewrite`` left in them."""

from __future__ import annotations

import re

from flaxoptim_compat.migrate.editing.marks import marks_in


def without_marks(text: str) -> str:
    """A text without its marks and their lines."""
    for mark in reversed([*marks_in(text)]):
        start = text.rindex("\n", 0, mark.start) + 1 if "\n" in text[: mark.start] else 0
        text = text[:start] + text[mark.end :].removeprefix("\n")
    return text


def without_dual(text: str) -> str:
    """A rewritten text as it was before its optimizers became DualTrainStates."""
    text = text.replace("from flaxoptim_compat import dual\n", "")
    text = re.sub(r"\.params\b", ".target", text)
    text = re.sub(r"apply_gradients\((\s*)grads=", r"apply_gradient(\1", text)
    return re.sub(_DUAL, r"\1", text)


_DUAL = r"\bdual\(\s*(optim\.\w+\([^()]*\))(?:,\s*inject=False,?)?\s*\)"
