"""FOC162 and FOC165: old behaviour of flax that a setting brings back."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.editing.import_statements import gap_after_imports
from flaxoptim_compat.migrate.optimizers.found_place import FoundPlace
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Rule

RULES = (
    Rule("FOC162", "msgpack-checkpoints"),
    Rule("FOC165", "frozen-variables"),
)
# The setting that each rule writes, its value, and the comment above it.
_SETTINGS = {
    "FOC162": (
        "flax_use_orbax_checkpointing",
        False,
        "Checkpoints stay msgpack files, as they were before Flax 0.6.11.",
    ),
    "FOC165": (
        "flax_return_frozendict",
        True,
        "init and apply return FrozenDicts, as they did before Flax 0.7.",
    ),
}
_SAVING = tuple(
    f"flax.training.checkpoints.{name}"
    for name in ("save_checkpoint", "save_checkpoint_multiprocess")
)
_FREEZING = frozenset(
    f"flax.core.{module}{name}"
    for module in ("", "frozen_dict.")
    for name in ("FrozenDict", "freeze")
)


def find(code: str, reading: Reading) -> Iterator[FoundPlace]:
    """The first place that needs the setting of a rule, unless the file names the setting."""
    setting, value, why = _SETTINGS[code]
    if setting in reading.document.text:
        return
    needs = _saves if code == "FOC162" else _freezes
    for node, what in needs(reading):
        if reading.allows(code, node):
            yield _set_once(reading, node, what, f'config.update("{setting}", {value})', why)
            return


def _saves(reading: Reading) -> Iterator[tuple[ast.expr, str]]:
    """The calls that write a checkpoint, each with its name in a sentence."""
    for use in reading.names.uses:
        if use.name in _SAVING and not isinstance(use.node, ast.alias):
            yield use.node, f"{use.name}, which writes folders of Orbax since flax 0.6.11"


def _freezes(reading: Reading) -> Iterator[tuple[ast.expr, str]]:
    """The calls that freeze a tree or test for it, each with its name in a sentence."""
    if not _has_to_do_with_optimizers(reading):
        return  # the file may be newer, and written for dicts
    for use in reading.names.uses:
        if use.name not in _FREEZING or isinstance(use.node, ast.alias):
            continue
        if isinstance(reading.document.parents[use.node], ast.Call):
            what = f"{use.name} in a program for which init and apply returned FrozenDicts"
            yield use.node, what


def _has_to_do_with_optimizers(reading: Reading) -> bool:
    """True if a file names flax.optim, or does something with an optimizer of another file."""
    if any(f"{use.name}.".startswith("flax.optim.") for use in reading.names.uses):
        return True
    facts = reading.facts
    if facts is None:
        return False
    # The rules about a field, a step, and another target of an optimizer.
    codes = ("FOC203", "FOC205", "FOC207")
    return any(next(facts.of(code, reading.document), None) is not None for code in codes)


def _set_once(reading: Reading, node: ast.expr, what: str, call: str, why: str) -> FoundPlace:
    """The place that needs a setting, with a call of the setting behind the imports."""
    gap = gap_after_imports(reading.document)
    if gap is None:
        return FoundPlace(node, what, f"flax.{call}", reason=f"{what}: call flax.{call} first")

    def edits(imports: ImportPlan) -> tuple[Edit, ...]:
        config = imports.name_of("flax:config", gap.following)
        return gap.edits(why, f"{config}{call.removeprefix('config')}")

    return FoundPlace(node, what, f"flax.{call}", edits)
