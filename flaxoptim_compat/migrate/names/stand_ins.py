"""Where a program puts something of its own in the place of flax.optim."""

from __future__ import annotations

import ast

from flaxoptim_compat.migrate.reading import Reading


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
