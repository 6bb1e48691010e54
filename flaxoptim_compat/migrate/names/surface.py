"""The names of flax.optim, module by module, private ones too."""

from __future__ import annotations

import ast

from flaxoptim_compat import catalogue
from flaxoptim_compat.migrate.names.dotted import last_name, looked_up_by, name_asked
from flaxoptim_compat.migrate.program.document import Document

# {module: names}, of all releases together. OptimizerDef could be had from every module of an
# optimizer, since each imports it.
MODULES: dict[str, frozenset[str]] = {
    **{
        f"flax.optim.{row.module}": frozenset([*row.names, "OptimizerDef"])
        for row in catalogue.OPTIMIZERS
    },
    "flax.optim.base": frozenset([*catalogue.BASE, *catalogue.BASE_PRIVATE]),
    "flax.optim.dynamic_scale": frozenset(catalogue.DYNAMIC_SCALE),
}
OPTIMIZERS = frozenset(catalogue.BY_NAME)
PUBLIC = frozenset(catalogue.PUBLIC)


def is_of_flax_optim(name: str) -> bool:
    """True if a full name is that of flax.optim or of something in it."""
    return name == "flax.optim" or name.startswith("flax.optim.")


def in_star(module: str) -> dict[str, str]:
    """The full names that ``import *`` brought from flax.optim or from a module of it."""
    if module != "flax.optim":
        public = (each for each in MODULES.get(module, ()) if not each.startswith("_"))
        return {each: f"{module}.{each}" for each in public}
    modules = {each.rpartition(".")[2]: each for each in MODULES}
    return {**modules, **{each: f"flax.optim.{each}" for each in PUBLIC}}


def as_of_old(name: str) -> str:
    """The name in flax.optim of what flaxoptim_compat serves; other names stay."""
    root, *parts = name.split(".")
    if root != "flaxoptim_compat":
        return name
    return ".".join(["flax.optim", *parts[parts[:1] == ["optim"] :]])


def served(name: str) -> str | None:
    """The full name that serves one of flax.optim; None if nothing does.

    Args:
      name: such as ``flax.optim.adam.Adam``; attributes of classes may follow.
    """
    if not is_of_flax_optim(name):
        return None
    parts = name.split(".")[2:]
    if parts[:1] == ["DynamicScale"]:
        parts = ["dynamic_scale", *parts]
    first = f"flax.optim.{parts[0]}" if parts else ""
    if first in MODULES:
        if len(parts) > 1 and parts[1] not in MODULES[first]:
            return None
        # Flax still has this module of flax.optim.
        home = "flax.training" if parts[0] == "dynamic_scale" else "flaxoptim_compat.optim"
        return ".".join([home, *parts])
    if parts and parts[0] not in PUBLIC:
        return None
    return ".".join(["flaxoptim_compat.optim", *parts])


def is_dynamic_scale(name: str) -> bool:
    """True if a name of flax.optim is one of dynamic loss scaling."""
    parts = name.split(".")[2:]
    return parts[:1] in (["dynamic_scale"], ["DynamicScale"])


def is_for_old_flax(document: Document, node: ast.AST) -> bool:
    """True if code stands in the branch of ``hasattr(flax, "optim")`` that only old Flax runs.

    The program itself says by this question what runs today.
    """
    inner = node
    while (outer := document.parents.get(inner)) is not None:
        if isinstance(outer, ast.If | ast.IfExp):
            test, old = outer.test, outer.body
            if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
                test, old = test.operand, outer.orelse
            if _asks_for_optim(test) and inner in (old if isinstance(old, list) else [old]):
                return True
        inner = outer
    return False


def _asks_for_optim(test: ast.expr) -> bool:
    return (
        isinstance(test, ast.Call)
        and looked_up_by(test) == "hasattr"
        and (last_name(test.args[0]), name_asked(test)) == ("flax", "optim")
    )
