"""The imports of a rewritten text in the order that the file kept to."""

from __future__ import annotations

import ast
import dataclasses
from collections import Counter
from collections.abc import Sequence

from flaxoptim_compat.migrate.document import Document
from flaxoptim_compat.migrate.edits import Edit, apply_edits
from flaxoptim_compat.migrate.imports.blocks import Block, Line, blocks, laid_out
from flaxoptim_compat.migrate.imports.styles import Order, Style, order_of, sort_key

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BY_NAME = Style(mixed=True)


def in_order(document: Document, text: str, unit: str) -> str:
    """Put the imports that are new in a text where the file would have them.

    A file whose imports are sorted has them sorted afterwards. In another one, what is new goes
    beside the import of the same package that is nearest to it, and all else stays.

    Args:
      document: the file before.
      text: what it becomes, with its new imports anywhere in the right blocks.
      unit: what the file indents by.
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
            edits += _beside_kin(block, old)
        else:
            edits += _sorted(block, order, is_new=not imports, at_top=block.indentation == "")
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


def _sorted(block: Block, order: Order, is_new: bool, at_top: bool) -> list[Edit]:
    edits = [Edit(block.start, block.end, (order.sorted(block.lines, block.indentation),))]
    if block.following is None or not at_top:
        return edits
    wanted = 2 if isinstance(block.following, _DEFINITIONS) else 1
    # Where the last section went, its distance from the one before is left.
    if is_new or (block.behind > wanted and not block.before_comment):
        start = block.end + 1
        edits.append(Edit(start, start + block.behind, ("\n" * wanted,)))
    return edits


def _beside_kin(block: Block, old: Counter[str]) -> list[Edit]:
    """Move what is new beside what is nearest to it, where there is something of its package."""
    places = list(block.lines)
    kept = [line for line in places if line.text.strip() in old]
    # The last one first, so that several beside one keep their order.
    for line in reversed(block.lines):
        kin = [] if line in kept else _kin(line, kept)
        if kin:
            # Its distance from the one before may be another one by now.
            texts = [each.text for each in places]
            _take_out(places, texts.index(line.text))
            _put_in(places, [index for index, each in enumerate(places) if each.text in kin], line)
    if places == list(block.lines) or laid_out(block.lines) != block.text:
        return []
    return [Edit(block.start, block.end, (laid_out(places),))]


def _take_out(places: list[Line], index: int) -> None:
    """Take a statement out; the next one begins the paragraph that it began."""
    gap = places.pop(index).gap
    if index < len(places):
        places[index] = dataclasses.replace(places[index], gap=max(gap, places[index].gap))


def _put_in(places: list[Line], kin: Sequence[int], line: Line) -> None:
    """Put a statement behind the last of its kin that sorts before it, or before all of them."""
    before = [
        index for index in kin if sort_key(places[index], _BY_NAME) < sort_key(line, _BY_NAME)
    ]
    if before:
        places.insert(before[-1] + 1, dataclasses.replace(line, gap=0))
        return
    first = places[kin[0]]
    places[kin[0]] = dataclasses.replace(first, gap=0)
    places.insert(kin[0], dataclasses.replace(line, gap=first.gap))


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
