"""Where the old programs in ``tests/data`` make optimizers, read from their texts.

The command is not asked: an optimizer that it does not see counts as one that stays.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.support.places import DATA

# Folders in tests/data. Each file or folder in them is a program, but for what programs share.
_GROUPS = ("large_programs", "legacy_programs", "wild_programs")
_SHARED = {"__init__.py", "__pycache__", "arrays.py", "genuine.py", "left"}


def programs() -> list[str]:
    """The old programs that are not there to stay, by their paths in ``tests/data``."""
    return [
        f"{group}/{path.name}"
        for group in _GROUPS
        for path in sorted((DATA / group).iterdir())
        if path.name not in _SHARED and (path.suffix == ".py" or path.is_dir())
    ]


def creations(program: Path) -> set[tuple[str, int, int]]:
    """The paths, lines and columns of calls that make an optimizer that stays one.

    Args:
      program: a file, or a folder of files.
    """
    files = sorted(program.rglob("*.py")) if program.is_dir() else [program]
    # The `create` of another file of the program is a function.
    modules = [file.stem for file in files]
    return {(str(file), *place) for file in files for place in _in_text(file.read_text(), modules)}


def _in_text(text: str, modules: Sequence[str]) -> Iterator[tuple[int, int]]:
    tree = ast.parse(text)
    lines = text.splitlines()
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    goes_on = {
        id(call.func.value)
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "to_train_state"
    }
    for call in calls:
        if id(call) not in goes_on and _makes(call.func, modules):
            before = lines[call.lineno - 1].encode()[: call.col_offset].decode()
            yield call.lineno, len(before) + 1


def _makes(called: ast.expr, modules: Sequence[str]) -> bool:
    name = _last_name(called)
    receiver = _last_name(called.value) if isinstance(called, ast.Attribute) else ""
    if receiver in modules:
        return False
    if name == "Optimizer":
        return True
    # Classes have a `create` of their own. A definition is an object.
    is_class = receiver[:1].isupper() or receiver == "cls"
    return name == "create" and isinstance(called, ast.Attribute) and not is_class


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
