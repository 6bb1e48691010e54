"""All rows, by the module whose import they wait for; jax itself is not imported."""

from __future__ import annotations

from flaxoptim_compat.legacy.calls import of_flax, of_jax
from flaxoptim_compat.legacy.calls.other_answers import OTHER_ANSWERS, OtherAnswer
from flaxoptim_compat.legacy.calls.row import Lost, OldCall, module_of

ENTRIES: tuple[OldCall, ...] = (*of_jax.ENTRIES, *of_flax.ENTRIES)
METHODS: tuple[Lost, ...] = (*of_jax.METHODS, *of_flax.METHODS)
ALL_ARRAYS = of_jax.ALL_ARRAYS

# {module: the names in it that are served, each with its row}
BY_MODULE: dict[str, dict[str, OldCall]] = {}
for _row in ENTRIES:
    for _name in _row.names.split():
        BY_MODULE.setdefault(module_of(_name), {})[_name] = _row

# {module: the functions in it that can be told to answer otherwise}
ANSWERS_BY_MODULE: dict[str, list[OtherAnswer]] = {}
for _answer in OTHER_ANSWERS:
    if _answer.told_by:
        ANSWERS_BY_MODULE.setdefault(module_of(_answer.name), []).append(_answer)

# {module: what its classes have lost}
LOST_BY_MODULE: dict[str, list[Lost]] = {}
for _lost in METHODS:
    LOST_BY_MODULE.setdefault(module_of(_lost.old), []).append(_lost)

# The modules that something is done to when they are imported.
MODULES = frozenset({*BY_MODULE, *ANSWERS_BY_MODULE, *LOST_BY_MODULE})
