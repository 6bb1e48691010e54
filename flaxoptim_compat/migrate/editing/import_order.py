"""The imports of a rewritten text in the order that the file kept to."""

from __future__ import annotations

import ast
import dataclasses
import functools
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from flaxoptim_compat.migrate.editing import marks
from flaxoptim_compat.migrate.editing.edits import Edit, apply_edits
from flaxoptim_compat.migrate.program.document import Document

# What no statement is taken across: the end of a cell, and what isort is told.
_BOUNDARY = re.compile(r"#\s*(?:flaxoptim-compat: cell|isort:)")
Statement = ast.Import | ast.ImportFrom


@dataclasses.dataclass(frozen=True)
class Line:
    """One import statement as it stands in the text, on lines of its own.

    Args:
      module: what comes after ``from``, with its dots; of a plain import the first module.
      is_plain: whether there is no ``from``.
      names: what is imported, and the name it gets, or "".
      text: the statement, with the comment behind it.
      above: the lines of comments above it.
      gap: how many blank lines stand above those.
    """

    module: str
    is_plain: bool
    names: tuple[tuple[str, str], ...]
    text: str
    above: tuple[str, ...] = ()
    gap: int = 0

    @property
    def root(self) -> str:
        """The package that it is from; "." in the package of the file."""
        return "." if self.module.startswith(".") else self.module.partition(".")[0]

    @property
    def bound(self) -> dict[str, str]:
        """The names that it binds, and what each stands for."""
        if self.is_plain:
            roots = {name: name.partition(".")[0] for name, _ in self.names}
            return {
                asname or roots[name]: name if asname else roots[name]
                for name, asname in self.names
            }
        return {asname or name: f"{self.module}.{name}" for name, asname in self.names}

    @property
    def written(self) -> str:
        """It and its comments."""
        return "\n".join([*self.above, self.text])


@dataclasses.dataclass(frozen=True)
class Block:
    """Import statements that follow each other.

    Args:
      start: the offset of its first line.
      end: the offset behind its last statement, before the end of that line.
      text: what stands there.
      indentation: what its lines begin with.
      lines: the statements.
      behind: how many blank lines follow.
      following: the statement that follows; None at the end of what it stands in.
    """

    start: int
    end: int
    text: str
    indentation: str
    lines: tuple[Line, ...]
    behind: int
    following: ast.stmt | None


def blocks(document: Document) -> Iterator[Block]:
    """All blocks of imports, in functions and conditions too, in no particular order.

    Args:
      document: the text.
    """
    around: list[ast.AST] = [document.tree]
    for node in around:
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list):
                yield from _blocks_in(document, body)
                around += body
        around += getattr(node, "handlers", ())
        around += getattr(node, "cases", ())


def laid_out(lines: Sequence[Line]) -> str:
    """The text of statements with the blank lines that they have between them.

    Args:
      lines: the statements.
    """
    parts = ["\n" * (line.gap + 1) * bool(index) + line.written for index, line in enumerate(lines)]
    return "".join(parts)


def _blocks_in(document: Document, body: Sequence[ast.stmt]) -> Iterator[Block]:
    run: list[Statement] = []
    for index, each in enumerate([*body, None]):
        if isinstance(each, Statement) and document.has_its_lines(each):
            if run and _is_apart(document, run[-1], each):
                yield _block(document, run, each)
                run = []
            run.append(each)
        elif run:
            yield _block(document, run, body[index] if index < len(body) else None)
            run = []


def _is_apart(document: Document, one: ast.stmt, other: ast.stmt) -> bool:
    between = document.lines[_last(one) : other.lineno - 1]
    return any(_BOUNDARY.match(each.strip()) for each in between)


