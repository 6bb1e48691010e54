"""Making ``flax.optim``, and what else is gone, importable; and undoing that."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING

from flaxoptim_compat import deprecation
from flaxoptim_compat.legacy import alias, attributes, lost
from flaxoptim_compat.legacy.entry import Registry, object_at
from flaxoptim_compat.legacy.finders import LastResort, Watch, find_elsewhere
from flaxoptim_compat.legacy.names import gone_for_good, of_flax_optim

if TYPE_CHECKING:
    from typing import Literal

# Set to "then" by whoever starts a program that is to have the random numbers of before jax 0.5.
RANDOM = "FLAXOPTIM_COMPAT_RANDOM"

_registry = Registry()
_lock = threading.RLock()
# Who asks for what: {install() itself or a block of installed(): the parts that it wants}
_wishes: dict[object, frozenset[str]] = {}
_INSTALL = "install()"
_OPTIM, _ERA, _THEN = "optim", "era", "then"
_ENTRIES = {_OPTIM: of_flax_optim.ENTRIES, _ERA: lost.ENTRIES, _THEN: ()}
# What else is switched on of jax.
_OF_JAX = {
    _OPTIM: "flaxoptim_compat.legacy.random_numbers:notice_keys",
    _THEN: "flaxoptim_compat.legacy.random_numbers:give_those_of_then",
}
# Whatever is in force: who installs more while another thread imports must reach that module too.
_WATCHED = (lost.MODULES | gone_for_good.MODULES).union(
    entry.module for rows in _ENTRIES.values() for entry in rows
)
_in_force: set[str] = set()
# By the part, and by the module whose import they waited for.
_undo_behaviours: dict[tuple[str, str], list[Callable[[], None]]] = {}


def install(era: bool = False, random: Literal["then"] | None = None) -> None:
    """Make ``flax.optim`` importable, for the rest of the program or until ``uninstall()``.

    Afterwards ``import flax.optim``, ``from flax import optim``, ``from flax.optim.adam import
    Adam`` and, after ``import flax``, ``flax.optim.Adam`` work. Calling it again changes nothing.

    Args:
      era: whether to serve the other names that jax, flax and numpy have dropped since, such as
        ``jax.tree_map``, and to switch Linen's FrozenDicts and msgpack checkpoints on again.
      random: ``"then"`` for the random numbers that a seed gave before jax 0.5, unless the
        environment variable ``JAX_THREEFRY_PARTITIONABLE`` is set, and until the program sets
        ``jax_threefry_partitionable`` itself. If None, the environment variable
        ``FLAXOPTIM_COMPAT_RANDOM`` may say ``then``; else they are today's.

    Raises:
      RuntimeError: there is a ``flax.optim`` already.
      ValueError: ``random`` is something else.
    """
    with _lock:
        _wish(_INSTALL, _wishes.get(_INSTALL, frozenset()) | _parts(era, random))
    _reach_loaded_modules()


def uninstall() -> None:
    """Undo ``install()``, in blocks of ``installed()`` too; nothing if it was not called."""
    with _lock:
        _wishes.clear()
        _follow_wishes()


@contextmanager
def installed(era: bool = False, random: Literal["then"] | None = None) -> Iterator[None]:
    """``install()`` for a block; what was installed before it stays.

    Args:
      era: as for ``install()``.
      random: as for ``install()``.

    Raises:
      RuntimeError: there is a ``flax.optim`` already.
      ValueError: ``random`` is something else.
    """
    block = object()
    with _lock:
        _wish(block, _parts(era, random))
    _reach_loaded_modules()
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


def _refuse_existing() -> None:
    existing = existing_flax_optim()
    if existing is not None:
        raise RuntimeError(
            f"There is a flax.optim already, {existing}, and install() does not replace it."
            " Leave install() out, or upgrade flax to 0.12 or newer."
        )


def _reach_loaded_modules() -> None:
    """Give the modules that were imported before the finders were in place their lost names."""
    # Packages before what is in them.
    for name in ("numpy", "jax", "flax", *sorted(_WATCHED)):
        if sys.modules.get(name) is not None:
            # Another thread may be in the middle of it; this waits for it.
            _after_import(importlib.import_module(name))


def _parts(era: bool, random: str | None) -> frozenset[str]:
    asked = random or os.environ.get(RANDOM) or None
    if asked not in (None, _THEN):
        where = RANDOM if random is None else "random"
        raise ValueError(f"{where} is {asked!r}. Set it to 'then', or leave it out.")
    return frozenset({_OPTIM, *([_ERA] if era else ()), *([_THEN] if asked else ())})


def _wish(who: object, parts: frozenset[str]) -> None:
    _refuse_existing()
    _wishes[who] = parts
    _follow_wishes()


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
    """Give a module what it lost. Takes no lock: it runs inside imports, of any thread."""
    name = module.__name__
    says_what_is_gone = _ERA in _in_force and name in gone_for_good.MODULES
    if name in _registry.attributes or says_what_is_gone:
        attributes.attach(module, _registry)
        attributes.load_shadowed(module, _registry)
    for part in tuple(_in_force):
        undo: list[Callable[[], None]] = []
        # Of threads that come here at once, one switches the behaviours on.
        if _undo_behaviours.setdefault((part, name), undo) is undo:
            undo.extend(_switch_on(part, name))


def _switch_on(part: str, module: str) -> list[Callable[[], None]]:
    if part == _ERA:
        return lost.switch_on(module)
    return [object_at(_OF_JAX[part])()] if module == "jax" else []


def _withdraw(part: str) -> None:
    _in_force.discard(part)
    groups = [_undo_behaviours.pop(key) for key in list(_undo_behaviours) if key[0] == part]
    # Functions that were replaced twice get their places back in the other order.
    for undo in reversed([undo for group in groups for undo in group]):
        undo()
    entries = _ENTRIES[part]
    _registry.remove(entries)
    # Modules before the packages that they are in.
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
