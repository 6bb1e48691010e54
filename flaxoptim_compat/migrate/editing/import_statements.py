"""Where new statements stand among the imports, and how others change or go without harm.

Layout and comments stay.
"""

from __future__ import annotations

import ast
import bisect
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.import_aliases import Aliases
from flaxoptim_compat.migrate.editing.import_conventions import Import, Source
from flaxoptim_compat.migrate.program.document import Document

Statement = ast.Import | ast.ImportFrom


class Placed(NamedTuple):
    """New imports at one place.

    Args:
      imports: the imports, in their order.
      beside: the import that they follow or, if that goes, whose place they take; or the statement
        that they stand before. None for a file without any.
      is_before: whether they stand before it.
      is_apart: whether a blank line is between them.
    """

    imports: tuple[Import, ...]
    beside: ast.stmt | None
    is_before: bool
    is_apart: bool

    @property
    def lines(self) -> list[str]:
        """The lines that are written, the blank one among them."""
        is_definition = isinstance(
            self.beside, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        )
        blank = [""] * (1 + is_definition) * self.is_apart
        lines = [each.text for each in self.imports]
        return [*lines, *blank] if self.is_before else [*blank, *lines]


def placed(
    document: Document,
    aliases: Aliases,
    wanted: Mapping[Import, Sequence[ast.AST]],
    changed: Mapping[Statement, Collection[ast.alias]],
) -> list[Placed]:
    """The place of each new import, before its first use.

    That is where an import of a function goes that was for the same uses, else beside the imports
    of the same kind at the top of the file.

    Args:
      document: the file.
      aliases: its imports.
      wanted: the new imports, and where they are used.
      changed: the statements of imports that change, and what changes in them.
    """
    places: dict[tuple[ast.stmt | None, bool, bool], list[Import]] = {}
    for each, uses in wanted.items():
        local = _local_statement(document, aliases, uses, changed)
        first_use = min(_top_level(document, each) for each in uses)
        top = [each for each in document.tree.body[:first_use] if isinstance(each, Statement)]
        if local or not top:
            place = local or _first_statement(document.tree), not local, not local
        else:
            place = _beside_kin(document, each, top, changed)
        places.setdefault(place, []).append(each)
    return [
        Placed(tuple(sorted(imports, key=lambda each: each.sort_key)), *place)
        # Those of the same section come first.
        for place, imports in sorted(places.items(), key=lambda each: each[0][2])
    ]


def _local_statement(
    document: Document,
    aliases: Aliases,
    uses: Sequence[ast.AST],
    changed: Collection[Statement],
) -> Statement | None:
    """The import of a function that changes, if an import is needed only there."""
    scopes = {aliases.scope_at(each) for each in uses}
    first_line = min(document.statement(each).lineno for each in uses)
    for statement in changed:
        # What several functions use is imported at the top.
        local = aliases.scope_at(statement)
        is_whole = scopes == {local} and document.parents[statement] is local.node
        if is_whole and local.parent is not None and statement.lineno < first_line:
            return statement
    return None


# Of what programs with optimizers import, what is certainly nobody's own.
_KNOWN = {"absl", "chex", "clu", "flax", "haiku", "jax", "ml_collections", "numpy", "optax"} | {
    *("orbax", "scipy", "tensorflow", "torch", "flaxoptim_compat"),
}
_FUTURE, _STANDARD, _OTHERS, _RELATIVE = range(4)


def _beside_kin(
    document: Document,
    new: Import,
    top: Sequence[Statement],
    changed: Mapping[Statement, Collection[ast.alias]],
) -> tuple[Statement, bool, bool]:
    """Beside which statement an import comes, whether before it, and whether apart from it."""
    section = _section(new.module or new.name)
    staying = [each for each in top if set(each.names) - set(changed.get(each, ()))]
    kin = [each for each in staying if _section(_module(each)) == section]
    if not kin:
        # In the place of one that goes; or else where its section would begin.
        going = [each for each in top if each not in staying]
        going = [each for each in going if not staying or _section(_module(each)) == section]
        if going:
            return going[0], False, False
        above = [each for each in top if _section(_module(each)) < section]
        return (above[-1], False, True) if above else (top[0], True, True)
    kin = run = _of_others(document, kin)
    forms = [isinstance(each, ast.ImportFrom) for each in run]
    is_from, root = bool(new.module), _root(new.module or new.name)
    # Where both forms are sorted as one, there are some of the first behind the second.
    if forms == sorted(forms):
        kin = [each for each in kin if isinstance(each, ast.ImportFrom) == is_from]
        if not kin:
            return (run[-1], False, False) if is_from else (run[0], True, False)
    kin = [each for each in kin if _root(_module(each)) == root] or kin
    if root == "flaxoptim_compat":
        # What is imported from it is what was in flax.
        kin = [each for each in kin if _root(_module(each)) in (root, "flax")] or kin
    key = _key(new.module or new.name, new.name)
    smaller = [_key(_module(each), each.names[0].name) <= key for each in kin]
    # Its place in the order of the alphabet, or where fewest are on the wrong side of it.
    wrong = [smaller[:at].count(False) + smaller[at:].count(True) for at in range(len(kin) + 1)]
    at = len(wrong) - 1 - wrong[::-1].index(min(wrong))
    # A comment above an import may be about it.
    line_above = "".join(document.lines[: kin[0].lineno - 1][-1:])
    if at or line_above.startswith("#"):
        return kin[max(at - 1, 0)], False, False
    return kin[0], True, False