def _block(
    document: Document, statements: Sequence[Statement], following: ast.stmt | None
) -> Block:
    lines = document.lines
    # A mark goes with its statement, also where that is the first of its block.
    first = marks.first_line(lines, statements[0].lineno - 1)
    found: list[Line] = []
    done = first
    for each in statements:
        above = [line.rstrip("\n") for line in lines[done : each.lineno - 1]]
        comments = tuple(line for line in above if line.strip())
        start = document.line_starts[each.lineno - 1]
        text = document.text[start : document.line_end(document.span(each)[1])]
        found.append(_line(each, text, comments, len(above) - len(comments)))
        done = _last(each)
    behind = 0
    while done + behind < len(lines) and not lines[done + behind].strip():
        behind += 1
    indentation = lines[statements[0].lineno - 1][: statements[0].col_offset]
    start, end = document.line_starts[first], document.line_end(document.span(statements[-1])[1])
    return Block(
        start,
        end,
        document.text[start:end],
        indentation,
        tuple(found),
        behind,
        following,
    )


def _line(statement: Statement, text: str, above: tuple[str, ...], gap: int) -> Line:
    names = tuple((each.name, each.asname or "") for each in statement.names)
    if isinstance(statement, ast.Import):
        return Line(names[0][0], True, names, text, above, gap)
    module = "." * statement.level + (statement.module or "")
    return Line(module, False, names, text, above, gap)


def _last(statement: ast.stmt) -> int:
    assert statement.end_lineno is not None
    return statement.end_lineno


_FUTURE, _STANDARD, _OTHERS, _OWN, _RELATIVE = range(5)
# Of what programs with optimizers import, what is certainly nobody's own.
_KNOWN = frozenset(
    {"absl", "chex", "clu", "flax", "flaxoptim_compat", "haiku", "jax", "jaxlib", "ml_collections"}
    | {"numpy", "optax", "orbax", "pytest", "scipy", "tensorflow", "tensorflow_datasets", "torch"}
)
_WIDTHS = (88, 100)


class Style(NamedTuple):
    """One way to sort imports.

    Args:
      mixed: whether ``import a`` and ``from b import c`` are sorted together.
      single: whether each name has a statement of its own.
    """

    mixed: bool = False
    single: bool = False


# Those of isort and of Google, and what lies between; the first that a file keeps to is its own.
_STYLES = (Style(), Style(mixed=True, single=True), Style(single=True), Style(mixed=True))


class Order(NamedTuple):
    """What a file says of the order of its imports.

    Args:
      style: how statements are sorted within a section.
      sections: for each package the section that its imports stand in.
      width: how long a line may be.
      unit: what its lines are indented by.
    """

    style: Style
    sections: Mapping[str, int]
    width: int
    unit: str

    def section(self, line: Line) -> int:
        """Which section a statement belongs to: isort's, with one for the packages of the file."""
        return self.sections.get(line.root, _section_of(line.root))

    def sorted(self, lines: Iterable[Line], indentation: str) -> str:
        """The text of a block with these statements.

        Args:
          lines: the statements.
          indentation: of the block.
        """
        if self.style.single:
            kept = [part for line in lines for part in _singles(line, indentation)]
        else:
            kept = self._merged(lines, indentation)
        sections: dict[int, list[Line]] = {}
        for line in sorted(kept, key=self._key):
            sections.setdefault(self.section(line), []).append(line)
        return "\n\n".join(
            "\n".join(line.written for line in section) for section in sections.values()
        )

    def _key(self, line: Line) -> tuple[Any, ...]:
        return (self.section(line), *sort_key(line, self.style))

    def _merged(self, lines: Iterable[Line], indentation: str) -> list[Line]:
        """With one statement for the names of a module, apart from those that get another name."""
        kept: list[Line] = []
        groups: dict[str, list[Line]] = {}
        for line in lines:
            if line.is_plain or _is_commented_within(line):
                kept.append(line)
            elif len(line.names) > 1 and any(asname for _, asname in line.names):
                *renamed, rest = _apart(line, indentation)
                kept += renamed
                groups.setdefault(line.module, []).append(rest)
            elif line.names[0][1] or line.names[0][0] == "*":
                kept.append(line)
            else:
                groups.setdefault(line.module, []).append(line)
        for group in groups.values():
            plain = [line for line in group if line.names]
            commented = [line for line in plain if "#" in line.text]
            if (len(plain) == 1 and _is_sorted(plain[0])) or len(commented) > 1:
                kept += plain
            elif plain:
                kept.append(self._one(plain, indentation))
        return kept

    def _one(self, lines: Sequence[Line], indentation: str) -> Line:
        """One statement that imports what several did."""
        names = sorted({name for line in lines for name in line.names}, key=_member_key)
        above = tuple(comment for line in lines for comment in line.above)
        comments = [f"  {line.text[line.text.index('#') :]}" for line in lines if "#" in line.text]
        start = f"{indentation}from {lines[0].module} import "
        listed = [name for name, _ in names]
        text = start + ", ".join(listed)
        if len(text) > self.width or any(re.search(r",\s*\)", line.text) for line in lines):
            inner = "".join(f"{indentation}{self.unit}{name},\n" for name in listed)
            text = f"{start}(\n{inner}{indentation})"
        return Line(lines[0].module, False, tuple(names), text + "".join(comments), above)


