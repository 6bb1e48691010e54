"""The findings of all rules in the files of a program, for both targets of ``rewrite``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Finding, settled
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.names.meanings import exporters
from flaxoptim_compat.migrate.names.names import Names
from flaxoptim_compat.migrate.optimizers.checkpoints import conversions
from flaxoptim_compat.migrate.optimizers.reading import Facts, Reading
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.imported_files import imported_files, imported_names
from flaxoptim_compat.migrate.program.noqa import NOTHING_IGNORED, Ignored
from flaxoptim_compat.migrate.program.releases import NEWEST, Releases
from flaxoptim_compat.migrate.rules import recognisers, rule_modules
from flaxoptim_compat.migrate.values.evidence import Evidence

TARGETS = ("shim", "optax")


class FileFindings(NamedTuple):
    """The findings in one file, with its unknown names, imports and optimizers.

    Args:
      document: the file.
      findings: the findings, in the order of their places.
      unknown: the offsets of names that are not understood, and why.
      imports: for each target the edits of the import statements.
      units: the optimizers whose first use is in this file, with their uses in all files.
    """

    document: Document
    findings: list[Finding]
    unknown: list[tuple[int, str]]
    imports: Mapping[str, list[Edit]]
    units: Sequence[Unit] = ()


def analyse(
    documents: Sequence[Document],
    ignored: Mapping[Path, Ignored],
    *,
    writes: bool,
    accept_changes: bool = False,
    elsewhere: bool = False,
    moves_elsewhere: bool = False,
    without_optimizers: Collection[Document] = (),
    targets: Collection[str] = TARGETS,
    releases: Releases = NEWEST,
    evidence: Evidence | None = None,
) -> list[FileFindings]:
    """The findings in files that belong together.

    Args:
      documents: files of one program that use optimizers or names of flax.optim, directly or
        through each other.
      ignored: the codes that are not wanted, by file.
      writes: whether the edits to optax are wanted too; jax is only imported if they are.
      accept_changes: whether definitions may become their nearest in plain optax, although that
        changes the numbers.
      elsewhere: whether unconnected files of the program name flax.optim.
      moves_elsewhere: whether optimizers of unconnected files become TrainStates.
      without_optimizers: the files among them that are never in one process with an optimizer.
      targets: the targets whose edits are wanted.
      releases: the versions that the result is for.
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
    facts = None
    if names_flax_optim and near:
        facts = Facts([*near], near, ignored, recognisers(), evidence, moves_elsewhere)
        for unit in facts.units if writes else ():
            unit.conversions = conversions(facts.points_to, unit)
    needed = _needed_elsewhere(imported, read.values())
    return [
        _findings(
            Reading(
                document,
                names,
                ignored.get(document.path, NOTHING_IGNORED),
                None if document in without_optimizers else facts,
                writes,
                accept_changes,
                releases,
            ),
            needed[document],
            targets,
        )
        for document, names in read.items()
    ]


def _needed_elsewhere(
    imported: Mapping[Document, Mapping[str, Document]], read: Iterable[Names]
) -> dict[Document, frozenset[str]]:
    """For each file the names that other files import from it, or read as its attributes."""
    needed = imported_names(imported)
    by_module = {each.module: each for each in imported if each.module}
    for names in read:
        for module, name in names.taken_from():
            if module in by_module:
                needed[by_module[module]].add(name)
    return {document: frozenset(names) for document, names in needed.items()}


def analyse_alone(
    document: Document,
    ignored: Ignored,
    targets: Collection[str] = TARGETS,
    releases: Releases = NEWEST,
) -> FileFindings:
    """The findings in a file that has nothing to do with optimizers.

    Args:
      document: the file.
      ignored: the codes that are not wanted.
      targets: the targets whose edits are wanted.
      releases: the versions that the result is for.
    """
    reading = Reading(document, Names(document), ignored, releases=releases)
    return _findings(reading, frozenset(), targets)


def _findings(reading: Reading, needed: Collection[str], targets: Collection[str]) -> FileFindings:
    document = reading.document
    plans = {
        target: ImportPlan(document, reading.names, needed, keeps_unused=target == "shim")
        for target in targets
    }
    rules = rule_modules().values()
    findings = settled((each for rule in rules for each in rule.find(reading)), plans)
    unknown = [(document.span(node)[0], why) for node, why in reading.names.unknown]
    if reading.facts is not None:
        unknown += [(document.span(node)[0], why) for node, why in reading.facts.unknown(document)]
    imports = {target: plan.edits() for target, plan in plans.items()}
    units = [] if reading.facts is None else reading.facts.starting_in(document)
    return FileFindings(document, findings, sorted(unknown), imports, units)
