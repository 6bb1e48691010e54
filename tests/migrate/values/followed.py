"""Programs in which two optimizers go some way, and what ``rewrite`` makes of them."""

from __future__ import annotations

import re

from tests.support.rewriting_texts import rewrite

FLAX = "from flax import optim\n\n\n"
MADE = """

def f(p, g, n):
    a = optim.Adam(0.1).create(p)
    b = optim.GradientDescent(0.2).create(p)
"""


def assert_followed(imports: str, top: str, lines: str) -> None:
    """Assert that an optimizer is known for what it is at the end of its way.

    Args:
      imports: statements before all.
      top: a class or function.
      lines: by these ``x`` is one of the optimizers ``a`` and ``b``.
    """
    program = f"{imports}{FLAX}{top}{MADE}    {lines}\n    return x.target\n"
    text = rewrite(program, "optax")
    assert "return x.params\n" in text, text
    assert ".target" not in text and "apply_gradient(" not in text, text


def assert_left(imports: str, top: str, lines: str, reason: str, asked: str = "target") -> None:
    """Assert that optimizers stay what they are where the way of one is not seen.

    Args:
      imports: statements before all.
      top: a class or function.
      lines: by these ``x`` is one of the optimizers ``a`` and ``b``.
      reason: what is said of it.
      asked: what it is asked for in the end.
    """
    last = f"    return x.{asked}, a.target\n"
    left = rewrite(f"{imports}{FLAX}{top}{MADE}    {lines}\n{last}", "optax")
    # A mark that is too long for a line goes on in the next.
    said = re.sub(r"\n +#   ", " ", left)
    assert "# FOC2" in said and reason in said and left.endswith(last), left
