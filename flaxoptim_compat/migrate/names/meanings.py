"""What a name stands for in a scope."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from flaxoptim_compat.migrate.names import surface
from flaxoptim_compat.migrate.names.dotted import chain_of
from flaxoptim_compat.migrate.names.project import Project
from flaxoptim_compat.migrate.names.scopes import Binding, Scope

Way = Literal["import", "project", "variable", "lookup"]


class Meaning(NamedTuple):
    """What a name or a chain stands for.

    Args:
      name: the full name.
      alias: the import that brought its root into the file, if it is an import of that name.
      way: by an ``import``, from another file of the ``project``, through a ``variable`` of the
        file, or by a ``lookup`` at run time.
    """

    name: str
    alias: ast.alias | None
    way: Way


class Meanings:
    """The meanings of the names of one file.

    Args:
      names: the scope in which each name stands.
      project: the other files of the project.
    """

    def __init__(self, names: Mapping[ast.Name, Scope], project: Project) -> None:
        self._names = names
        self._project = project
        self._known: dict[tuple[Scope, str], Meaning | None] = {}

    def of_expression(self, node: ast.expr) -> Meaning | None:
        """The meaning of a chain; None if it is none, or not known."""
        found = chain_of(node)
        if found is None:
            return None
        root, path = found
        return self.of_chain(root, path)

    def of_chain(self, root: ast.expr, path: tuple[str, ...]) -> Meaning | None:
        """The meaning of a root with attributes looked up on it."""
        if isinstance(root, ast.Call):
            meaning = self._of_import_call(root)
            home = None
        elif isinstance(root, ast.Name) and root in self._names:
            scope = self._names[root]
            home = scope.binder(root.id, (root.lineno, root.col_offset))
            meaning = self._of_star(root.id, scope) if home is None else self.of(root.id, home)
        else:
            return None
        if meaning is None or not path:
            return meaning
        full = ".".join([meaning.name, *path])
        name = self._project.through(full)
        if name != full:
            return Meaning(name, None, "project")
        if meaning.alias is not None and home is not None and isinstance(root, ast.Name):
            return meaning._replace(name=full, alias=_closest(home.bindings[root.id], full))
        return meaning._replace(name=full)

    def of(self, name: str, home: Scope) -> Meaning | None:
        """The meaning of a name in the scope that binds it."""
        key = (home, name)
        if key not in self._known:
            self._known[key] = None  # so that circles end
            self._known[key] = self._agreed(home.bindings[name])
        return self._known[key]

    def all_of(self, name: str, home: Scope) -> list[Meaning]:
        """The meanings that the bindings of a name have one by one."""
        found = (self._of_binding(each) for each in home.bindings[name])
        return [each for each in found if each is not None]

    def of_stars(self, home: Scope) -> dict[str, str]:
        """What the ``import *`` of a file bring that is known, all of which it passes on."""
        found: dict[str, str] = {}
        for each in home.bindings.get("*", ()):
            brought = self._in_star(each.full_name)
            if not surface.is_of_flax_optim(each.full_name):
                for name in brought:
                    self._project.take(each.full_name, name)
            found.update(brought)
        return found

    def _agreed(self, bindings: Iterable[Binding]) -> Meaning | None:
        found = []
        for each in bindings:
            meaning = self._of_binding(each)
            if meaning is not None:
                found.append(meaning)
            elif each.kind != "nothing":
                return None
        # A program may try one home of a module, and fall back to the other.
        if len({surface.as_of_old(each.name) for each in found}) != 1:
            return None
        return next((each for each in found if surface.is_of_flax_optim(each.name)), found[0])

    def _of_binding(self, binding: Binding) -> Meaning | None:
        if binding.kind == "import":
            if self._project.is_own(binding.full_name):
                return None
            name = self._project.through(binding.full_name)
            if name != binding.full_name:
                return Meaning(name, None, "project")
            return Meaning(name, binding.alias, "import")
        if binding.value is not None:
            meaning = self.of_expression(binding.value)
            return None if meaning is None else Meaning(meaning.name, None, "variable")
        return None

    def _of_star(self, name: str, scope: Scope) -> Meaning | None:
        stars = scope.module.bindings.get("*", [])
        # A later `import *` may have replaced what one before brought.
        full = self._in_star(stars[-1].full_name).get(name) if stars else None
        if full is None:
            return None
        if surface.is_of_flax_optim(stars[-1].full_name):
            return Meaning(full, stars[-1].alias, "import")
        self._project.take(stars[-1].full_name, name)
        return Meaning(full, None, "project")

    def _in_star(self, module: str) -> dict[str, str]:
        if surface.is_of_flax_optim(module) and not self._project.is_own(module):
            return surface.in_star(module)
        return self._project.in_star(module)

    def _of_import_call(self, node: ast.Call) -> Meaning | None:
        """The meaning of ``importlib.import_module("module")`` and of ``__import__("module")``."""
        argument = node.args[0] if node.args else None
        if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
            return None
        module = argument.value
        if module.startswith(".") or not all(map(str.isidentifier, module.split("."))):
            return None
        function = node.func
        if isinstance(function, ast.Name) and function.id == "__import__":
            if len(node.args) == 1 and not node.keywords:
                return Meaning(module.partition(".")[0], None, "lookup")
            return None
        meaning = self.of_expression(function)
        if meaning is None or meaning.name != "importlib.import_module":
            return None
        if self._project.is_own(module):
            return None
        return Meaning(module, None, "lookup")


def _closest(bindings: Iterable[Binding], name: str) -> ast.alias | None:
    """Of several imports that bind one root, the one of the longest module that a name is in."""
    found = [
        each.alias
        for each in bindings
        if each.alias is not None
        and (each.kind != "import" or f"{name}.".startswith(f"{_imported(each)}."))
    ]
    imports = [each.alias for each in bindings if each.alias is not None]
    return max(found, key=lambda each: len(each.name), default=imports[0])


def _imported(binding: Binding) -> str:
    assert binding.alias is not None
    # `import flax.optim` binds flax, and has the module ready.
    return (
        binding.full_name
        if binding.alias.asname
        else max(binding.full_name, binding.alias.name, key=len)
    )
