"""What contributors read, and what runs on GitHub, agree with the files of the project."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from flaxoptim_compat.versions.of_python import read_toml
from tests.support.pages import blocks
from tests.support.places import ROOT

GITHUB = ROOT / ".github"
CONTRIBUTING = (GITHUB / "CONTRIBUTING.md").read_text()
SCRIPT = (ROOT / ".ci" / "run").read_text()
PROJECT = read_toml((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = {path.name: path.read_text() for path in (GITHUB / "workflows").glob("*.yml")}
FORMS = sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml"))

# --- paths

# The architecture leaves out the first folder of each path, and has a test of its own.
PAGES = sorted({*GITHUB.rglob("*.md")} - {GITHUB / "ARCHITECTURE.md"})
PATH = re.compile(r"\.?\w[\w.-]*(/[\w.-]+)+/?|\w+\.(md|py|toml|yml)")


def paths_in(text: str) -> Iterator[str]:
    """The words in code that look like paths of this repository, without tests inside of files."""
    for code in re.findall(r"`([^`\n]+)`", text):
        for word in code.split():
            if PATH.fullmatch(word):
                yield word


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_paths_are_there_and_links_lead_somewhere(page: Path) -> None:
    # What the set-up makes, and what is fetched, is not committed; workflows name one another.
    missing = {
        path
        for path in paths_in(page.read_text())
        if not path.startswith((".venv/", "build/", "tests/.cache"))
        and not (ROOT / path).exists()
        and path not in WORKFLOWS
    }
    assert not missing
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


def section(heading: str) -> str:
    return CONTRIBUTING.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def test_the_files_of_an_optimizer_are_all_files_that_name_it() -> None:
    items = re.findall(r"^- .*(?:\n  .*)*", section("An optimizer"), re.MULTILINE)
    listed = {path for item in items for path in paths_in(item)}
    named = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "flaxoptim_compat").rglob("*.py")
        if "adagrad" in path.read_text().lower()
    }
    assert listed == named


def test_the_commands_of_the_set_up_name_what_there_is() -> None:
    extras = PROJECT["optional-dependencies"]
    (install,) = blocks(section("Set up").partition("This needs")[0], "sh")
    assert re.findall(r"\[(\w+)\]", install) == ["dev"] and "dev" in extras
    for block in blocks(CONTRIBUTING, "sh"):
        for line in block.splitlines():
            tests = [word for word in shlex.split(line) if word.startswith("tests/")]
            assert all((ROOT / path).exists() for path in tests)


# --- stages


def stages() -> list[str]:
    """Those that ``.ci/run`` knows, in its order."""
    (listed,) = re.findall(r"^stages=\(([^)]*)\)", SCRIPT, re.MULTILINE)
    return listed.split()


def test_each_stage_is_a_function_and_contributors_read_of_it() -> None:
    assert set(re.findall(r"^stage_(\w+)\(\)", SCRIPT, re.MULTILINE)) == set(stages())
    assert re.findall(r"^\| `\.ci/run (\w+)` \|", CONTRIBUTING, re.MULTILINE) == stages()


def test_what_stages_run_is_there() -> None:
    # Given several files, pytest runs nothing if one of them is missing.
    words = [word for word in shlex.split(SCRIPT, comments=True) if word.startswith("tests/")]
    named = [name for word in words for name in braces_expanded(word.partition("::")[0])]
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert len(named) > len(words) > 10


def braces_expanded(word: str) -> list[str]:
    """What a shell makes of ``test_{a,b}.py``."""
    match = re.fullmatch(r"(.*)\{(.*)\}(.*)", word)
    return [f"{match[1]}{each}{match[3]}" for each in match[2].split(",")] if match else [word]


def steps(text: str) -> Iterator[dict[str, Any]]:
    for job in yaml.safe_load(text)["jobs"].values():
        yield from job.get("steps", ())


def stages_run_by(text: str) -> set[str]:
    runs = [step.get("run", "") for step in steps(text)]
    return set(itertools.chain(*(re.findall(r"\.ci/run +([\w ]+)", run) for run in runs)))


def test_ci_on_github_runs_all_stages() -> None:
    assert stages_run_by(WORKFLOWS["ci.yml"]) == set(stages())
    assert stages_run_by(WORKFLOWS["publish.yml"]) == {"wheel"}


def test_what_workflows_tell_a_stage_is_something_that_it_reads() -> None:
    # Those of pip and of Python are read without being named.
    told = {
        name
        for text in WORKFLOWS.values()
        for step in steps(text)
        if ".ci/run" in step.get("run", "")
        for name in step.get("env", {})
        if not name.startswith(("PIP_", "PYTHON"))
    }
    assert all(f"${{{name}" in SCRIPT for name in told), told


# --- workflows


@pytest.mark.parametrize("name", WORKFLOWS)
def test_workflows_ask_for_little_and_end(name: str) -> None:
    workflow = yaml.safe_load(WORKFLOWS[name])
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["group"]
    for each, job in workflow["jobs"].items():
        # The only right beyond reading is to say who the run is, where that publishes; Pages asks
        # for one more.
        expected = {"id-token": "write"} | ({"pages": "write"} if name == "pages.yml" else {})
        assert job.get("permissions") == (expected if each == "publish" else None)
        assert "uses" in job or job["timeout-minutes"] <= 90
        for step in job.get("steps", ()):
            action, _, version = step.get("uses", "").partition("@")
            assert not action or re.fullmatch(r"(release/)?v\d+", version)
            assert action != "actions/checkout" or step["with"] == {"persist-credentials": False}


def test_ci_begins_with_the_oldest_python_that_is_allowed() -> None:
    oldest = PROJECT["requires-python"].removeprefix(">=")
    matrix = yaml.safe_load(WORKFLOWS["ci.yml"])["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix["python"][0] == oldest
    minors = [int(version.partition(".")[2]) for version in matrix["python"]]
    assert minors == list(range(minors[0], minors[0] + len(minors)))
    used = {
        version
        for text in WORKFLOWS.values()
        for step in steps(text)
        for version in str(step.get("with", {}).get("python-version", "")).split("\n")
        if re.fullmatch(r"[\d.]+", version)
    }
    assert used <= set(matrix["python"])


def test_the_site_is_published_as_contributors_make_it() -> None:
    (command,) = blocks(section("The site"), "sh")
    install, make = command.replace(".venv/bin/", "").strip().split(" && ")
    runs = [step["run"] for step in steps(WORKFLOWS["pages.yml"]) if "run" in step]
    assert runs == [f"python -m {install}", make]
    (upload,) = (step for step in steps(WORKFLOWS["pages.yml"]) if "upload" in step.get("uses", ""))
    assert upload["with"]["path"] == make.split()[-1]


def test_only_what_was_tested_is_published() -> None:
    jobs = yaml.safe_load(WORKFLOWS["publish.yml"])["jobs"]
    assert set(jobs["publish"]["needs"]) == {"ci", "wheel"} and jobs["wheel"]["needs"] == "build"
    builds = [name for name in jobs if "-m build" in str(jobs[name].get("steps"))]
    assert builds == ["build"]
    assert not any("run" in step for step in jobs["publish"]["steps"])


# --- the rest


def test_commits_are_checked_by_the_versions_that_ci_has() -> None:
    assert yaml.safe_load((GITHUB / "dependabot.yml").read_text())["updates"]
    pins = [each for each in PROJECT["optional-dependencies"]["dev"] if "==" in each]
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    hooks = {hook["id"]: hook for hook in local["hooks"]}
    (ruff,) = (pin for pin in pins if pin.startswith("ruff"))
    for name in ("ruff-check", "ruff-format"):
        assert hooks[name]["additional_dependencies"] == [ruff]
    # These are those of the environment, which is set up with the extra.
    for name in ("mypy", "lint-imports"):
        assert hooks[name]["language"] == "system" and hooks[name]["entry"] == f".venv/bin/{name}"


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_reports_are_asked_for_all_versions(path: Path) -> None:
    form = yaml.safe_load(path.read_text())
    if path.name != "config.yml":
        described = {each["id"]: each for each in form["body"] if "id" in each}
        versions = described["versions"]
        assert "`flaxoptim-compat --version`" in versions["attributes"]["description"]
        assert versions["validations"] == {"required": True}
