"""What a rewrite was killed with can be put back by what it kept."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

from tests.support.changed_files import NEW, OLD, changes, content
from tests.support.places import ROOT
from tests.support.processes import compat


def test_a_verification_that_is_killed_can_be_undone(tmp_path: Path) -> None:
    program = tmp_path / "it's a program"
    changes(program, "a.py", "b/c.py")
    (program / "b/c.py").chmod(0o750)
    arguments = ["rewrite", ".", "--to", "shim", "--write", "--verify"]
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "flaxoptim_compat", *arguments),
            "grep -q tree_map a.py || exec sleep 60",
        ],
        cwd=program,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    while (program / "b/c.py").read_bytes() == OLD:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    _, said = process.communicate()
    assert (program / "b/c.py").read_bytes() == NEW
    # The next run does not go on from there, and says what to do, as the killed one did.
    again = compat(["rewrite", "--to", "optax", "--write", "."], program)
    assert again.returncode == 2
    assert "was killed here before it knew" in again.stderr
    commands = re.findall(r"^ +(cp .*)$", said, re.MULTILINE)
    assert commands == re.findall(r"^ +(cp .*)$", again.stderr, re.MULTILINE)
    subprocess.run(commands[0], shell=True, check=True)
    assert content(program) == {"a.py": OLD, "b/c.py": OLD}
    assert stat.S_IMODE((program / "b/c.py").stat().st_mode) == 0o750
