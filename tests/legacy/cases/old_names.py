"""What programs did with names that are gone, as cases that run there and here."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.places import OLD_ENVIRONMENT

# Runs the cases of a module in the old environment.
RUN_NAMES = OLD_ENVIRONMENT / "run_names.py"

Old = Callable[[str], Any]
Case = Callable[[Old], Any]


def look_up(name: str) -> Any:
    """Return what a full name stands for, in the versions that are installed."""
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except AttributeError:
        return importlib.import_module(name)
    except ImportError:
        # What stands for a module, and is none: an attribute of the one above it.
        return (
            importlib.import_module(name) if not attribute else getattr(look_up(module), attribute)
        )


def encode(tree: Any) -> Any:
    """Write a result so that two are equal if dtypes, shapes and bits are."""
    if isinstance(tree, dict):
        return {str(key): encode(value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [type(tree).__name__, *map(encode, tree)]
    if tree is None or isinstance(tree, (bool, int, str)):
        return tree
    if isinstance(tree, type):
        return np.dtype(tree).str
    if isinstance(tree, np.dtype):
        return tree.str
    leaf = np.asarray(tree)
    return [
        type(tree).__module__.partition(".")[0],
        leaf.dtype.str,
        leaf.shape,
        leaf.tobytes().hex(),
    ]


def outcome(case: Case, old: Old) -> Any:
    """Run a case and write its result, or which error it raised."""
    try:
        return encode(case(old))
    except Exception as error:
        return {"raised": type(error).__name__}


def exists(name: str) -> bool:
    """Whether a name is there today."""
    with warnings.catch_warnings():
        # Some warn that they will be gone.
        warnings.simplefilter("ignore")
        try:
            look_up(name)
        except (AttributeError, ImportError):
            return False
        return True