def order_of(found: Sequence[Block], unit: str, is_own: Callable[[str], bool]) -> Order | None:
    """The order that all blocks of a file keep to; None if they keep to none.

    Args:
      found: the blocks.
      unit: what its lines are indented by.
      is_own: takes a package, returns whether it is one of the program itself.
    """
    sections: dict[str, int] = {}
    for block in found:
        has_others = False
        for roots in _paragraphs(block):
            unclear = {root for root in roots if _section_of(root) == _OTHERS}
            own = has_others or any(map(is_own, unclear))
            has_others = has_others or bool(unclear)
            for root in roots:
                section = _section_of(root)
                if section == _OTHERS and own and not unclear & _KNOWN:
                    section = _OWN
                if sections.setdefault(root, section) != section:
                    return None
    longest = max((len(line) for each in found for line in _texts(each)), default=0)
    width = min(max(_WIDTHS[0], longest), _WIDTHS[1])
    for style in _STYLES:
        order = Order(style, sections, width, unit)
        if all(order.sorted(each.lines, each.indentation) == each.text for each in found):
            return order
    return None


def sort_key(line: Line, style: Style) -> tuple[Any, ...]:
    """Where a statement comes among others of its section.

    Args:
      line: the statement.
      style: how they are sorted.
    """
    name = line.module.lstrip(".")
    level = len(line.module) - len(name)
    first = () if line.is_plain else _member_key(line.names[0])
    asname = line.names[0][1] if line.is_plain else ""
    key = (-level, _natural(name.lower()), _natural(name), first, asname)
    return key if style.mixed else (not line.is_plain, *key)


def _section_of(root: str) -> int:
    if root == ".":
        return _RELATIVE
    if root == "__future__":
        return _FUTURE
    return _STANDARD if root in sys.stdlib_module_names else _OTHERS


def _paragraphs(block: Block) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for index, line in enumerate(block.lines):
        if line.gap and index:
            found.append([])
        found[-1].append(line.root)
    return found


def _texts(block: Block) -> Iterable[str]:
    return (text for line in block.lines for text in line.text.split("\n"))


def _is_commented_within(line: Line) -> bool:
    return "#" in line.text.rpartition("\n")[0]


def _is_sorted(line: Line) -> bool:
    return list(line.names) == sorted(line.names, key=_member_key)


def _apart(line: Line, indentation: str) -> list[Line]:
    """Those names of a statement that get another name each by itself, and last the rest."""
    renamed = [_part(line, [each], indentation) for each in line.names if each[1]]
    renamed[0] = dataclasses.replace(renamed[0], above=line.above)
    rest = [each for each in line.names if not each[1]]
    return [*renamed, _part(line, rest, indentation)]


