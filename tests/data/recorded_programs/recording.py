"""Recording a program in the current folder, as its command does."""

from __future__ import annotations

import contextlib
import io
import textwrap
from pathlib import Path

from flaxoptim_compat.parity.recordings import recorder
from flaxoptim_compat.parity.recordings.recording import Recording

FOLDER = Path(__file__).parent
OUT = "out.npz"
_IMPORTS = "import jax, jax.numpy as jnp, numpy as np\nfrom flaxoptim_compat import optim\n"


def place(program: str) -> str:
    """How the command names a program.

    Args:
      program: one in this folder, or source text with a function ``run``.
    """
    if "\n" not in program:
        return str(FOLDER / program)
    Path("program.py").write_text(_IMPORTS + textwrap.dedent(program))
    return "program.py:run"


def record(program: str, *arguments: str) -> Recording:
    """Record a program, and open the file."""
    Path(OUT).unlink(missing_ok=True)
    assert recorder.main([OUT, place(program), *arguments]) in (0, 130)
    assert not list(Path().glob("unfinished*"))
    return Recording.open(OUT)


def refused(program: str, *arguments: str) -> str:
    """Try to record a program that cannot be; what is said then."""
    with contextlib.redirect_stderr(io.StringIO()) as said:
        assert recorder.main([OUT, place(program), *arguments]) == 2
    assert not list(Path().glob("*.npz*"))
    return said.getvalue()