def _of_others(document: Document, kin: list[Statement]) -> list[Statement]:
    """Those in paragraphs with a package that is nobody's own, up to other statements; else all."""
    body, lines = document.tree.body, document.lines
    others = [each.lineno for each in body if not isinstance(each, Statement)]
    blank = [number for number, each in enumerate(lines, 1) if not each.strip()]
    places = {
        each: (bisect.bisect(others, each.lineno), bisect.bisect(blank, each.lineno))
        for each in kin
    }
    known = {places[each] for each in kin if _root(_module(each)) in _KNOWN}
    first = min(known, default=(0, 0))[0]
    return [each for each in kin if places[each] in known and places[each][0] == first] or kin


def _section(module: str) -> int:
    root = _root(module)
    if root in ("", "__future__"):
        return _FUTURE if root else _RELATIVE
    return _STANDARD if root in sys.stdlib_module_names else _OTHERS


def _module(statement: Statement) -> str:
    if isinstance(statement, ast.Import):
        names = [each.name for each in statement.names]
        return next((each for each in names if _root(each) in _KNOWN), names[0])
    return "." * statement.level + (statement.module or "")


def _key(module: str, name: str) -> tuple[str, str]:
    return module.lower(), name.lower()


def _root(module: str) -> str:
    return module.partition(".")[0]


def _top_level(document: Document, node: ast.AST) -> int:
    """The index of the statement at the top of the file that a node is a part of."""
    while document.parents[node] is not document.tree:
        node = document.parents[node]
    return document.tree.body.index(node)  # type: ignore[arg-type]


def _first_statement(tree: ast.Module) -> ast.stmt | None:
    """The first statement after the docstring."""
    for each in tree.body:
        if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)):
            return each
    return None


_SEPARATOR = re.compile(r"[ \t]*;[ \t]*")
_FOLLOWED = re.compile(r"[ \t]*;[ \t]*(?=[^\s#])")
_END_OF_LINE = re.compile(r"[ \t]*;?[ \t]*(\n|\Z)")
_PRECEDED = re.compile(r"[ \t]*;[ \t]*\Z")
_BEFORE_COMMENT = re.compile(r"[ \t]*;?[ \t]*")


def last_of_their_blocks(document: Document, going: Collection[Statement]) -> set[Statement]:
    """Of each block that would be left empty its last statement.

    Args:
      document: the file.
      going: the statements that are to be taken out.
    """
    last: set[Statement] = set()
    for statement in going:
        block = document.block(statement)
        is_last = statement is block[-1] and block is not document.tree.body
        if is_last and set(block) <= set(going):
            last.add(statement)
    return last


def removals(document: Document, going: Collection[ast.stmt]) -> Iterator[Edit]:
    """Take statements out, with their lines or with a semicolon, but without comments behind.

    Args:
      document: the file.
      going: the statements.
    """
    text = document.text
    spans: list[tuple[int, int]] = []
    for start, end in sorted(document.span(each) for each in going):
        if spans and _SEPARATOR.fullmatch(text, spans[-1][1], start):
            start, _ = spans.pop()
        spans.append((start, end))
    for start, end in spans:
        yield Edit(*_with_surroundings(text, start, end), ())


