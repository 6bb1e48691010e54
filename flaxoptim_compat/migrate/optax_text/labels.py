"""Filters of ``ModelParamTraversal`` as a function that labels the parameters of a tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from flaxoptim_compat import syntax
from flaxoptim_compat.formula_text.stages import FROZEN
from flaxoptim_compat.migrate.optax_text.program_expressions import may_act, quoted
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.releases import SLASHED_KEYS, Releases


class Labels:
    """A function from parameters to the key of the first filter that selects each.

    Flax's filters get a path such as ``/dense/kernel``, and so do they here. The function is called
    at each step; so a filter that could be another one by then is a default value of it.

    Args:
      filters: the functions in the traversals.
      document: the file that they stand in.
      is_settled: whether an expression is a name that has its value for good.
      releases: the versions that the text is for.
    """

    def __init__(
        self,
        filters: Sequence[ast.expr],
        document: Document,
        is_settled: Callable[[ast.expr], bool],
        releases: Releases,
    ) -> None:
        self._filters = filters
        self._document = document
        self._is_settled = is_settled
        self._releases = releases
        self.names = _names_in(filters)
        self._held: dict[str, ast.expr | None] = {}

    @property
    def is_late(self) -> bool:
        """True if all of the text may be run again at any time."""
        return all(map(self._is_read_late, self._filters))

    def function(self, keys: Sequence[str]) -> ast.expr:
        """The function; ``keys`` are what the filters stand for in ``optax.partition``."""
        path, value = self._common_names() or (self._free("path"), self._free("value"))
        tests = [self._test(each, path, value) for each in self._filters]
        asks_value = any(value_is_used for _, value_is_used in tests)
        chosen: ast.expr = ast.Constant(FROZEN)
        for (test, _), key in reversed(list(zip(tests, keys, strict=True))):
            chosen = ast.IfExp(test, ast.Constant(key), chosen)
        params, key_path = self._free("params"), self._free("keys")
        leaf = "_" if self._may_drop(asks_value) else self._free("leaf")
        slash = ast.Constant("/")
        select = syntax.function(dict.fromkeys((path, value) if asks_value else (path,)), chosen)
        given: list[ast.expr] = [ast.BinOp(slash, ast.Add(), self._slashed(key_path))]
        given += [ast.Name(leaf)] if asks_value else []
        of_leaf = syntax.function(dict.fromkeys((key_path, leaf)), syntax.called(select, *given))
        mapped = syntax.called("jax.tree_util.tree_map_with_path", of_leaf, ast.Name(params))
        return syntax.function({params: None, **self._held}, mapped)

    def _slashed(self, keys: str) -> ast.expr:
        """The keys of a path with slashes between them."""
        lacking = self._releases.lacking(SLASHED_KEYS)
        if lacking is None:
            given = {"simple": ast.Constant(True), "separator": ast.Constant("/")}
            return syntax.called("jax.tree_util.keystr", ast.Name(keys), **given)
        node = ast.parse(lacking.before, mode="eval").body
        names = {"keys": keys, "k": self._free("k")}
        for each in ast.walk(node):
            if isinstance(each, ast.Name):
                each.id = names.get(each.id, each.id)
            elif isinstance(each, ast.arg):
                each.arg = names[each.arg]
        return node

    def _test(self, node: ast.expr, path: str, value: str) -> tuple[ast.expr, bool]:
        """The expression that asks a filter, and whether it asks for the value."""
        if _names_of(node) == (path, value):
            assert isinstance(node, ast.Lambda)
            return quoted(self._document, node.body, within=True), value in _loaded(node.body)
        late = self._is_read_late(node)
        selects = quoted(self._document, node, within=True) if late else self._hold(node)
        return syntax.called(selects, ast.Name(path), ast.Name(value)), True

    def _hold(self, node: ast.expr) -> ast.expr:
        """Make a filter a default value; what it is called."""
        name = self._free("selects")
        self.names.add(name)
        self._held[name] = quoted(self._document, node)
        return ast.Name(name)

    def _may_drop(self, asks_value: bool) -> bool:
        """True if an argument may be called ``_``: nothing uses it, and no filter reads ``_``."""
        return not asks_value and not any("_" in _loaded(each) for each in self._filters)

    def _is_read_late(self, node: ast.expr) -> bool:
        return _names_of(node) is not None or self._is_settled(node)

    def _common_names(self) -> tuple[str, str] | None:
        """The names of path and value in the first lambda; None if other filters use them."""
        lambdas = [each for each in self._filters if _names_of(each) is not None]
        names = _names_of(lambdas[0]) if lambdas else None
        if names is None:
            return None
        others = [each for each in self._filters if _names_of(each) != names]
        return None if set(names) & {name for each in others for name in _loaded(each)} else names

    def _free(self, name: str) -> str:
        while name in self.names:
            name += "_"
        return name


def filter_refusal(node: ast.expr) -> str:
    """The reason why a filter cannot be put into a text; "" if it can."""
    pauses = (ast.Await, ast.Yield, ast.YieldFrom)
    if isinstance(node, ast.Starred) or any(isinstance(each, pauses) for each in ast.walk(node)):
        return "the filter of a traversal does more than select"
    return ""


def filter_acts(node: ast.expr) -> bool:
    """True if making a filter may do more than give a value."""
    if isinstance(node, ast.Lambda):
        return any(may_act(each) for each in (*node.args.defaults, *node.args.kw_defaults) if each)
    return may_act(node)


def _names_in(filters: Sequence[ast.expr]) -> set[str]:
    """The names that filters use or bind."""
    nodes = [node for each in filters for node in ast.walk(each)]
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    return used | {node.arg for node in nodes if isinstance(node, ast.arg)}


def _names_of(node: ast.expr) -> tuple[str, str] | None:
    """The names that a lambda gives path and value; None if it does not take just these."""
    if not isinstance(node, ast.Lambda):
        return None
    given = node.args
    names = [each.arg for each in (*given.posonlyargs, *given.args)]
    if len(names) != 2 or given.vararg or given.kwonlyargs or given.kwarg or given.defaults:
        return None
    return names[0], names[1]


def _loaded(node: ast.expr) -> Iterator[str]:
    return (each.id for each in ast.walk(node) if isinstance(each, ast.Name))
