"""All rows of the tables, by the module after whose import they apply; jax is not imported."""

from __future__ import annotations

from flaxoptim_compat.legacy.calls import of_flax, of_jax
from flaxoptim_compat.legacy.calls.other_answers import OTHER_ANSWERS, OtherAnswer
from flaxoptim_compat.legacy.calls.row import LostMember, OldCall, module_of

ENTRIES: tuple[OldCall, ...] = (*of_jax.ENTRIES, *of_flax.ENTRIES)
METHODS: tuple[LostMember, ...] = (*of_jax.METHODS, *of_flax.METHODS)

# {module: {name of a function in the module: its row}}
BY_MODULE: dict[str, dict[str, OldCall]] = {}
for _row in ENTRIES:
    for _name in _row.names.split():
        BY_MODULE.setdefault(module_of(_name), {})[_name] = _row

# {module: its functions whose other results can be recognised}
ANSWERS_BY_MODULE: dict[str, list[OtherAnswer]] = {}
for _answer in OTHER_ANSWERS:
    if _answer.told_by:
        ANSWERS_BY_MODULE.setdefault(module_of(_answer.name), []).append(_answer)

# {module: the lost methods of its classes}
LOST_BY_MODULE: dict[str, list[LostMember]] = {}
for _lost in METHODS:
    LOST_BY_MODULE.setdefault(module_of(_lost.old), []).append(_lost)

# The modules that are changed after their import.
MODULES = frozenset({*BY_MODULE, *ANSWERS_BY_MODULE, *LOST_BY_MODULE})
