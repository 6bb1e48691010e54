"""Where new statements stand among the imports, and how others change or go without harm.

Layout and comments stay.
"""

from __future__ import annotations

import ast
import re
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
      after: the statement that they follow or, if that goes, whose place they take.
      before: the statement that they stand before, if there is none to follow; None for a file
        without any.
    """

    imports: tuple[Import, ...]
    after: ast.stmt | None
    before: ast.stmt | None


def placed(
    document: Document,
    aliases: Aliases,
    wanted: Mapping[Import, Sequence[ast.AST]],
    changed: Mapping[Statement, object],
) -> list[Placed]:
    """The place of each new import.

    That is where an import goes that was for the same uses, else the end of the imports at the
    top of the file, but in any case before the first use.

    Args:
      document: the file.
      aliases: its imports.
      wanted: the new imports, and where they are used.
      changed: the statements of imports that change.
    """
    places: dict[ast.stmt | None, list[Import]] = {}
    for each, uses in wanted.items():
        places.setdefault(_statement_for(document, aliases, uses, changed), []).append(each)
    first = _first_statement(document.tree)
    return [
        Placed(tuple(sorted(imports, key=lambda each: each.sort_key)), after, first)
        for after, imports in places.items()
    ]


def _statement_for(
    document: Document,
    aliases: Aliases,
    uses: Sequence[ast.AST],
    changed: Mapping[Statement, object],
) -> ast.stmt | None:
    """The statement after which an import is needed; None if before all others."""
    scopes = {aliases.scope_at(each) for each in uses}
    first_line = min(document.statement(each).lineno for each in uses)
    for statement in changed:
        # What several functions use is imported at the top.
        local = aliases.scope_at(statement)
        is_whole = scopes == {local} and document.parents[statement] is local.node
        if is_whole and local.parent is not None and statement.lineno < first_line:
            return statement
    body = document.tree.body
    first_use = min(_top_level(document, each) for each in uses)
    top = [each for each in body[:first_use] if isinstance(each, Statement)]
    return next((each for each in top if each in changed), top[-1] if top else None)


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
        return line_start, end_of_line.end()
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
    new = {each.after: [one.text for one in each.imports] for each in placed}
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
        if each.after not in new:
            continue
        lines = new[each.after]
        if each.after is not None:
            found.append(_after(document, each.after, lines))
        else:
            found.append(_at_top(document, each.before, lines))
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
        return Edit(end, end, (f"; {'; '.join(lines)}",))
    line_end, indentation = document.line_end(end), document.before(statement)
    return Edit(line_end, line_end, ("".join(f"\n{indentation}{each}" for each in lines),))


def _at_top(document: Document, before: ast.stmt | None, lines: Sequence[str]) -> Edit:
    """Statements before all others, behind the docstring."""
    if before is None:
        end = len(document.text.rstrip("\n"))
        return Edit(end, end, ("".join(f"\n{each}" for each in lines),))
    start = document.offset(document.first_line(before), 0)
    return Edit(start, start, ("".join(f"{each}\n" for each in lines) + "\n",))


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
