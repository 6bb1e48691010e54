"""Calls whose arguments stand elsewhere today: how each is written anew."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable, Iterator

from flaxoptim_compat.migrate.editing.edits import Edit, Fragments, Span
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.editing.import_statements import without
from flaxoptim_compat.migrate.names.dotted import arguments_of
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.program.releases import SPHERICAL_HARMONICS
from flaxoptim_compat.migrate.successors.evident_values import is_array
from flaxoptim_compat.migrate.successors.successor import Successor

# The edits of a use, for the imports that a target plans.
Making = Callable[[ImportPlan], tuple[Edit, ...]]

_COMMENT = re.compile(r"#[^\n]*")

_ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.List, ast.Tuple, ast.Dict)


@dataclasses.dataclass(frozen=True)
class Rearranged:
    """The change of a use that is written anew.

    Args:
      span: what changes.
      instead: what it becomes, for people.
      make: the edits.
      removed: names besides that of the use that will be gone.
    """

    span: Span
    instead: str
    make: Making
    removed: tuple[ast.expr, ...] = ()


@dataclasses.dataclass(frozen=True)
class LostUse:
    """One use of a name that is gone.

    Args:
      reading: the file.
      node: the name, without attributes that are looked up on it.
      successor: what takes its place.
    """

    reading: Reading
    node: ast.expr
    successor: Successor

    @property
    def parent(self) -> ast.AST:
        """The node around it."""
        return self.reading.document.parents[self.node]

    @property
    def call(self) -> ast.Call | None:
        """The call of it, if it is called."""
        parent = self.parent
        return parent if isinstance(parent, ast.Call) and parent.func is self.node else None

    def span(self, node: ast.expr) -> Span:
        """The place of a node."""
        return Span(*self.reading.document.span(node))

    def plain_arguments(self, names: str, most: int | None = None) -> list[ast.expr] | None:
        """The arguments of the call, if they are written in an order that is certain.

        Args:
          names: the names of the keywords that may be among them.
          most: how many may be given by position.

        Returns:
          Those by position; None if there are unpacked ones, too many or other keywords.
        """
        call = self.call
        if call is None or any(isinstance(each, ast.Starred) for each in call.args):
            return None
        if any(each.arg not in names.split() for each in call.keywords):
            return None
        return call.args if most is None or len(call.args) <= most else None

    def insertion(self, text: str) -> Edit | None:
        """Insert an argument after the last one of the call; None where it is not plain where."""
        call = self.call
        assert call is not None
        last = arguments_of(call)[-1]
        start, end = self.span(last).end, self.span(call).end
        rest = _COMMENT.sub("", self.reading.document.text[start:end])
        if "".join(rest.split()) not in (")", ",)"):
            return None  # the last one stands in parentheses of its own
        return Edit(start, start, (text,))

    def atom(self, node: ast.expr) -> Fragments:
        """A piece that an attribute can be looked up on."""
        span = self.span(node)
        return (span,) if isinstance(node, _ATOMS) else ("(", span, ")")


Rearrangement = Callable[[LostUse], Rearranged | None]


_INDEX = "jax.ops.index"
_METHODS = {"update": "set", "add": "add", "mul": "multiply", "min": "min", "max": "max"}
_ARGUMENTS = ("x", "idx", "y", "indices_are_sorted", "unique_indices")


def _updating(method: str) -> Rearrangement:
    def rearrange(lost: LostUse) -> Rearranged | None:
        call = lost.call
        given = None if call is None else _arguments(call)
        if call is None or given is None:
            return None
        index = given["idx"]
        inlined = _index_name(lost.reading, index)
        inside = lost.span(index) if inlined is None else _inside(lost, index)
        known = is_array(lost.reading, given["x"])

        def make(imports: ImportPlan) -> tuple[Edit, ...]:
            array: Fragments = lost.atom(given["x"])
            if not known:
                # It may be a list, or an array of numpy, which has no `at`.
                array = (
                    imports.name_of("jax.numpy:asarray", call),
                    "(",
                    lost.span(given["x"]),
                    ")",
                )
            promises: list[str | Span] = []
            for name in _ARGUMENTS[3:]:
                if name in given:
                    promises += [f", {name}=", lost.span(given[name])]
            text = (*array, ".at[", inside, f"].{method}(", lost.span(given["y"]), *promises, ")")
            return (Edit(*lost.span(call), text),)

        removed = () if inlined is None else (inlined,)
        return _changed(lost, f"x.at[index].{method}(y)", make, removed)

    return rearrange


def _arguments(call: ast.Call) -> dict[str, ast.expr] | None:
    """The arguments of an update by their names; None if it is not certain which they are."""
    if any(isinstance(each, ast.Starred) for each in call.args) or len(call.args) > 5:
        return None
    given = dict(zip(_ARGUMENTS, call.args, strict=False))
    for each in call.keywords:
        if each.arg not in _ARGUMENTS or each.arg in given:
            return None
        given[each.arg] = each.value
    # They are computed in the order in which they stand, which is to remain the same.
    in_order = [name for name in _ARGUMENTS if name in given]
    return given if in_order[:3] == ["x", "idx", "y"] and list(given) == in_order else None


def is_inlined(lost: LostUse) -> bool:
    """True for a ``jax.ops.index`` that is part of an update which is written anew.

    Args:
      lost: a use of any name.
    """
    if lost.successor.old != _INDEX:
        return False
    reading, parents = lost.reading, lost.reading.document.parents
    subscript = lost.parent
    call = parents[subscript]
    if isinstance(call, ast.keyword):
        call = parents[call]
    if not isinstance(call, ast.Call) or not isinstance(subscript, ast.Subscript):
        return False
    name = reading.names.full_name(call.func)
    if name not in _INDEX_UPDATES or not reading.allows("FOC152", call.func):
        return False
    given = _arguments(call)
    return given is not None and given["idx"] is subscript and subscript.value is lost.node


def _index_name(reading: Reading, index: ast.expr) -> ast.expr | None:
    """The ``jax.ops.index`` in ``jax.ops.index[...]``."""
    if isinstance(index, ast.Subscript) and reading.names.full_name(index.value) == _INDEX:
        return index.value
    return None


def _inside(lost: LostUse, index: ast.expr) -> Span:
    """The place of what stands in the brackets."""
    assert isinstance(index, ast.Subscript)
    text = lost.reading.document.text
    start = text.index("[", lost.span(index.value).end) + 1
    return Span(start, lost.span(index).end - 1)


_INDEX_UPDATES: dict[str, Rearrangement] = {
    f"jax.ops.index_{name}": _updating(method) for name, method in _METHODS.items()
}

# Reading one of these does nothing else, so that it can be left out.
_WITHOUT_EFFECT = (ast.Name, ast.Constant)

# The edits of a call with these arguments by position.
Writing = Callable[[LostUse, list[ast.expr], ImportPlan], Iterator[Edit]]


def _changed(
    lost: LostUse, instead: str, make: Making, removed: tuple[ast.expr, ...] = ()
) -> Rearranged:
    """The call as a whole is what changes."""
    return Rearranged(lost.span(lost.call or lost.node), instead, make, removed)


def _row(
    instead: str,
    arguments: tuple[int, int],
    write: Writing,
    keywords: str = "",
    fits: Callable[[LostUse, list[ast.expr]], bool] = lambda lost, given: True,
    removes: bool = False,
) -> Rearrangement:
    """One function whose calls are written anew.

    Args:
      instead: what is written, for people.
      arguments: how few and how many there are by position.
      write: the edits.
      keywords: the names of those that may be given by keyword.
      fits: whether it can be written for these arguments.
      removes: whether the names in the first argument will be gone.
    """

    def rearrange(lost: LostUse) -> Rearranged | None:
        given = lost.plain_arguments(keywords, arguments[1])
        if given is None or len(given) < arguments[0] or not fits(lost, given):
            return None
        inside = ast.walk(given[0]) if removes else ()
        gone = tuple(each for each in inside if isinstance(each, ast.Name | ast.Attribute))
        return _changed(lost, instead, lambda imports: tuple(write(lost, given, imports)), gone)

    return rearrange


def _renamed(
    function: str,
    instead: str,
    arguments: tuple[int, int],
    keywords: str = "",
    *,
    last: str = "",
    after: str = "",
    dtype: str = "",
) -> Rearrangement:
    """Call another function, with an argument more, or with something after the call.

    Args:
      function: ``module:attribute`` of the other one.
      instead: what is written, for people.
      arguments: how few and how many there are by position.
      keywords: the names of those that may be given by keyword.
      last: the argument to add.
      after: what to do with the result.
      dtype: ``module:attribute`` of a dtype to add.
    """

    def fits(lost: LostUse, given: list[ast.expr]) -> bool:
        if '"' in last and lost.reading.document.is_in_f_string(lost.node):
            return False
        return not (last or dtype) or lost.insertion("") is not None

    def write(lost: LostUse, given: list[ast.expr], imports: ImportPlan) -> Iterator[Edit]:
        yield Edit(*lost.span(lost.node), (imports.name_of(function, lost.node),))
        text = f"dtype={imports.name_of(dtype, lost.node)}" if dtype else last
        edit = lost.insertion(f", {text}") if text else None
        if edit is not None:
            yield edit
        if after and lost.call is not None:
            end = lost.span(lost.call).end
            yield Edit(end, end, (after,))

    return _row(instead, arguments, write, keywords, fits)


def _method(method: str) -> Rearrangement:
    """Call a method of the only argument."""

    def write(lost: LostUse, given: list[ast.expr], imports: ImportPlan) -> Iterator[Edit]:
        yield Edit(*lost.span(lost.call or lost.node), (*lost.atom(given[0]), method))

    return _row(f"x{method}", (1, 1), write)


def _second(lost: LostUse, given: list[ast.expr], imports: ImportPlan) -> Iterator[Edit]:
    """The second argument alone, or nothing where that would be assigned to itself."""
    call = lost.call or lost.node
    match lost.reading.document.parents[call], given[1]:
        case ast.Assign(targets=[ast.Name(id=name)]) as statement, ast.Name(id=other):
            if name == other:
                yield without(lost.reading.document, statement)
                return
    yield Edit(*lost.span(call), lost.atom(given[1]))


def _is_idle(lost: LostUse, given: list[ast.expr]) -> bool:
    """True if computing the first argument has no effect."""
    node = given[0]
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, _WITHOUT_EFFECT):
            return False
        node = node.value
    return isinstance(node, _WITHOUT_EFFECT)


def _swapped(lost: LostUse, given: list[ast.expr], imports: ImportPlan) -> Iterator[Edit]:
    """Order before degree, and polar angle before azimuth, were the other way round."""
    yield Edit(*lost.span(lost.node), (imports.name_of(SPHERICAL_HARMONICS, lost.node),))
    for old, new in zip(given, (given[1], given[0], given[3], given[2]), strict=False):
        yield Edit(*lost.span(old), (lost.span(new),))
    for most in given[4:]:
        start = lost.span(most).start
        yield Edit(start, start, ("n_max=",))


def _constant(make_text: Callable[[ImportPlan, LostUse], str], instead: str) -> Rearrangement:
    """Write a negative number, in parentheses where an operator would take a part of it."""

    def rearrange(lost: LostUse) -> Rearranged | None:
        if isinstance(lost.parent, ast.MatchValue):
            return None  # a pattern with a sign is a number
        operators = (ast.BinOp, ast.UnaryOp, ast.Attribute, ast.Subscript, ast.Await)
        inside = isinstance(lost.parent, operators)
        if isinstance(lost.parent, ast.Subscript) and lost.parent.slice is lost.node:
            inside = False

        def make(imports: ImportPlan) -> tuple[Edit, ...]:
            text = make_text(imports, lost)
            return (Edit(*lost.span(lost.node), (f"({text})" if inside else text,)),)

        return Rearranged(lost.span(lost.node), instead, make)

    return rearrange


def _constants(module: str) -> dict[str, Rearrangement]:
    def minus_infinity(imports: ImportPlan, lost: LostUse) -> str:
        return f"-{imports.name_of(f'{module}:inf', lost.node)}"

    return {
        f"{module}.NINF": _constant(minus_infinity, f"-{module}.inf"),
        f"{module}.NZERO": _constant(lambda imports, lost: "-0.0", "-0.0"),
        f"{module}.PZERO": _constant(lambda imports, lost: "0.0", "0.0"),
    }


def _sorted(module: str) -> Rearrangement:
    return _renamed(f"{module}:sort", f"{module}.sort(a, axis=0)", (1, 1), last="axis=0")


def _is_in(module: str) -> Rearrangement:
    return _renamed(
        f"{module}:isin",
        f"{module}.isin(a, b).ravel()",
        (2, 4),
        "assume_unique invert" + (" kind" if module == "numpy" else ""),
        after=".ravel()",
    )


# {name that is gone: module:attribute of what it is rearranged to, if not all versions have that}
YOUNG: dict[str, str] = {"jax.scipy.special.sph_harm": SPHERICAL_HARMONICS}

REARRANGED: dict[str, Rearrangement] = {
    **_INDEX_UPDATES,
    **_constants("jax.numpy"),
    "jax.numpy.in1d": _is_in("jax.numpy"),
    "jax.numpy.msort": _sorted("jax.numpy"),
    "jax.lax.tie_in": _row("the second argument", (2, 2), _second, fits=_is_idle, removes=True),
    "jax.random.shuffle": _renamed(
        "jax.random:permutation",
        "jax.random.permutation(key, x, axis, independent=True)",
        (2, 3),
        "axis",
        last="independent=True",
    ),
    "jax.random.threefry2x32_key": _renamed(
        "jax.random:PRNGKey",
        "jax.random.PRNGKey(seed, impl='threefry2x32')",
        (1, 1),
        last='impl="threefry2x32"',
    ),
    "jax.dlpack.to_dlpack": _method(".__dlpack__()"),
    "jax.scipy.special.sph_harm": _row(
        "jax.scipy.special.sph_harm_y(n, m, phi, theta)", (4, 5), _swapped, "n_max"
    ),
    "jax.experimental.host_callback.barrier_wait": _renamed(
        "jax:effects_barrier", "jax.effects_barrier()", (0, 0)
    ),
    **_constants("numpy"),
    "numpy.in1d": _is_in("numpy"),
    "numpy.msort": _sorted("numpy"),
    "numpy.asscalar": _method(".item()"),
    "numpy.asfarray": _renamed(
        "numpy:asarray",
        "numpy.asarray(a, dtype=numpy.float64)",
        (1, 1),
        dtype="numpy:float64",
    ),
}
