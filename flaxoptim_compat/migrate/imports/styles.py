"""How a file sorts its imports: the orders of isort, and which of them the file keeps to."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from flaxoptim_compat.migrate.imports.blocks import Block, Line

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
    start = f"{indentation}from {line.module} import "
    found = [
        Line(line.module, False, ((name, asname),), f"{start}{name} as {asname}")
        for name, asname in line.names
        if asname
    ]
    rest = tuple(each for each in line.names if not each[1])
    listed = ", ".join(name for name, _ in rest)
    found[0] = Line(found[0].module, False, found[0].names, found[0].text, line.above)
    return [*found, Line(line.module, False, rest, f"{start}{listed}")]


def _singles(line: Line, indentation: str) -> list[Line]:
    """A statement for each name."""
    if len(line.names) == 1 or _is_commented_within(line) or "#" in line.text:
        return [line]
    start = indentation + ("import " if line.is_plain else f"from {line.module} import ")
    found: list[Line] = []
    for name, asname in line.names:
        text = start + (f"{name} as {asname}" if asname else name)
        module = name if line.is_plain else line.module
        above = line.above if not found else ()
        found.append(Line(module, line.is_plain, ((name, asname),), text, above))
    return found


def _member_key(name: tuple[str, str]) -> tuple[Any, ...]:
    """Constants come first, then classes, then what is written in small letters."""
    member, asname = name
    kind = 0 if len(member) > 1 and member.isupper() else 1 if member[:1].isupper() else 2
    return member != "*", kind, _natural(member.lower()), _natural(member), asname


def _natural(name: str) -> tuple[Any, ...]:
    """With numbers by their value."""
    parts = re.split(r"(\d+)", name)
    return tuple((0, int(each), "") if each.isdigit() else (1, 0, each) for each in parts)
