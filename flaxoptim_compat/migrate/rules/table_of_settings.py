"""FOC162 and FOC165: what flax does otherwise today, unless a setting of it says so."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Change, Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.editing.import_statements import gap_after_imports
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule

_ORBAX = "flax_use_orbax_checkpointing"
_FROZEN = "flax_return_frozendict"

RULES = (
    Rule(
        code="FOC162",
        name="msgpack-checkpoints",
        summary=(
            "`flax.training.checkpoints.save_checkpoint`, which writes another format since"
            " flax 0.6.11"
        ),
        what=(
            f'Behind the imports comes `flax.config.update("{_ORBAX}", False)`, once, and the'
            " program goes on to write msgpack files."
        ),
        why=(
            "Today `save_checkpoint` writes a folder of Orbax, wants an absolute path, and refuses"
            " what the other format took. What `restore_checkpoint` reads does not depend on the"
            " setting: it looks at what it finds."
        ),
        refuses=(
            f"Where the file mentions `{_ORBAX}` itself, and where it has no imports at its top."
        ),
        examples=(
            Example(
                before=(
                    "import flax\nfrom flax.training import checkpoints\n\n\n"
                    "def save(state, step):\n    checkpoints.save_checkpoint('work', state, step)\n"
                ),
                shim=(
                    "import flax\nfrom flax.training import checkpoints\n\n"
                    "flax.config.update('flax_use_orbax_checkpointing', False)\n\n\n"
                    "def save(state, step):\n    checkpoints.save_checkpoint('work', state, step)\n"
                ),
            ),
        ),
    ),
    Rule(
        code="FOC165",
        name="frozen-variables",
        summary="`freeze` or `FrozenDict` in a file that uses optimizers of `flax.optim`",
        what=(
            f'Behind the imports comes `flax.config.update("{_FROZEN}", True)`: `init` and `apply`'
            " return FrozenDicts again."
        ),
        why=(
            "Since Flax 0.7.1 they return plain dicts. jax takes a FrozenDict and a dict for two"
            " different trees, so that a tree that the program froze itself fits no tree of `init`"
            " any more, and `isinstance(x, FrozenDict)` is false. The setting is one of today's"
            " Flax. Take the line out once the program does without FrozenDicts."
        ),
        refuses=(
            f"Where the file mentions `{_FROZEN}` itself, and where it has no imports at its top."
        ),
        examples=(
            Example(
                before=(
                    "import flax\nfrom flax import optim\n\n\ndef optimizer(params):\n"
                    "    return optim.Adam(1e-3).create(flax.core.freeze(params))\n"
                ),
                shim=(
                    "import flax\nfrom flaxoptim_compat import optim\n\n"
                    'flax.config.update("flax_return_frozendict", True)\n\n\n'
                    "def optimizer(params):\n"
                    "    return optim.Adam(1e-3).create(flax.core.freeze(params))\n"
                ),
            ),
        ),
    ),
)
# The setting that each of them writes, and its value.
_SETTINGS = {"FOC162": (_ORBAX, False), "FOC165": (_FROZEN, True)}
_SAVING = tuple(
    f"flax.training.checkpoints.{name}"
    for name in ("save_checkpoint", "save_checkpoint_multiprocess")
)
_FREEZING = frozenset(
    f"flax.core.{module}{name}"
    for module in ("", "frozen_dict.")
    for name in ("FrozenDict", "freeze")
)


def find(code: str, reading: Reading) -> Iterator[Finding]:
    """The first place that needs a setting, unless the file mentions that itself."""
    setting, value = _SETTINGS[code]
    if setting in reading.document.text:
        return
    needs = _saves if code == "FOC162" else _freezes
    for node, what in needs(reading):
        if reading.allows(code, node):
            yield _set_once(reading, code, node, what, f'config.update("{setting}", {value})')
            return


def _saves(reading: Reading) -> Iterator[tuple[ast.expr, str]]:
    """The calls that write a checkpoint, and what each is."""
    for use in reading.names.uses:
        if use.name in _SAVING and not isinstance(use.node, ast.alias):
            yield use.node, f"{use.name}, which writes folders of Orbax since flax 0.6.11"


def _freezes(reading: Reading) -> Iterator[tuple[ast.expr, str]]:
    """The places that freeze a tree, or ask whether one is frozen, and what each is."""
    if not _has_to_do_with_optimizers(reading):
        return  # it may be newer, and have dicts in mind
    for use in reading.names.uses:
        if use.name not in _FREEZING or isinstance(use.node, ast.alias):
            continue
        if isinstance(reading.document.parents[use.node], ast.Call):
            what = f"{use.name} in a program for which init and apply returned FrozenDicts"
            yield use.node, what


def _has_to_do_with_optimizers(reading: Reading) -> bool:
    """Whether a file names flax.optim, or does something with an optimizer of another file."""
    if any(f"{use.name}.".startswith("flax.optim.") for use in reading.names.uses):
        return True
    facts = reading.facts
    if facts is None:
        return False
    # What is done to an optimizer: a field, an update, and another target.
    codes = ("FOC203", "FOC205", "FOC207")
    return any(next(facts.of(code, reading.document), None) is not None for code in codes)


def _set_once(reading: Reading, code: str, node: ast.expr, what: str, call: str) -> Finding:
    """Call something of flax behind the imports."""
    start, end = reading.document.span(node)
    instead = f"flax.{call}"
    gap = gap_after_imports(reading.document)
    if gap is None:
        reason = f"{what}: call {instead} first"
        return Finding(code, start, end, what, instead, None, None, reason=reason)

    def edits(imports: ImportPlan) -> tuple[Edit, ...]:
        config = imports.name_of("flax:config", gap.following)
        return gap.edits(f"{config}{call.removeprefix('config')}")

    return Finding(code, start, end, what, instead, Change(edits), Change(edits))