def _singles(line: Line, indentation: str) -> list[Line]:
    """A statement for each name."""
    if len(line.names) == 1 or "#" in line.text:
        return [line]
    first, *others = (_part(line, [each], indentation) for each in line.names)
    return [dataclasses.replace(first, above=line.above), *others]


def _part(line: Line, names: Sequence[tuple[str, str]], indentation: str) -> Line:
    """A statement that imports only these names of one."""
    start = indentation + ("import " if line.is_plain else f"from {line.module} import ")
    listed = ", ".join(f"{name} as {asname}" if asname else name for name, asname in names)
    module = names[0][0] if line.is_plain else line.module
    return Line(module, line.is_plain, tuple(names), f"{start}{listed}")


def _member_key(name: tuple[str, str]) -> tuple[Any, ...]:
    """Constants come first, then classes, then what is written in small letters."""
    member, asname = name
    kind = 0 if len(member) > 1 and member.isupper() else 1 if member[:1].isupper() else 2
    return member != "*", kind, _natural(member.lower()), _natural(member), asname


def _natural(name: str) -> tuple[Any, ...]:
    """With numbers by their value."""
    parts = re.split(r"(\d+)", name)
    return tuple((0, int(each), "") if each.isdigit() else (1, 0, each) for each in parts)


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BY_NAME = Style(mixed=True)


def in_order(document: Document, text: str, unit: str) -> str:
    """Put the imports that are new in a text where the file would have them.

    A file whose imports are sorted has them sorted afterwards. In another one, what is new goes
    beside the import of the same package that is nearest to it, and all else stays.

    Args:
      document: the file before.
      text: what it becomes, with its new imports anywhere in the right blocks.
      unit: what the file indents by within brackets.
    """
    new = dataclasses.replace(document, text=text, tree=ast.parse(text))
    before, after = list(blocks(document)), list(blocks(new))
    old = Counter(line.text.strip() for block in before for line in block.lines)
    if old == Counter(line.text.strip() for block in after for line in block.lines):
        return text
    imports = document.imports
    order = None
    # Where statements share a line, nobody sorts them.
    if len(imports) == sum(len(block.lines) for block in before):
        order = order_of(before, unit, lambda root: _is_own(document, root))
    edits: list[Edit] = []
    for block in after:
        if _depends_on_its_order(block):
            continue
        if order is None:
            edits += _beside_kin(block, before)
        else:
            edits += _sorted(block, order, before)
    return apply_edits(text, edits)


def _is_own(document: Document, root: str) -> bool:
    """Whether a package is one of the program, told by its name or by the files beside this one."""
    if root == document.module.partition(".")[0]:
        return True
    beside = document.path.parent / root
    return beside.is_dir() or beside.with_name(f"{root}.py").is_file()


def _depends_on_its_order(block: Block) -> bool:
    """Whether two statements may bind the same name, so that the last one counts."""
    bound = {each for line in block.lines for each in line.bound.items()}
    names = [name for name, _ in bound]
    return "*" in names or len(names) > len(set(names))


def _sorted(block: Block, order: Order, before: Sequence[Block]) -> list[Edit]:
    """Put a block in order, with no more blank lines behind it than there were."""
    edits = [Edit(block.start, block.end, (order.sorted(block.lines, block.indentation),))]
    if block.following is None or block.indentation:
        return edits
    if before:
        texts = {line.text for line in block.lines}
        same = [each for each in before if not texts.isdisjoint(line.text for line in each.lines)]
        behind = max((each.behind for each in same), default=block.behind)
    else:
        behind = 2 if isinstance(block.following, _DEFINITIONS) else 1
    # Where the last section went, its distance from the one before is left.
    if block.behind > behind or not before:
        start = block.end + 1
        edits.append(Edit(start, start + block.behind, ("\n" * behind,)))
    return edits


