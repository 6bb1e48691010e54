"""Import every module below one of the arguments, and print what fails, by module, as JSON."""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from pathlib import Path


def main(folder: Path, *names: str) -> None:
    """Print how many modules there are, how many could be imported, and the errors."""
    warnings.simplefilter("ignore")
    found = [each for name in names for each in modules(folder, name)]
    imported = 0
    errors: dict[str, str] = {}
    for name in found:
        try:
            importlib.import_module(name)
            imported += 1
        except Exception as error:
            if not is_of_another(error, names):
                errors[name] = f"{type(error).__name__}: {error}"
    print(json.dumps({"modules": len(found), "imported": imported, "errors": errors}))


def modules(folder: Path, name: str) -> list[str]:
    """Return the modules of a package, without those of its tests."""
    files = sorted((folder / name.replace(".", "/")).rglob("*.py"))
    parts = [file.relative_to(folder).with_suffix("").parts for file in files]
    return [
        ".".join(each[:-1] if each[-1] == "__init__" else each)
        for each in parts
        if not each[-1].endswith("_test") and each[-1] != "__main__"
    ]


def is_of_another(error: Exception, names: tuple[str, ...]) -> bool:
    """Whether what is missing is a package that has nothing to do with this."""
    ours = {"flax", "jax", "jaxlib", "numpy", "optax", *(name.partition(".")[0] for name in names)}
    missing = (getattr(error, "name", None) or "").partition(".")[0]
    return isinstance(error, ModuleNotFoundError) and missing not in ours | {""}


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
