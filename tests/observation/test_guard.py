"""An observed process keeps to the copy in which it runs, and reports what it did."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from flaxoptim_compat.legacy.launching import child_environment
from flaxoptim_compat.observation import process_reports, starting
from flaxoptim_compat.observation.copied_folder import CopiedFolder
from flaxoptim_compat.observation.process_reports import ProcessReport
from tests.support.places import ROOT


class Proof:
    """A folder of a user, its copy, and what a command does there."""

    def __init__(self, place: Path) -> None:
        self.original, self.copy = place / "original", place / "copy"
        self.elsewhere, self.reports = place / "elsewhere", place / "reports"
        for folder in (self.original, self.elsewhere, self.reports):
            folder.mkdir()
        self.linked: tuple[str, ...] = ()
        self.made_before: tuple[str, ...] = ()
        self.environment: dict[str, str] = {}
        self.output = ""
        self.status = 0

    def write(self, name: str, text: str) -> Path:
        """A file in the original, where `ORIGINAL` and `ELSEWHERE` stand for these folders."""
        path = self.original / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            textwrap.dedent(text)
            .replace("ORIGINAL", str(self.original))
            .replace("ELSEWHERE", str(self.elsewhere))
        )
        return path

    def run(self, *words: str, program: str = sys.executable) -> list[ProcessReport]:
        """Run Python in a new copy; what is reported then."""
        shutil.rmtree(self.copy, ignore_errors=True)
        skipped = shutil.ignore_patterns(*self.linked)
        shutil.copytree(self.original, self.copy, symlinks=True, ignore=skipped)
        for name in self.linked:
            (self.copy / name).symlink_to(self.original / name)
        folder = CopiedFolder(
            [str(self.original)], str(self.copy), str(self.reports), self.linked, self.made_before
        )
        environment = child_environment(
            {**os.environ, "JAX_PLATFORMS": "cpu", **self.environment}, (), era=True, names=0
        )
        environment[starting.COPY] = folder.to_environment()
        done = subprocess.run(
            [program, *words],
            cwd=self.copy,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=120,
        )
        self.output, self.status = done.stdout, done.returncode
        reports = process_reports.read(self.reports)
        for _ in range(100):  # helpers of multiprocessing end a little later
            if process_reports.RUNS not in {report.ended for report in reports}:
                break
            time.sleep(0.05)
            reports = process_reports.read(self.reports)
        return reports

    def run_text(self, text: str) -> ProcessReport:
        """Run a program that starts no other; its report."""
        self.write("program.py", text)
        *_, report = self.run("program.py")
        return report


@pytest.fixture
def proof() -> Iterator[Proof]:
    # Not in a temporary folder, where all is free to be changed.
    # The folder of temporary files is free, and a checkout may be in there.
    with tempfile.TemporaryDirectory(dir=Path.home(), prefix="flaxoptim-compat-") as folder:
        yield Proof(Path(folder))


def ends(reports: list[ProcessReport]) -> list[str]:
    return [report.ended for report in reports]


# What is executed


IMPORTS = {
    "sys.path": "import sys\nsys.path.insert(0, 'ORIGINAL/src')\nimport part",
    "sys.path, later": "import json, sys\nsys.path = ['ORIGINAL/src', *sys.path]\nimport part",
    "__path__": (
        "import package\npackage.__path__.append('ORIGINAL/src')\nimport package.part as part"
    ),
    "a namespace": (
        "import sys\nsys.path.append('ORIGINAL/src')\nimport spread.part as part\n"
        "assert 'ORIGINAL' not in repr(part.__spec__)"
    ),
    "setuptools": (
        "import sys\nsys.path.append('ORIGINAL/site')\nimport __editable___part_finder\n"
        "sys.meta_path.append(__editable___part_finder._EditableFinder)\nimport part"
    ),
    "a finder with a table": (
        "import sys\nfrom importlib.util import spec_from_file_location as at\n"
        "class Finder:\n"
        "    def __init__(self): self.files = {'part': 'ORIGINAL/src/part.py'}\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        return at(name, self.files[name]) if name in self.files else None\n"
        "sys.meta_path.insert(0, Finder())\nimport json.tool, part"
    ),
}
FINDER = """
    from importlib.util import spec_from_file_location
    MAPPING = {'part': 'ORIGINAL/src/part'}
    NAMESPACES = {}
    class _EditableFinder:
        @classmethod
        def find_spec(cls, name, path=None, target=None):
            if name in MAPPING:
                return spec_from_file_location(name, MAPPING[name] + '.py')
