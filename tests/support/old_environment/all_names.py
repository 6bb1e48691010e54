"""Print the public names of all modules of jax 0.4.13 and flax 0.5.3, by module, as JSON."""

from __future__ import annotations

import importlib
import json
import pkgutil
import warnings
from collections.abc import Iterator

from tests.support.oracle import old_flax  # noqa: F401 # isort: skip - must precede flax

from tests.support.old_environment.record_signatures import put_what_flax_imports
from tests.support.old_environment.run_names import public_names

# They are written with TensorFlow; and flax.optim has a table of its own.
_LEFT_OUT = ("jax.collect_profile", "jax.experimental.jax2tf", "jax.tools.jax_to_ir", "flax.optim")


def main() -> None:
    """Print them."""
    # Some warned about their end already.
    warnings.simplefilter("ignore")
    put_what_flax_imports()
    names = {name: public_names(name) for top in ("jax", "flax") for name in modules(top)}
    print(json.dumps(names))


def modules(name: str) -> Iterator[str]:
    """A module and those in it, of the ones that can be imported."""
    if name in _LEFT_OUT:
        return
    try:
        module = importlib.import_module(name)
    except ImportError:
        return
    yield name
    for found in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if not found.name.startswith("_"):
            yield from modules(f"{name}.{found.name}")


if __name__ == "__main__":
    main()
