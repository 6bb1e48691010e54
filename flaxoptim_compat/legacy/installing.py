"""Makes ``flax.optim`` and other lost names importable, and undoes this again."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import TYPE_CHECKING

from flaxoptim_compat import deprecation
from flaxoptim_compat.legacy import alias, attributes, lost
from flaxoptim_compat.legacy.entry import Registry, object_at
from flaxoptim_compat.legacy.finders import LastResort, Watch, find_elsewhere
from flaxoptim_compat.legacy.names import gone_for_good, of_flax

if TYPE_CHECKING:
    from typing import Literal

# The environment variable that is "then" for a program with the random numbers before jax 0.5.
RANDOM = "FLAXOPTIM_COMPAT_RANDOM"

_registry = Registry()
_lock = threading.RLock()
# {install() itself, or a block of installed(): the parts that it asks for}
_wishes: dict[object, frozenset[str]] = {}
_INSTALL = "install()"
_OPTIM, _ERA, _THEN = "optim", "era", "then"
_ENTRIES = {_OPTIM: of_flax.OPTIM, _ERA: lost.ENTRIES, _THEN: ()}
# The functions that are called for a part once jax is imported.
_OF_JAX = {
    _OPTIM: "flaxoptim_compat.legacy.random_numbers:notice_keys",
    _THEN: "flaxoptim_compat.legacy.random_numbers:give_those_of_then",
}
# All modules, whichever parts are in force: another thread may install more during an import.
_WATCHED = (lost.MODULES | gone_for_good.MODULES).union(
    entry.module for rows in _ENTRIES.values() for entry in rows
)
_in_force: set[str] = set()
# {(part, module): the stack that undoes the behaviours switched on after the module's import}
_undo_behaviours: dict[tuple[str, str], ExitStack] = {}


def install(era: bool = False, random: Literal["then"] | None = None) -> None:
    """Make ``flax.optim`` importable, for the rest of the program or until ``uninstall()``.

    Afterwards ``import flax.optim``, ``from flax import optim``, ``from flax.optim.adam import
    Adam`` and, after ``import flax``, ``flax.optim.Adam`` work. Calling it again changes nothing.

    Args:
      era: whether to serve the other names that jax, flax and numpy have dropped since, such as
        ``jax.tree_map``, and to switch on Linen's FrozenDicts and msgpack checkpoints again.
      random: ``"then"`` for the random numbers that a seed gave before jax 0.5, unless the
        environment variable ``JAX_THREEFRY_PARTITIONABLE`` is set, and until the program sets
        ``jax_threefry_partitionable`` itself. If None, the environment variable
        ``FLAXOPTIM_COMPAT_RANDOM`` may say ``then``; otherwise the numbers are today's.

    Raises:
      RuntimeError: there is a ``flax.optim`` already.
      ValueError: ``random`` has another value.
    """
    _wish(_INSTALL, era, random)


def uninstall() -> None:
    """Undo ``install()`` and all blocks of ``installed()``; without these, do nothing."""
    with _lock:
        _wishes.clear()
        _follow_wishes()


@contextmanager
def installed(era: bool = False, random: Literal["then"] | None = None) -> Iterator[None]:
    """Do ``install()`` for a block; anything that was installed before stays.

    The arguments and the errors are those of ``install()``.
    """
    block = object()
    _wish(block, era, random)
    try:
        yield
    finally:
        with _lock:
            _wishes.pop(block, None)
            _follow_wishes()


def existing_flax_optim() -> str | None:
    """The place of a ``flax.optim`` that this package does not serve; None if there is none."""
    loaded = sys.modules.get("flax.optim")
    if isinstance(loaded, alias.Alias):
        return None
    if loaded is not None:
        return str(getattr(loaded, "__file__", None) or loaded)
    if "flax" in sys.modules:
        locations = getattr(sys.modules["flax"], "__path__", None)
    else:
        locations = getattr(find_elsewhere("flax"), "submodule_search_locations", None)
    spec = find_elsewhere("flax.optim", list(locations)) if locations else None
    return None if spec is None else str(spec.origin)


def _wish(caller: object, era: bool, random: str | None) -> None:
    parts = _parts(era, random)
    with _lock:
        existing = existing_flax_optim()
        if existing is not None:
            raise RuntimeError(
                f"There is a flax.optim already, {existing}, which install() does not replace."
                " Leave install() out, or upgrade flax to 0.12 or newer."
            )
        _wishes[caller] = _wishes.get(caller, frozenset()) | parts
        _follow_wishes()
    # Modules that were imported before the finders were in place; packages before their modules.
    for name in ("numpy", "jax", "flax", *sorted(_WATCHED)):
        if sys.modules.get(name) is not None:
            # Another thread may be importing the module: import_module waits for its end.
            _after_import(importlib.import_module(name))


def _parts(era: bool, random: str | None) -> frozenset[str]:
    numbers = random or os.environ.get(RANDOM) or None
    if numbers not in (None, _THEN):
        setting = RANDOM if random is None else "random"
        raise ValueError(f"{setting} is {numbers!r}. Set it to 'then', or leave it out.")
    return frozenset({_OPTIM, *([_ERA] if era else ()), *([_THEN] if numbers else ())})


def _follow_wishes() -> None:
    wanted = {part for parts in _wishes.values() for part in parts}
    for part in _in_force - wanted:
        _withdraw(part)
    for part in wanted - _in_force:
        _registry.add(_ENTRIES[part])
        _in_force.add(part)
    if wanted and watch not in sys.meta_path:
        sys.meta_path.insert(0, watch)
        sys.meta_path.append(_last_resort)
    deprecation.program_is_unedited = bool(wanted)


def _after_import(module: ModuleType) -> None:
    """Give a module its lost names and behaviours.

    This takes no lock, because it runs inside imports, in any thread.
    """
    name = module.__name__
    says_what_is_gone = _ERA in _in_force and name in gone_for_good.MODULES
    if name in _registry.attributes or says_what_is_gone:
        attributes.attach(module, _registry)
        attributes.load_shadowed(module, _registry)
    for part in tuple(_in_force):
        undo = ExitStack()
        # If several threads come here at once, one of them switches the behaviours on.
        if _undo_behaviours.setdefault((part, name), undo) is undo:
            if part == _ERA:
                lost.switch_on(name, undo)
            elif name == "jax":
                object_at(_OF_JAX[part])(undo)


def _withdraw(part: str) -> None:
    _in_force.discard(part)
    # In reverse order, because a function may have been replaced twice.
    for key in reversed(list(_undo_behaviours)):
        if key[0] == part:
            _undo_behaviours.pop(key).close()
    entries = _ENTRIES[part]
    _registry.remove(entries)
    # Modules before their packages.
    for entry in sorted(entries, key=lambda entry: entry.name, reverse=True):
        alias.remove(entry.name)
    modules = {entry.module for entry in entries}
    if part == _ERA:
        modules |= gone_for_good.MODULES
    for name in modules - _registry.attributes.keys():
        if name in sys.modules:
            attributes.detach(sys.modules[name])
    if not _in_force:
        sys.meta_path[:] = [
            finder for finder in sys.meta_path if finder not in (watch, _last_resort)
        ]


watch = Watch(_registry, _WATCHED, _after_import)
_last_resort = LastResort(_registry)
