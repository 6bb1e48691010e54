"""Run the cases of a module with the names as they were, and print what comes of them as JSON."""

from __future__ import annotations

import importlib
import json
import sys
import types
import warnings

from tests.support.oracle import old_flax  # noqa: F401 # isort: skip - must precede flax

from tests.support.old_names import look_up, outcome


def main(module: str) -> None:
    """Print the outcomes of the cases, and which names the modules that they are about have."""
    # Some warned about their end already.
    warnings.simplefilter("ignore")
    about = importlib.import_module(module)
    outcomes = {name: outcome(case, look_up) for name, case in about.CASES.items()}
    names = {name: public_names(name) for name in about.MODULES}
    print(json.dumps({"outcomes": outcomes, "names": names}))


def public_names(name: str) -> list[str]:
    """Return the public names of a module, without those of other modules in it."""
    module = importlib.import_module(name)
    # Those that warn are not listed.
    names = {*dir(module), *getattr(module, "_deprecations", ())}
    return sorted(
        name for name in names if not name.startswith("_") and is_own(getattr(module, name))
    )


def is_own(value: object) -> bool:
    """Whether something is neither a module nor from Python's standard library."""
    package = str(getattr(value, "__module__", "")).partition(".")[0]
    return not isinstance(value, types.ModuleType) and package not in sys.stdlib_module_names


if __name__ == "__main__":
    main(sys.argv[1])
