"""The findings of all rules in files of a program, and their edits for one target."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Finding, settled
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.editing.import_statements import imports_of
from flaxoptim_compat.migrate.names.meanings import exporters
from flaxoptim_compat.migrate.names.names import Names
from flaxoptim_compat.migrate.optimizers.checkpoints import conversions
from flaxoptim_compat.migrate.optimizers.reading import Facts, Reading
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.imported_files import imported_files
from flaxoptim_compat.migrate.program.noqa import NOTHING_IGNORED, Ignored
from flaxoptim_compat.migrate.program.releases import NEWEST, Releases
from flaxoptim_compat.migrate.rules import recognisers, rule_modules
from flaxoptim_compat.migrate.run.settings import ProjectSettings
from flaxoptim_compat.migrate.values.evidence import Evidence
from flaxoptim_compat.observation.places import Uses


class Task(NamedTuple):
    """The options of a run.

    Args:
      target: ``shim`` or ``optax``; "" if nothing is to be rewritten.
      settings: the settings that say which rules count where.
      accept_changes: whether definitions may become their nearest in plain optax, although that
        changes the numbers.
      releases: the versions that the result is for.
      uses: where an observed run used optimizers; None: there was no such run.
      has_tensorflow: whether TensorFlow is installed, or the program imports it.
    """

    target: str = ""
    settings: ProjectSettings = ProjectSettings()
    accept_changes: bool = False
    releases: Releases = NEWEST
    uses: Uses | None = None
    has_tensorflow: bool = False


class FileFindings(NamedTuple):
    """The findings in one file, with its unknown names, imports and optimizers.

    Args:
      document: the file.
      findings: the findings, in the order of their places.
      unknown: the offsets of names that are not understood, and why.
      imports: the edits of the import statements.
      units: the optimizers whose first use is in this file, with their uses in all files.
    """

    document: Document
    findings: list[Finding]
    unknown: list[tuple[int, str]]
    imports: list[Edit]
    units: Sequence[Unit] = ()


def analyse(
    documents: Sequence[Document],
    ignored: Mapping[Path, Ignored],
    task: Task,
    *,
    elsewhere: bool = False,
    moves_elsewhere: bool = False,
    without_optimizers: Collection[Document] = (),
    evidence: Evidence | None = None,
) -> list[FileFindings]:
    """The findings in files that belong together, with the edits for the target of the run.

    Args:
      documents: files of one program that use optimizers or names of flax.optim, directly or
        through each other, or one that has to do with no other.
      ignored: the codes that are not wanted, by file.
      task: the options of the run; jax is only imported if its target is optax.
      elsewhere: whether unconnected files of the program name flax.optim.
      moves_elsewhere: whether optimizers of unconnected files become TrainStates.
      without_optimizers: the files among them that are never in one process with an optimizer.
      evidence: the observations of a run.
    """
    exporting = exporters(documents)
    read = {document: Names(document, exporter) for document, exporter in exporting.items()}
    # Other objects have methods of these names too: without flax.optim there is no optimizer.
    names_flax_optim = elsewhere or any(each.names_flax_optim() for each in exporting.values())
    imported = imported_files(documents)
    near = {
        document: {name: each for name, each in others.items() if each not in without_optimizers}
        for document, others in imported.items()
        if document not in without_optimizers
    }
    writes_optax = task.target == "optax"
    facts = None
    if names_flax_optim and near:
        facts = Facts([*near], near, ignored, recognisers(), evidence, moves_elsewhere)
        for unit in facts.units if writes_optax else ():
            unit.conversions = conversions(facts.points_to, unit)
    needed = _needed_elsewhere(imported, read.values())
    return [
        _findings(
            Reading(
                document,
                names,
                ignored.get(document.path, NOTHING_IGNORED),
                None if document in without_optimizers else facts,
                writes_optax,
                task.accept_changes,
                task.releases,
            ),
            needed[document],
            task.target,
        )
        for document, names in read.items()
    ]


def _needed_elsewhere(
    imported: Mapping[Document, Mapping[str, Document]], read: Iterable[Names]
) -> dict[Document, set[str]]:
    """For each file the names that other files import from it, or read as its attributes."""
    needed: dict[Document, set[str]] = {each: set() for each in imported}
    for document, modules in imported.items():
        for statement in document.imports:
            for each in imports_of(statement):
                if each.module in modules:
                    needed[modules[each.module]].add(each.name)
    by_module = {each.module: each for each in imported if each.module}
    for names in read:
        for module, name in names.taken_from():
            if module in by_module:
                needed[by_module[module]].add(name)
    return needed


def _findings(reading: Reading, needed: Collection[str], target: str) -> FileFindings:
    document = reading.document
    rules = rule_modules().values()
    findings = sorted(
        (each for rule in rules for each in rule.find(reading)),
        key=lambda each: (each.start, each.code, each.end, each.what),
    )
    imports: list[Edit] = []
    if target:
        plan = ImportPlan(document, reading.names, needed, keeps_unused=target == "shim")
        findings = settled(findings, target, plan)
        imports = plan.edits()
    unknown = [(document.span(node)[0], why) for node, why in reading.names.unknown]
    units: Sequence[Unit] = ()
    if reading.facts is not None:
        unknown += [(document.span(node)[0], why) for node, why in reading.facts.unknown(document)]
        units = reading.facts.starting_in(document)
    return FileFindings(document, findings, sorted(unknown), imports, units)
