"""Flags for what a file may mention, from its bytes alone: most files need not be parsed."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from flaxoptim_compat.legacy.lost import ENTRIES
from flaxoptim_compat.legacy.names import of_python
from flaxoptim_compat.legacy.names.gone_for_good import GONE
from flaxoptim_compat.migrate.program.imported_files import modules_in

_MODULES = ("flax", "jax", "jaxlib", "flaxoptim_compat")
# Another file of the program may have imported flax.optim: these words are enough.
_WORDS = (
    *("apply_gradient", "compute_gradient", "param_states", "optimizer_def"),
    *("OptimizerDef", "OptimizerState", "MultiOptimizer", "ModelParamTraversal", "DynamicScale"),
    *("hyper_params", "restore_state"),
)
# What imports may bring. The first is a word of other programs too, and tells nothing by itself.
_OPTIM = ("optim", "flaxoptim_compat")
_MARK = re.compile(rb"# FOC\d{3}: ")
_TARGET = re.compile(rb"\.\s*(?:target|state\s*\.\s*step)\b")
_CHECKPOINTS = ("checkpoints", "serialization", "load_state_dict")
# Entries that only an optimizer has in a checkpoint, and paths through them.
ENTRY = (
    r"""['"](?:[\w/]*/)?(?:target|param_states)(?:/[\w/]*)?['"]"""
    r"""|\[\s*['"]state['"]\s*\]\s*\[\s*['"]step['"]\s*\]"""
)
_ENTRY = re.compile(ENTRY.encode())
# Names of functions that run files which no import names.
RUNS_OTHERS = ("import_module", "__import__", "module_from_spec", "run_path", "run_module")
# In a notebook, lines start with a quotation mark.
_IMPORT = re.compile(
    rb"""^[ \t\f"]*(?:from\b[ \t]*([.\w]+)[ \t]*import\b[ \t]*(\([^)]*\)|(?:[^\n\\#;]|\\\r?\n)*)"""
    rb"""|import[ \t]+([\w., \t]+))""",
    re.MULTILINE,
)
_COMMENT = re.compile(rb"#[^\n]*")
# {module of Python: the names that it lost}
_OF_PYTHON = {
    module: tuple(each.attribute for each in of_python.ENTRIES if each.module == module)
    for module in sorted({each.module for each in of_python.ENTRIES})
}
_NAME = re.compile(rb"([\w.]+)(?:\s+as\s+\w+)?")


class Mentions(NamedTuple):
    """Flags for what a file may have to do with.

    Args:
      optimizers: the file has a word that only programs with optimizers of flax.optim have.
      optim: the file may name flax.optim, or use an optimizer that an import brings.
      checkpoints: the file may write or read checkpoints of flax or clu.
      entries: the file may name entries that only an optimizer has in a checkpoint.
      others: the file may run files that no import names.
      old: the file may use a name or a method that is gone, of optimizers or not.
    """

    optimizers: bool = False
    optim: bool = False
    checkpoints: bool = False
    entries: bool = False
    others: bool = False
    old: bool = False


def mentions_in(source: bytes) -> Mentions:
    """The flags of a file, from a search in its bytes.

    Args:
      source: the content of the file.
    """
    is_theirs = b"flax" in source or has_word(("clu",), source)
    checkpoints = is_theirs and has_word(_CHECKPOINTS, source)
    reads_target = _reads_target(source)
    optim = reads_target or has_word(_OPTIM, source)
    entries = checkpoints and bool(_ENTRY.search(source))
    optimizers = _has_word_of_optimizers(source) or entries or (checkpoints and reads_target)
    old = optimizers or optim or has_word(_MODULES, source)
    old = old or (b"numpy" in source and bool(_numpy_names().search(source)))
    old = old or any(
        module.encode() in source and has_word(names, source)
        for module, names in _OF_PYTHON.items()
    )
    others = has_word(RUNS_OTHERS, source)
    return Mentions(optimizers, optim, checkpoints, entries, others, old)


def has_word(words: tuple[str, ...], source: bytes) -> bool:
    """True if one of these words stands in a text by itself."""
    # Most texts have none of the words, which a plain search sees much faster.
    there = tuple(each for each in words if each.encode() in source)
    return bool(there) and bool(_pattern(there).search(source))


@functools.lru_cache
def _pattern(words: tuple[str, ...]) -> re.Pattern[bytes]:
    return re.compile(rb"\b(?:" + "|".join(words).encode() + rb")\b")


def may_use_optimizers(text: str) -> bool:
    """True if a file may make or use optimizers or their checkpoints, or run other files.

    Args:
      text: the content of the file.
    """
    source = text.encode(errors="replace")
    return (
        _has_word_of_optimizers(source)
        or has_word(_OPTIM, source)
        or _reads_target(source)
        or b".create(" in source
        or has_word(RUNS_OTHERS, source)
        or bool(_ENTRY.search(source))
    )


def _has_word_of_optimizers(source: bytes) -> bool:
    """True if a text has a name that only flax.optim has, or a mark of an earlier rewrite."""
    return has_word(_WORDS, source) or bool(_MARK.search(source))


def _reads_target(source: bytes) -> bool:
    """True if a text speaks of an optimizer and reads an attribute that optimizers have."""
    return b"optim" in source.lower() and bool(_TARGET.search(source))


def mentions_in_gin(source: bytes) -> bool:
    """True if a file of gin may name something of flax.optim.

    Args:
      source: the content of the file.
    """
    return b"optim" in source and has_word(_MODULES, source)


def imports_in(source: bytes) -> frozenset[str]:
    """The names in the import statements of a file that may be modules, as far as lines tell.

    Args:
      source: the content of a file, which is not parsed.
    """
    names: set[str] = set()
    for origin, inside, plain in _IMPORT.findall(source):
        firsts = _NAME.findall(_COMMENT.sub(b"", inside or plain))
        imported = (each.decode("latin-1") for each in firsts)
        names.update(modules_in(origin.decode("latin-1"), imported))
    return frozenset(names)


@functools.cache
def _numpy_names() -> re.Pattern[bytes]:
    gone = (*(each.name for each in ENTRIES), *GONE)
    names = {name.rpartition(".")[2] for name in gone if name.startswith("numpy.")}
    inside = "|".join(sorted(names))
    text = rf"\.\s*(?:{inside})\b|\bfrom\s+numpy\b|\bimport_module\b|\bgetattr\b"
    return re.compile(text.encode())
