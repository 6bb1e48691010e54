"""What every rule has: a code, what it does and why, an example, and when it refuses."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Example:
    """A file before and after; both are run through ``rewrite`` by the tests.

    Args:
      before: a small module that works with Flax 0.5.3.
      shim: what ``rewrite --to shim`` makes of it; None: the example is about ``--to optax`` only.
      optax: what ``rewrite --to optax`` makes of it; None: about ``--to shim`` only.
      language: ``py``, or ``gin``, which is the end of such a file's name.
    """

    before: str
    shim: str | None = None
    optax: str | None = None
    language: str = "py"

    @classmethod
    def alike(cls, before: str, after: str, language: str = "py") -> Example:
        """One of which either target makes the same."""
        return cls(before, shim=after, optax=after, language=language)


@dataclasses.dataclass(frozen=True)
class Rule:
    """A rule as people read of it; ``explain`` and ``migration_guide/rules`` show the same text.

    All texts are Markdown.

    Args:
      code: ``FOC`` and three digits; it never changes and is never used again.
      name: a few words joined by hyphens.
      summary: in one line, what it finds.
      what: what ``rewrite`` does about it, for each target.
      why: what happens without, or why the replacement is exact.
      refuses: when it leaves the code as it is; "" if never.
      examples: at least one.
    """

    code: str
    name: str
    summary: str
    what: str
    why: str
    refuses: str
    examples: tuple[Example, ...]
