"""Names that parameters of a program may have."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.program.document import Document

# Methods of modules that make a variable, and the functions that make dicts.
_MAKE = frozenset({"dict", "get_param", "param", "variable"})


def parameter_names(document: Document) -> Iterator[str]:
    """Names that a parameter may have, as far as a file says.

    ``optax.tree_utils.tree_set`` goes by names, and moments have those of their parameters.

    Args:
      document: the file.
    """
    for node in document.nodes:
        match node:
            case ast.Dict(keys=keys, values=values):
                # A number or a text is a setting.
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and not isinstance(value, ast.Constant):
                        yield str(key.value)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _MAKE:
                given = node.args[:1]
                yield from (str(each.value) for each in given if isinstance(each, ast.Constant))
                for keyword in node.keywords:
                    if keyword.arg and not isinstance(keyword.value, ast.Constant):
                        yield keyword.arg
            case ast.Call(keywords=keywords):
                # What a module is called.
                for keyword in keywords:
                    if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
                        yield str(keyword.value.value)
