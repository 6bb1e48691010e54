"""How modules are imported by habit, and which are there once their package is."""

from __future__ import annotations

from typing import NamedTuple

# Modules that importing the package alone makes available, in every version that may be installed.
_COME_ALONG = {
    "jax": (
        *("api_util", "custom_batching", "custom_derivatives", "debug", "distributed", "dlpack"),
        *("dtypes", "errors", "image", "lax", "monitoring", "nn", "numpy", "ops", "profiler"),
        *("random", "scipy", "sharding", "stages", "tree", "tree_util", "typing"),
    ),
    "flax": ("core", "jax_utils", "linen", "serialization", "struct", "traverse_util"),
}
# Of these packages, `from package import module` is what people write.
_TAKEN_APART = frozenset(["flax", "flaxoptim_compat"])
_HABITS = {"jax.numpy": "jnp", "numpy": "np", "flax.linen": "nn"}


class Import(NamedTuple):
    """An import to be written, and how what is wanted is reached by it.

    Args:
      module: what comes after ``from``; "" for a plain import.
      name: what comes after ``import``.
      bound: the name that it gets in the file.
      path: the attributes to look up on it.
    """

    module: str
    name: str
    bound: str
    path: str = ""

    @property
    def text(self) -> str:
        """The source of the import statement."""
        renamed = "" if self.bound == self.name else f" as {self.bound}"
        start = f"from {self.module} import " if self.module else "import "
        return f"{start}{self.name}{renamed}"

    @property
    def sort_key(self) -> tuple[bool, str, str]:
        """Where isort would put it among others."""
        return bool(self.module), self.module or self.name, self.name


class Source(NamedTuple):
    """What an import brings.

    Args:
      module: what comes after ``from``; "" for a plain import.
      name: what comes after ``import``.
    """

    module: str
    name: str

    @property
    def full_name(self) -> str:
        """What it is, with dots only."""
        if self.name == "*":
            return self.module
        return ".".join(filter(None, self))


def source(name: str, is_star: bool, is_plain: bool) -> Source:
    """How something is imported in the place of an import that there is.

    Args:
      name: the full name, with a colon between module and attribute if one knows.
      is_star: whether all names of a module are wanted.
      is_plain: whether the import there is has no ``from``.
    """
    if is_star:
        return Source(name, "*")
    if ":" in name:
        return Source(*name.split(":"))
    parent, _, last = name.rpartition(".")
    return Source("", name) if is_plain or not parent else Source(parent, last)


def split(name: str) -> tuple[str, str]:
    """The module and the attributes of a wanted name.

    Args:
      name: ``module:attributes``, or a module or object with dots only, as one thinks of it.
    """
    module, colon, path = name.partition(":")
    if colon:
        return module, path
    root, _, inside = name.partition(".")
    first, _, rest = inside.partition(".")
    if rest and first in _COME_ALONG.get(root, ()):
        return f"{root}.{first}", rest
    return name, ""


def comes_along(module: str, imported: str) -> bool:
    """Whether a module can be reached by attributes where a package around it is imported."""
    if module == imported:
        return True
    root, _, inside = module.partition(".")
    return imported == root and inside in _COME_ALONG.get(root, ())


def import_of(module: str, path: str) -> Import:
    """How a module is imported by habit."""
    habit = _HABITS.get(module)
    parent, _, last = module.rpartition(".")
    if habit is not None and root_of(module) in _TAKEN_APART:
        return Import(parent, last, habit, path)
    if habit is not None or not parent:
        return Import("", module, habit or module, path)
    root = root_of(module)
    if comes_along(module, root) and root not in _TAKEN_APART:
        inside = module.removeprefix(f"{root}.")
        return Import("", root, root, ".".join(filter(None, [inside, path])))
    return Import(parent, last, last, path)


def root_of(module: str) -> str:
    """The outermost package of a module."""
    return module.partition(".")[0]