"""


@pytest.mark.parametrize("program", IMPORTS.values(), ids=IMPORTS)
def test_imports_find_the_copy(proof: Proof, program: str) -> None:
    for name in ("src/part.py", "src/spread/part.py", "package/__init__.py"):
        proof.write(name, "")
    proof.write("site/__editable___part_finder.py", FINDER)
    report = proof.run_text(program + "\nprint(part.__file__)")
    assert proof.output.startswith(str(proof.copy)), proof.output
    assert report.executed == () and report.ended == "status 0"


def test_pythonpath_and_pth_files_find_the_copy(proof: Proof) -> None:
    proof.write("src/part.py", "")
    proof.write("site/part.pth", "ORIGINAL/other\n")
    proof.write("other/other.py", "")
    proof.environment["PYTHONPATH"] = str(proof.original / "src")
    proof.run_text("""
        import os, site, subprocess, sys, part
        site.addsitedir('ELSEWHERE/../copy/site')
        import other
        print(part.__file__, other.__file__, os.environ['PYTHONPATH'])
    """)
    assert str(proof.original) not in proof.output and "src/part.py" in proof.output


EXECUTED = {
    "importlib": "from importlib.util import *\n"
    "spec = spec_from_file_location('part', 'ORIGINAL/part.py')\n"
    "spec.loader.exec_module(module_from_spec(spec))",
    "exec": "exec(compile(open('ORIGINAL/part.py').read(), 'ORIGINAL/part.py', 'exec'))",
    "runpy": "import runpy\nrunpy.run_path('ORIGINAL/part.py')",
    "a subprocess": "import subprocess, sys\nsubprocess.run([sys.executable, 'ORIGINAL/part.py'])",
    "a link": "import link",
    "its current folder": (
        "import os\nos.chdir('ORIGINAL')\nimport runpy\nrunpy.run_path('part.py')"
    ),
}


@pytest.mark.parametrize("program", EXECUTED.values(), ids=EXECUTED)
def test_executed_originals_are_reported(proof: Proof, program: str) -> None:
    part = proof.write("part.py", "print('ran')")
    (proof.original / "link.py").symlink_to(part)
    report = proof.run_text(program)
    assert report.executed == (str(part),) and proof.output == "ran\n"


def test_the_program_itself_may_be_an_original(proof: Proof) -> None:
    program = proof.write("train.py", "")
    (report,) = proof.run(str(program))
    assert report.executed == (str(program),) and report.program == "train.py"


def test_linked_folders_may_be_executed(proof: Proof) -> None:
    proof.write("venv/part.py", "print(__file__)")
    proof.linked = ("venv",)
    report = proof.run_text("import sys\nsys.path.insert(0, 'ORIGINAL/venv')\nimport part")
    assert proof.output == f"{proof.original}/venv/part.py\n" and report.executed == ()


# What is changed


CHANGES = {
    "open": "open('ELSEWHERE/old', 'w')",
    "appending": "open(b'ELSEWHERE/old', 'ab')",
    "open to write in": "open('ELSEWHERE/old', 'r+')",
    "os.open": "import os; os.open('ELSEWHERE/old', os.O_RDWR)",
    "pathlib": "import pathlib; pathlib.Path('ELSEWHERE/old').write_text('')",
    "io.FileIO": "import io, pathlib; io.FileIO(pathlib.Path('ELSEWHERE/old'), 'w')",
    "an opener": "import os; open('ELSEWHERE/old', 'w', opener=os.open)",
    "remove": "import os; os.remove('ELSEWHERE/old')",
    "rename": "import os; os.rename('ELSEWHERE/old', 'here')",
    "replace": "import os; open('here', 'w'); os.replace('here', 'ELSEWHERE/old')",
    "rmdir": "import os; os.rmdir('ELSEWHERE/folder')",
    "rmtree": "import shutil; shutil.rmtree('ELSEWHERE', ignore_errors=True)",
    "move": "import shutil; open('here', 'w'); shutil.move('here', 'ELSEWHERE/old')",
    "copy": "import shutil; open('here', 'w'); shutil.copy('here', 'ELSEWHERE/old')",
    "truncate": "import os; os.truncate('ELSEWHERE/old', 0)",
    "chmod": "import os; os.chmod('ELSEWHERE/old', 0)",
    "a descriptor": "import os; os.unlink('old', dir_fd=os.open('ELSEWHERE', os.O_RDONLY))",
    "a link": "import os; os.symlink('ELSEWHERE', 'link'); open('link/old', 'w')",
    "a relative path": "open('../elsewhere/old', 'w')",
    "the current folder": "import os; os.chdir('ELSEWHERE'); open('old', 'w')",
    "numpy": "import numpy; numpy.save(open('ELSEWHERE/old', 'wb'), 1)",
    "a thread": (
        "from concurrent.futures import *\n"
        "ThreadPoolExecutor().submit(open, 'ELSEWHERE/old', 'w').result()"
    ),
}


@pytest.mark.parametrize("program", CHANGES.values(), ids=CHANGES)
def test_what_exists_elsewhere_is_not_changed(proof: Proof, program: str) -> None:
    (proof.elsewhere / "old").write_text("old")
    (proof.elsewhere / "folder").mkdir()
    report = proof.run_text(program)
    assert (proof.elsewhere / "old").read_text() == "old" and (proof.elsewhere / "folder").is_dir()
    ((path, what),) = report.refused
    assert path.startswith(str(proof.elsewhere)) and report.made == ()
    assert f"runs in a copy of its folder, and no file that exists elsewhere is {what}" in (
        proof.output
    )
    assert report.has_failed and path in proof.output and "'ELSE" not in proof.output


@pytest.mark.parametrize(
    "write", ["open('ORIGINAL/runs/new', 'w')", "import os; os.mkdir('ORIGINAL/new')"]
)
def test_nothing_is_added_to_the_folder_itself(proof: Proof, write: str) -> None:
    proof.write("runs/old", "")
    report = proof.run_text(write)
    assert [what for _, what in report.refused] == ["made"] and report.made == ()
    assert not list(proof.original.rglob("new"))


def test_a_linked_folder_is_not_changed_but_may_grow(proof: Proof) -> None:
    old = proof.write("data/old", "old")
    proof.linked = ("data",)
    report = proof.run_text("open('data/new', 'w')\nopen('data/old', 'w')")
    assert report.refused == ((str(old), "overwritten"),) and old.read_text() == "old"
    assert report.made == (str(proof.original / "data/new"),)


FREE = {
    "what it has made": """
        import os, shutil
        os.makedirs('ELSEWHERE/runs/1')
        for name in ('ELSEWHERE/runs/1/a', 'ELSEWHERE/b'):
            open(name, 'w')
            open(name, 'a')
        os.rename('ELSEWHERE/b', 'ELSEWHERE/c')
        os.replace('ELSEWHERE/c', 'ELSEWHERE/runs/1/a')
        shutil.rmtree('ELSEWHERE/runs')
    """,
    "what another process has made": """
        import os, subprocess, sys
        subprocess.run([sys.executable, '-c', "open('ELSEWHERE/x', 'w')"], check=True)
        os.remove('ELSEWHERE/x')
    """,
    "what an earlier run has made": "open('ELSEWHERE/before/old', 'w')",
    "temporary folders": """
        import os, tempfile
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):
                open(folder + '/a', 'w')
    """,
    "devices": "open('/dev/null', 'w')\nopen('/dev/stdout', 'w').write('')",
    "caches": """
        import os
        for _ in range(2):
            open(os.path.expanduser('~/.cache/guard-of-a-test'), 'w')
        os.remove(os.path.expanduser('~/.cache/guard-of-a-test'))
    """,
    "the cache that jax is told": """
        import jax
        jax.config.update('jax_compilation_cache_dir', 'ELSEWHERE/before')
        open('ELSEWHERE/before/old', 'w')
    """,
    "a cache of code": "import py_compile\npy_compile.compile('ELSEWHERE/module.py')",
    "reading": "open('ELSEWHERE/module.py').read()\nopen('ORIGINAL/program.py').read()",
    "the copy": """
        import os, shutil
        for _ in range(2):
            os.makedirs('runs')
            open('runs/a', 'w')
            open('COPY/runs/a', 'w')
            shutil.rmtree('runs')
        os.remove('program.py')
    """.replace("COPY", "ELSEWHERE/../copy"),
}


@pytest.mark.parametrize("case", FREE)
def test_what_is_free(proof: Proof, case: str) -> None:
    if case in ("what an earlier run has made", "the cache that jax is told"):
        (proof.elsewhere / "before").mkdir()
        (proof.elsewhere / "before/old").write_text("old")
    if case == "what an earlier run has made":
        proof.made_before = (str(proof.elsewhere / "before"),)
    (proof.elsewhere / "module.py").write_text("")
    (proof.elsewhere / "__pycache__").mkdir()
    code = proof.elsewhere / f"__pycache__/module.{sys.implementation.cache_tag}.pyc"
    code.write_bytes(b"")
    os.makedirs(os.path.expanduser("~/.cache"), exist_ok=True)
    proof.write("program.py", FREE[case])
    reports = proof.run("program.py")
    assert proof.status == 0, proof.output
    for report in reports:
        assert (report.refused, report.made, report.has_failed) == ((), (), False)


def test_existing_errors_are_those_of_python(proof: Proof) -> None:
    (proof.elsewhere / "old").write_text("old")
    report = proof.run_text("""
        import os, pytest
        with pytest.raises(FileExistsError):
            open('ELSEWHERE/old', 'x')
        with pytest.raises(FileExistsError):
            os.mkdir('ELSEWHERE/old')
        with pytest.raises(FileNotFoundError):
            os.remove('ELSEWHERE/none')
        with pytest.raises(IsADirectoryError):
            open('ELSEWHERE', 'w')
        with pytest.raises(ValueError):
            open('ELSEWHERE/a' + chr(0), 'w')
    """)
    assert report.ended == "status 0" and report.refused == ()


def test_a_new_database_is_reported(proof: Proof) -> None:
    report = proof.run_text("""
        import sqlite3
        for name in (':memory:', 'here.db', 'ELSEWHERE/new.db', 'ELSEWHERE/new.db'):
            sqlite3.connect(name).execute('create table if not exists numbers (n)')
    """)
    assert report.made == (str(proof.elsewhere / "new.db"),) and report.ended == "status 0"


# How it ended


ENDS = {
    "": "status 0",
    "import sys; sys.exit(3)": "status 3",
    "import sys; sys.exit('text')": "status 1",
    "import sys; sys.exit()": "status 0",
    "exit(4)": "status 4",
    "raise SystemExit(5)": process_reports.UNKNOWN,
    "import sys\ntry: sys.exit(3)\nexcept SystemExit: pass": "status 0",
    "1 / 0": "ZeroDivisionError: division by zero",
    "import sys\nsys.excepthook = print\n1 / 0": "ZeroDivisionError: division by zero",
    "raise KeyboardInterrupt": "KeyboardInterrupt",
    "def f(: pass": "SyntaxError: invalid syntax (program.py, line 1)",
    "import os; os._exit(6)": "status 6",
    "import os, signal; os.kill(os.getpid(), signal.SIGKILL)": "killed",
    "import os; os.abort()": "killed",
    "import os, sys; os.execv('/bin/true', ['true'])": "status 0",
    "import os; os.closerange(3, 99)": "status 0",
    "import sys; sys.stdout.close(); raise ValueError('x')": "ValueError: x",
    "import shutil; shutil.rmtree('ELSEWHERE/../reports')": None,
}


@pytest.mark.parametrize(("program", "ended"), ENDS.items())
def test_how_a_process_ended(proof: Proof, program: str, ended: str | None) -> None:
    proof.write("program.py", program)
    reports = proof.run("program.py")
    assert ends(reports) == ([ended] if ended is not None else [])
    if ended is None:
        assert (proof.status, proof.output) == (0, "")
    elif ended != process_reports.UNKNOWN:
        assert reports[0].has_failed == (proof.status != 0)


def test_the_status_of_a_module(proof: Proof) -> None:
    proof.write("package/__main__.py", "raise SystemExit(7)")
    proof.write("package/__init__.py", "")
    (report,) = proof.run("-m", "package")
    assert (report.ended, report.program, proof.status) == ("status 7", "package", 7)


def test_forked_children_report_themselves(proof: Proof) -> None:
    proof.write(
        "program.py",
        """
        import os, sys
        for end in (lambda: os._exit(2), lambda: sys.exit(3), lambda: 1 / 0):
            if not os.fork():
                end()
                raise AssertionError
            os.wait()
    """,
    )
    found = ends(proof.run("program.py"))
    assert found == ["status 0", "status 2", "status 3", "ZeroDivisionError: division by zero"]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_of_multiprocessing(proof: Proof, method: str) -> None:
    proof.write("src/part.py", "def work(n): return n, __file__\ndef fail(): 1 / 0")
    program = f"""
        import multiprocessing, sys
        sys.path.insert(0, 'ORIGINAL/src')
        import part
        if __name__ == '__main__':
            context = multiprocessing.get_context('{method}')
            worker = context.Process(target=part.fail)
            worker.start()
            worker.join()
            with context.Pool(2) as pool:
                print(*pool.map(part.work, [1, 2]))
    """
    proof.write("program.py", program)
    reports = proof.run("program.py")
    assert proof.output.count(str(proof.copy)) >= 2 and str(proof.original) not in proof.output
    assert not any(report.executed for report in reports)
    found = ends(reports)
    assert found.count("status 1") == 1 and reports[0].ended == "status 0"
    known = {"status 0", "status 1", process_reports.STOPPED, process_reports.UNKNOWN}
    assert set(found) <= known


def test_children_that_are_other_programs_have_no_report(proof: Proof) -> None:
    proof.write(
        "program.py",
        """
        import os, subprocess
        subprocess.run(['true'], preexec_fn=os.setsid, check=True)
        subprocess.Popen(['sleep', '9']).terminate()
    """,
    )
    assert ends(proof.run("program.py")) == ["status 0"]


# Programs that start programs


def test_pytest_in_the_copy(proof: Proof) -> None:
    proof.write("pyproject.toml", "[tool.pytest.ini_options]\naddopts = '-p no:cacheprovider'")
    proof.write("tests/conftest.py", "import sys\nsys.path.insert(0, 'ORIGINAL/src')")
    proof.write("src/part.py", "")
    proof.write(
        "tests/test_it.py",
        """
        import part
        def test_it():
            assert 'copy' in part.__file__ and 'copy' in __file__
        def test_that_fails():
            assert False
    """,
    )
    (report,) = proof.run("-m", "pytest", "-q")
    assert "1 failed, 1 passed" in proof.output
    assert (report.executed, report.ended, report.refused) == ((), "status 1", ())


def test_a_notebook_runs_in_the_copy(proof: Proof) -> None:
    proof.write("src/part.py", "")
    proof.write(
        "run.py",
        """
        import nbclient, nbformat
        text = "import sys; sys.path.insert(0, 'ORIGINAL/src'); import part; print(part.__file__)"
        cells = [nbformat.v4.new_code_cell(text)]
        book = nbclient.NotebookClient(nbformat.v4.new_notebook(cells=cells)).execute()
        print(book.cells[0].outputs[0].text)
    """,
    )
    proof.environment["IPYTHONDIR"] = str(proof.copy / ".ipython")
    reports = proof.run("run.py")
    assert proof.output.strip().endswith(str(proof.copy / "src/part.py")), proof.output
    assert len(reports) >= 2
    for report in reports:
        assert (report.executed, report.refused, report.made) == ((), (), ())
        assert not report.has_failed


@pytest.mark.exhaustive
def test_a_real_editable_install(proof: Proof) -> None:
    proof.write(
        "pyproject.toml",
        """
        [build-system]
        requires = ["setuptools>=64"]
        [project]
        name = "part"
        version = "0"
    """,
    )
    proof.write("src/part/__init__.py", "from part.inner import *\nprint(__file__)")
    proof.write("src/part/inner.py", "")
    venv = proof.elsewhere / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    python = str(venv / "bin/python")
    (packages,) = venv.glob("lib/*/site-packages")
    (packages / "this_package.pth").write_text(str(ROOT))
    for mode in ("lenient", "strict"):
        install = [python, "-m", "pip", "install", "-q", "-e", str(proof.original)]
        subprocess.run([*install, f"--config-settings=editable_mode={mode}"], check=True)
        *_, report = proof.run("-c", "import part", program=python)
        assert report.ended == process_reports.UNKNOWN  # of python -c
        if mode == "lenient":
            assert proof.output == f"{proof.copy}/src/part/__init__.py\n"
            assert report.executed == ()
        else:  # the files of the build folder are links to the sources
            sources = [
                str(proof.original / "src/part" / name) for name in ("__init__.py", "inner.py")
            ]
            assert sorted(report.executed) == sources
