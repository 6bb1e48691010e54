"""What the names in the patterns of ``match`` get."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.memory import Held, Memory
from flaxoptim_compat.migrate.values.objects import ANYWHERE, Container, key_of


def captured(
    memory: Memory, pattern: ast.pattern, held: Held, modules: Mapping[str, Document]
) -> Iterator[tuple[str, Held]]:
    """The names in a pattern, each with what it takes of what is matched.

    Args:
      memory: the variables.
      pattern: the pattern of a case, or one inside of it.
      held: what is matched with it.
      modules: the files that the file with the pattern imports, by their names there.
    """
    inner: list[tuple[ast.pattern, Held]] = []
    match pattern:
        case ast.MatchAs(pattern=inside, name=name):
            inner += [] if inside is None else [(inside, held)]
            if name is not None:
                yield name, held
        case ast.MatchOr(patterns=several):
            inner += [(each, held) for each in several]
        case ast.MatchSequence(patterns=entries):
            before = True  # a star, which takes nobody knows how many
            for index, each in enumerate(entries):
                before = before and not isinstance(each, ast.MatchStar)
                inner.append((each, memory.item(held, index) if before else memory.contents(held)))
        case ast.MatchStar(name=str(name)):
            yield name, _holding(memory, pattern, held)
        case ast.MatchMapping(keys=keys, patterns=entries, rest=rest):
            for key, each in zip(keys, entries, strict=True):
                inner.append((each, memory.item(held, key_of(key))))
            if rest is not None:
                yield rest, _holding(memory, pattern, memory.contents(held))
        case ast.MatchClass(patterns=fields, kwd_attrs=names, kwd_patterns=named):
            # Which attributes those by position are, the class alone says.
            inner += [(each, memory.item(held, index)) for index, each in enumerate(fields)]
            for name, each in zip(names, named, strict=True):
                inner.append((each, memory.attribute(held, name, modules)))
    for each, value in inner:
        yield from captured(memory, each, value, modules)


def _holding(memory: Memory, pattern: ast.pattern, held: Held) -> Held:
    """A list or dict of the rest that a pattern takes."""
    rest = Container(pattern, None, is_dict=isinstance(pattern, ast.MatchMapping))
    memory.put(rest, ANYWHERE, held)
    return memory.made(rest)
