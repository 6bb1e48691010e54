"""Checkpoints that were msgpack files, and are folders of Orbax unless a program says so."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.successors.behaviours import set_once

_SETTING = "flax_use_orbax_checkpointing"
_NAMES = tuple(
    f"flax.training.checkpoints.{name}"
    for name in ("save_checkpoint", "save_checkpoint_multiprocess")
)

RULE = Rule(
    code="FOC162",
    name="msgpack-checkpoints",
    summary=(
        "`flax.training.checkpoints.save_checkpoint`, which writes another format since flax 0.6.11"
    ),
    what=(
        f'Behind the imports comes `flax.config.update("{_SETTING}", False)`, once, and the program'
        " goes on to write msgpack files."
    ),
    why=(
        "Today `save_checkpoint` writes a folder of Orbax, wants an absolute path, and refuses what"
        " the other format took. What `restore_checkpoint` reads does not depend on the setting: it"
        " looks at what it finds."
    ),
    refuses=(
        f"Where the file mentions `{_SETTING}` itself, and where it has no imports at its top."
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
)


def find(reading: Reading) -> Iterator[Finding]:
    """The first call that writes a checkpoint."""
    if _SETTING in reading.document.text:
        return
    for use in reading.names.uses:
        if use.name not in _NAMES or isinstance(use.node, ast.alias):
            continue
        if not reading.allows(RULE.code, use.node):
            continue
        what = f"{use.name}, which writes folders of Orbax since flax 0.6.11"
        yield set_once(reading, RULE.code, use.node, what, _SETTING, False)
        return
