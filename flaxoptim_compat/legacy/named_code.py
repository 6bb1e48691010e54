"""Runs the code that a user names on the command line, with the lost names served."""

from __future__ import annotations

import contextlib
import difflib
import functools
import importlib
import importlib.util
import os
import sys
import traceback
import warnings
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from flaxoptim_compat.deprecation import FlaxOptimDeprecationWarning
from flaxoptim_compat.legacy.installing import existing_flax_optim, installed
from flaxoptim_compat.legacy.usage import is_in_a_library

if TYPE_CHECKING:
    from typing import Self

_OF_PACKAGES = tuple(f"{os.sep}{folder}{os.sep}" for folder in ("site-packages", "dist-packages"))


class NamedCode:
    """A block in which code of the user's is imported and run.

    The current directory is searched first. ``flax.optim`` and the other lost names are served,
    without deprecation warnings, unless there is a real ``flax.optim``.
    """

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._folders: list[str] = []
        self._files: dict[Path, ModuleType] = {}
        self._loaded_before: frozenset[str] = frozenset()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            if existing_flax_optim() is None:
                stack.enter_context(installed(era=True))
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore", FlaxOptimDeprecationWarning)
            stack.callback(lambda: self._leave_folders(*self._folders))
            self._loaded_before = frozenset(sys.modules)
            self._enter_folder(os.getcwd())
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def of_module(self, module: str, name: str) -> Any:
        """The object with a name in a module; both names may have dots."""
        self._enter_folder(os.getcwd())
        return _attribute(importlib.import_module(module), name)

    def of_file(self, path: Path, name: str) -> Any:
        """The object with a name in a file, which runs like a script with another ``__name__``.

        Raises:
          FileNotFoundError: there is no such file.
        """
        path = path.resolve()
        if path not in self._files:
            self._files[path] = self._run(path)
        return _attribute(self._files[path], name)

    def _run(self, path: Path) -> ModuleType:
        self._enter_folder(str(path.parent))
        # No other file can import this module by its name, as with the __main__ of a script. Dots
        # in the name would make the module a part of a package.
        name = f"{path.stem} in {path.parent}".replace(".", "_")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        return module

    def _enter_folder(self, folder: str) -> None:
        # An old and a new program are often two folders with files of the same names. A module of
        # one folder must not be taken for that of the other.
        for name in set(sys.modules) - self._loaded_before:
            here = Path(folder, name.partition(".")[0])
            file = Path(getattr(sys.modules[name], "__file__", None) or "nowhere")
            is_elsewhere = any(file.is_relative_to(other) for other in self._folders)
            is_here = file == here.with_suffix(".py") or file.is_relative_to(here)
            exists_here = here.is_dir() or here.with_suffix(".py").exists()
            if is_elsewhere and not is_here and exists_here:
                del sys.modules[name]
        self._leave_folders(folder)
        self._folders.append(folder)
        sys.path.insert(0, folder)
        # Files may be newer than Python's caches of the folders.
        importlib.invalidate_caches()

    def _leave_folders(self, *folders: str) -> None:
        for folder in set(folders).intersection(self._folders):
            self._folders.remove(folder)
            with contextlib.suppress(ValueError):  # the program may have removed the folder
                sys.path.remove(folder)


def _attribute(module: ModuleType, name: str) -> Any:
    return functools.reduce(getattr, name.split("."), module)


def failure(error: BaseException) -> str:
    """An error in words, with the line of the user's code that raised the error."""
    place, text = place_of(error), str(error)
    if isinstance(error, AttributeError) and error.name:
        near = difflib.get_close_matches(error.name, dir(error.obj), 3)
        text += f". Did you mean {' or '.join(map(repr, near))}?" if near else ""
    return f"{type(error).__name__}{f' at {place}' if place else ''}: {text}"


def place_of(error: BaseException | None) -> str:
    """The file and line of the user's code that raised an error or its cause; empty without one."""
    while error is not None:
        frames = traceback.extract_tb(error.__traceback__)
        of_user = [frame for frame in frames if _is_of_user(frame.filename)]
        if of_user:
            return f"{of_user[-1].filename}:{of_user[-1].lineno}"
        error = error.__cause__
    return ""


def _is_of_user(filename: str) -> bool:
    return (
        os.path.isabs(filename)
        and not is_in_a_library(filename)
        and not any(folder in filename for folder in _OF_PACKAGES)
    )