def _with_surroundings(text: str, start: int, end: int) -> tuple[int, int]:
    """What goes together with one or several statements behind each other."""
    followed = _FOLLOWED.match(text, end)
    if followed is not None:
        return start, followed.end()
    line_start = text.rfind("\n", 0, start) + 1
    preceded = _PRECEDED.search(text, line_start, start)
    if preceded is not None:
        return preceded.start(), end
    end_of_line = _END_OF_LINE.match(text, end)
    if end_of_line is not None:
        # What stood in a paragraph of its own leaves the wider of the two gaps around it.
        above, below = text[:line_start], text[end_of_line.end() :]
        gaps = len(above) - len(above.rstrip("\n")) - 1, len(below) - len(below.lstrip("\n"))
        return line_start - max(min(gaps), 0), end_of_line.end()
    comment = _BEFORE_COMMENT.match(text, end)
    return start, comment.end() if comment is not None else end


_MODULE = re.compile(r"from([\s\\]*[.\w\s\\]+?[\s\\]*)\bimport\b")
_COMMA = re.compile(r"(?:[\s\\]|#[^\n]*\n)*,[ \t]*")


def edits(
    document: Document,
    changes: Mapping[Statement, Mapping[ast.alias, Source | None]],
    placed: Sequence[Placed],
) -> list[Edit]:
    """The edits of all imports.

    Args:
      document: the file.
      changes: for each statement what its aliases bring from now on, None for nothing.
      placed: the new imports.
    """
    found: list[Edit] = []
    new: dict[ast.stmt | None, list[str]] = {}
    for each in placed:
        if not each.is_before:
            new.setdefault(each.beside, []).extend(each.lines)
    going = {
        statement
        for statement, fates in changes.items()
        if statement not in new
        and all(each in fates and fates[each] is None for each in statement.names)
    }
    for statement in last_of_their_blocks(document, going):
        going.remove(statement)
        new[statement] = ["pass"]
    for statement, fates in changes.items():
        if statement not in going:
            found += _changed(document, statement, fates, new.pop(statement, []))
    found += removals(document, going)
    for each in placed:
        if each.is_before:
            found.append(_before(document, each.beside, each.lines))
        elif each.beside in new and each.beside is not None:
            found.append(_after(document, each.beside, each.lines))
    return found


def _changed(
    document: Document,
    statement: Statement,
    fates: Mapping[ast.alias, Source | None],
    new: Sequence[str],
) -> Iterator[Edit]:
    kept = [each for each in statement.names if each not in fates]
    moved = {alias: source for alias, source in fates.items() if source is not None}
    modules = {source.module for source in moved.values()}
    if isinstance(statement, ast.Import):
        in_place = [each for each in moved if not moved[each].module]
        for alias in in_place:
            yield _renamed(document, alias, moved[alias].name)
        staying = [*kept, *in_place]
    elif not kept and len(modules) == 1 and modules != {""}:
        yield from _moved_as_a_whole(document, statement, moved)
        staying = list(moved)
    else:
        staying = kept
    lines = _moved_lines({each: moved[each] for each in moved if each not in staying})
    lines = sorted([*lines, *new], key=lambda each: (each.startswith("from"), each))
    if not staying:
        start, end = document.span(statement)
        has_its_lines = document.has_its_lines(statement)
        separator = f"\n{document.before(statement)}" if has_its_lines else "; "
        yield Edit(start, end, (separator.join(lines),))
        return
    yield from _taken_out(document, statement, staying)
    if lines:
        yield _after(document, statement, lines)


def _renamed(document: Document, alias: ast.alias, name: str) -> Edit:
    start, _ = document.span(alias)
    return Edit(start, start + len(alias.name), (name,))


def _moved_as_a_whole(
    document: Document, statement: ast.ImportFrom, moved: Mapping[ast.alias, Source]
) -> Iterator[Edit]:
    """Import the same names from another module; all else of the statement stays."""
    start, _ = document.span(statement)
    found = _MODULE.match(document.text, start)
    assert found is not None
    module = next(iter(moved.values())).module
    old = found[1].strip(" \t\\\n")
    inside = found.start(1) + found[1].index(old)
    # Blanks are not needed beside dots, but beside names they are.
    before = "" if inside > found.start(1) else " "
    behind = "" if inside + len(old) < found.end(1) else " "
    yield Edit(inside, inside + len(old), (f"{before}{module}{behind}",))
    for alias, source in moved.items():
        if alias.name != source.name:
            renamed = "" if alias.asname else f" as {alias.name}"
            yield _renamed(document, alias, f"{source.name}{renamed}")


def _moved_lines(moved: Mapping[ast.alias, Source]) -> list[str]:
    """Statements that import names from elsewhere, under the names that they had."""
    parts: dict[str, list[str]] = {}
    for alias, source in moved.items():
        bound = alias.asname or alias.name
        text = source.name if bound == source.name else f"{source.name} as {bound}"
        parts.setdefault(source.module, []).append(text)
    plain = [f"import {each}" for each in sorted(parts.pop("", []))]
    return plain + [
        f"from {module} import {', '.join(sorted(parts[module]))}" for module in sorted(parts)
    ]


