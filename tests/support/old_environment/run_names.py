"""Run the cases of a module with the names as they were, and print what comes of them as JSON."""

from __future__ import annotations

import importlib
import json
import sys
import types
import typing
import warnings

from tests.support.oracle import old_flax  # noqa: F401 # isort: skip - must precede flax

from tests.legacy.cases.old_names import look_up, outcome


def main(module: str) -> None:
    """Print the outcomes of the cases, and which names the modules that they are about have."""
    # Some warned about their end already.
    warnings.simplefilter("ignore")
    about = importlib.import_module(module)
    outcomes = {name: outcome(case, look_up) for name, case in about.CASES.items()}
    names = {name: public_names(name) for name in getattr(about, "MODULES", ())}
    print(json.dumps({"outcomes": outcomes, "names": names}))


def public_names(name: str) -> list[str]:
    """Return the public names of a module, without what it had only imported for itself."""
    module = importlib.import_module(name)
    # Those that warn are not listed.
    names = {*dir(module), *getattr(module, "_deprecations", ())}
    return sorted(
        each
        for each in names
        if not each.startswith("_") and is_own(f"{name}.{each}", getattr(module, each))
    )


def is_own(name: str, value: object) -> bool:
    """Whether a name is neither another module's, nor one that Python has, nor a type variable."""
    if isinstance(value, types.ModuleType):
        return value.__name__ == name
    home = str(getattr(value, "__module__", ""))
    if home.partition(".")[0] not in {*sys.stdlib_module_names, "typing_extensions"}:
        return not isinstance(value, typing.TypeVar)
    # An object of one of Python's classes has the module of the class: what partial made, a union.
    found = vars(sys.modules[home])
    return name.rpartition(".")[2] not in found and not (
        home == "builtins" and value in found.values()
    )


if __name__ == "__main__":
    main(sys.argv[1])