def _beside_kin(block: Block, before: Sequence[Block]) -> list[Edit]:
    """Move what is new beside what is nearest to it: of its package, or else in its paragraph."""
    styles = _styles(before)
    lines = list(block.lines)
    kept = [line for line in lines if line.text in styles]
    # The last one first, so that several beside one keep their order.
    for line in reversed(block.lines):
        if line in kept:
            continue
        # Its distance from the one before may be another one by now.
        index = [each.text for each in lines].index(line.text)
        kin, style = _kin(line, kept), _BY_NAME
        # What it was written beside, if it stands for another import, its comments know.
        if not kin and not line.above:
            kin, style = _sorted_around(lines, index, styles)
            if kin:
                styles[line.text] = style
        if kin:
            _take_out(lines, index)
            beside = [index for index, each in enumerate(lines) if each.text in kin]
            _put_in(lines, beside, line, style)
    if lines == list(block.lines) or laid_out(block.lines) != block.text:
        return []
    return [Edit(block.start, block.end, (laid_out(lines),))]


def _styles(found: Iterable[Block]) -> dict[str, Style | None]:
    """For the text of each statement how its paragraph is sorted; None if it is not."""
    styles: dict[str, Style | None] = {}
    for block in found:
        for index, line in enumerate(block.lines):
            if line.gap or not index:
                paragraph = _paragraph(block.lines, index)
                styles |= dict.fromkeys((each.text for each in paragraph), _style(paragraph))
    return styles


def _sorted_around(
    lines: Sequence[Line], index: int, styles: Mapping[str, Style | None]
) -> tuple[set[str], Style]:
    """The texts of its section in the paragraph of a statement, if that is sorted, and how."""
    around = [each for each in _paragraph(lines, index) if each.text in styles]
    found = {styles[each.text] for each in around}
    style = found.pop() if len(found) == 1 else None
    section = _section_of(lines[index].root)
    kin = {each.text for each in around if style and _section_of(each.root) == section}
    return kin, style or _BY_NAME


def _paragraph(lines: Sequence[Line], index: int) -> Sequence[Line]:
    """The statements around one without a blank line between them."""
    start = next((each for each in range(index, 0, -1) if lines[each].gap), 0)
    behind = range(index + 1, len(lines))
    return lines[start : next((each for each in behind if lines[each].gap), len(lines))]


def _style(lines: Sequence[Line]) -> Style | None:
    """How several statements are sorted, if they are."""
    for style in _STYLES if len(lines) > 1 else ():
        if list(lines) == sorted(lines, key=functools.partial(sort_key, style=style)):
            return style
    return None


def _take_out(lines: list[Line], index: int) -> None:
    """Take a statement out; the next one begins the paragraph that it began."""
    gap = lines.pop(index).gap
    if index < len(lines):
        lines[index] = dataclasses.replace(lines[index], gap=max(gap, lines[index].gap))


def _put_in(lines: list[Line], kin: Sequence[int], line: Line, style: Style) -> None:
    """Put a statement behind the last of its kin that sorts before it, or before all of them."""
    before = [index for index in kin if sort_key(lines[index], style) < sort_key(line, style)]
    if before:
        lines.insert(before[-1] + 1, dataclasses.replace(line, gap=0))
        return
    first = lines[kin[0]]
    lines[kin[0]] = dataclasses.replace(first, gap=0)
    lines.insert(kin[0], dataclasses.replace(line, gap=first.gap))


def _kin(line: Line, lines: Sequence[Line]) -> set[str]:
    """The texts of those that have most packages in common with a statement, and one at least."""
    best = max((_common(line, each) for each in lines), default=0)
    return {each.text for each in lines if best and _common(line, each) == best}


def _common(one: Line, other: Line) -> int:
    """How many packages around what two statements import are the same."""
    parts = [[*each.module.split("."), each.names[0][0]] for each in (one, other)]
    found = 0
    for first, second in zip(*parts, strict=False):
        if first != second:
            break
        found += 1
    return found