def _taken_out(
    document: Document, statement: Statement, staying: Sequence[ast.alias]
) -> Iterator[Edit]:
    """Take the aliases that go out of the list; every comment stays where it is."""
    names = statement.names
    last = max(index for index, each in enumerate(names) if each in staying)
    for index, alias in enumerate(names[:last]):
        if alias in staying:
            continue
        start, end = document.span(alias)
        following, _ = document.span(names[index + 1])
        if "#" in document.text[end:following]:
            yield Edit(start, _after_comma(document, end), ())
        else:
            yield Edit(start, following, ())
    if last + 1 == len(names):
        return
    _, end_of_list = document.span(names[last])
    _, end = document.span(names[-1])
    if "#" not in document.text[end_of_list:end]:
        yield Edit(end_of_list, end, ())
        return
    for alias in names[last + 1 :]:
        start, end = document.span(alias)
        yield Edit(start, _after_comma(document, end), ())


def _after_comma(document: Document, end: int) -> int:
    found = _COMMA.match(document.text, end)
    return found.end() if found and "#" not in found.group() else end


def _after(document: Document, statement: ast.stmt, lines: Sequence[str]) -> Edit:
    """Statements behind one: on the next lines, or on the same if it shares its line."""
    _, end = document.span(statement)
    if not document.has_its_lines(statement):
        return Edit(end, end, (f"; {'; '.join(filter(None, lines))}",))
    line_end, indentation = document.line_end(end), document.before(statement)
    text = "".join(f"\n{indentation}{each}".rstrip(" \t") for each in lines)
    return Edit(line_end, line_end, (text,))


def _before(document: Document, before: ast.stmt | None, lines: Sequence[str]) -> Edit:
    """Statements above one of those at the top; without one, behind the docstring."""
    if before is None:
        end = len(document.text.rstrip("\n"))
        return Edit(end, end, ("".join(f"\n{each}" for each in lines),))
    start = document.offset(document.first_line(before), 0)
    return Edit(start, start, ("".join(f"{each}\n" for each in lines),))


def without(document: Document, statement: ast.stmt) -> Edit:
    """Take a statement out, and its line with it if nothing else stands there.

    Args:
      document: the file.
      statement: the statement.
    """
    start, end = document.span(statement)
    text, block = document.text, document.block(statement)
    is_top = block is document.tree.body
    if (block == [statement] and not is_top) or not document.has_its_lines(statement):
        # A block needs a statement, and so does what stands before or after a semicolon.
        return Edit(start, end, ("pass",))
    if document.behind(statement).strip():
        return Edit(start, text.index("#", end), ())  # the comment stays
    line_start, line_end = start - len(document.before(statement)), document.line_end(end)
    if is_top:
        # What stood in a paragraph of its own leaves no hole.
        before = text[:line_start].endswith("\n\n")
        while before and text.startswith("\n", line_end + 1):
            line_end += 1
    return Edit(line_start, min(line_end + 1, len(text)), ())


class Gap(NamedTuple):
    """A place for statements behind the imports at the top of a file.

    Args:
      start: where it is, at the start of a line.
      before: what sets it off from the imports.
      after: what sets it off from what follows, if there is no blank line.
      following: the statement that comes next, or the last import if none does.
    """

    start: int
    before: str
    after: str
    following: ast.stmt

    def edits(self, comment: str, line: str) -> tuple[Edit, ...]:
        """Put a line and its comment there; those of several rules stand together."""
        return (
            Edit(self.start, self.start, (self.before,)),
            Edit(self.start, self.start, (f"# {comment}\n",)),
            Edit(self.start, self.start, (f"{line}\n{self.after}",)),
        )


def gap_after_imports(document: Document) -> Gap | None:
    """The place behind the imports at the top of a file; None if there are none.

    Args:
      document: the file.
    """
    body, text = document.tree.body, document.text
    last = -1
    for index, each in enumerate(body):
        if isinstance(each, ast.Import | ast.ImportFrom):
            last = index
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.If):
            break
    if last < 0:
        return None
    line_end = text.find("\n", document.span(body[last])[1])
    following = body[last + 1] if last + 1 < len(body) else body[last]
    if line_end < 0:
        return Gap(len(text), "\n\n", "", following)
    is_set_off = text.startswith("\n", line_end + 1) or line_end + 1 == len(text)
    return Gap(line_end + 1, "\n", "" if is_set_off else "\n", following)
