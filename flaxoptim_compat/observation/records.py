"""The record of a run: the states of optimizers, joined from the files of its processes."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from flaxoptim_compat.observation.fingerprints import Fingerprint
from flaxoptim_compat.observation.probes import Probe
from flaxoptim_compat.observation.record import SUFFIX


class ProgramLine(NamedTuple):
    """A line of a program.

    Args:
      file: the full path of the file.
      number: the number of the line, from 1.
      function: the name of the function around the line.
    """

    file: str
    number: int
    function: str


class OptimizerKey(NamedTuple):
    """The program and the parameters by which states are taken for those of one optimizer.

    Args:
      program: the program of the process, such as ``train.py``.
      paths: the paths of the leaves.
      shapes: the shapes of the leaves.
    """

    program: str
    paths: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]


# A process of a run, and the number there of a definition.
Rule = tuple[int, int]


@dataclasses.dataclass
class ObservedState:
    """A state of an optimizer that a run showed.

    Args:
      optimizer: the optimizer.
      round: how many equal states were created before, in the same process.
      step: the number of steps done, one for each copy of a replicated optimizer.
      bits: the hash of the parameters; None if they were not read.
      what: the class of a definition of flax.optim; "" for a TrainState.
      place: the line of the program that made the state.
      is_created: whether ``create`` made the state.
      leaves: the fingerprints of the parameters; empty if none were kept.
      moments: the fingerprints of the moments, for each time that they were read.
      process: the number of the process in the run.
      rule: the number, in the process, of the definition that does the steps; equal ones have one.
      is_last: whether a training ended with this state.
    """

    optimizer: OptimizerKey
    round: int
    step: tuple[int, ...]
    bits: str | None
    what: str
    place: ProgramLine
    is_created: bool
    leaves: list[Fingerprint]
    moments: list[list[Fingerprint]]
    process: int = 0
    rule: int = 0
    is_last: bool = False


@dataclasses.dataclass
class Record:
    """The states of optimizers in a run of a command, with the names and errors of the run.

    Args:
      states: the states of each optimizer, in the order of the run, one process after the other.
      places: the lines of programs that made states, or traced code that does, by the paths of the
        parameters.
      names: the lost names that the run used.
      trouble: the errors because of which states could not be recorded.
      traced: the optimizers that were created in traced code, and have no state in the run: the
        lines that created them, by the paths of their parameters.
      versions: the versions of Python and of packages, and the device.
      probes: what definitions do by themselves, by the parameters, the process and the rule.
      traced_probes: the same of those that were only traced.
    """

    states: dict[OptimizerKey, list[ObservedState]] = dataclasses.field(default_factory=dict)
    places: dict[tuple[str, ...], set[ProgramLine]] = dataclasses.field(default_factory=dict)
    names: set[str] = dataclasses.field(default_factory=set)
    trouble: set[str] = dataclasses.field(default_factory=set)
    traced: dict[OptimizerKey, set[ProgramLine]] = dataclasses.field(default_factory=dict)
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    probes: dict[tuple[OptimizerKey, Rule], Probe] = dataclasses.field(default_factory=dict)
    traced_probes: dict[OptimizerKey, list[Probe]] = dataclasses.field(default_factory=dict)

    def with_files(self, name_of: Callable[[str], str]) -> Record:
        """The record with other paths of the programs' files.

        Args:
          name_of: gives a path for a path.
        """

        def line(at: ProgramLine) -> ProgramLine:
            return at._replace(file=name_of(at.file))

        states = {
            key: [dataclasses.replace(each, place=line(each.place)) for each in several]
            for key, several in self.states.items()
        }
        lines = {paths: set(map(line, several)) for paths, several in self.places.items()}
        traced = {key: set(map(line, several)) for key, several in self.traced.items()}
        return dataclasses.replace(self, states=states, places=lines, traced=traced)


def read(folder: Path) -> Record:
    """The record of a run, out of a folder with the files of its processes."""
    record = Record()
    # The names of the files begin with the time.
    for number, file in enumerate(sorted(folder.glob(f"*{SUFFIX}"))):
        with file.open(encoding="utf-8") as lines:
            # A process may end in the middle of a line.
            add_process(record, number, (json.loads(x) for x in lines if x.endswith("\n")))
    return record


def add_process(record: Record, process: int, lines: Iterable[dict[str, Any]]) -> None:
    """Add what a process wrote to the record.

    Args:
      record: the record.
      process: the number of the process.
      lines: what it wrote.
    """
    program = ""
    optimizers: dict[int, OptimizerKey] = {}
    places: dict[int, ProgramLine] = {}
    paths_of_moments: dict[int, tuple[str, ...]] = {}
    known: dict[tuple[Any, ...], ObservedState] = {}
    latest: dict[tuple[OptimizerKey, int], ObservedState] = {}
    traced: dict[tuple[tuple[str, ...], int], set[ProgramLine]] = {}
    for line in lines:
        match line:
            case {"program": program}:
                pass
            case {"probe": rule}:
                probe = Probe.of(line)
                if line["traced"]:
                    key = OptimizerKey(program, probe.paths, ())
                    record.traced_probes.setdefault(key, []).append(probe)
                else:
                    key = OptimizerKey(program, probe.paths, probe.shapes)
                    record.probes[key, (process, rule)] = probe
            case {"group": number, "paths": paths, "shapes": shapes}:
                key = OptimizerKey(program, tuple(paths), tuple(map(tuple, shapes)))
                optimizers[number] = key
            case {"at": at, "place": number}:
                places[number] = ProgramLine(*at)
            case {"through": paths, "place": number}:
                record.places.setdefault(tuple(paths), set()).add(places[number])
                if line["created"]:
                    of_rule = traced.setdefault((tuple(paths), line["rule"]), set())
                    of_rule.add(places[number])
            case {"at": at, "paths": number}:
                paths_of_moments[number] = tuple(at)
            case {"versions": versions}:
                record.versions |= versions
            case {"names": names}:
                record.names.update(names)
            case {"trouble": trouble}:
                record.trouble.add(trouble)
            case {"again": number, "rule": rule, "step": step, "bits": bits}:
                key = optimizers[number]
                latest[key, rule] = known[key, tuple(step), bits]
            case {"state": number}:
                at = paths_of_moments.get(line.get("moments_at", -1), ())
                state = _state(line, optimizers[number], places[line["place"]], process, at)
                record.places.setdefault(state.optimizer.paths, set()).add(state.place)
                same = known.get((state.optimizer, state.step, state.bits))
                if same is not None and same.round == state.round:
                    same.moments += state.moments
                else:
                    if state.is_created and (state.optimizer, state.rule) in latest:
                        latest[state.optimizer, state.rule].is_last = True
                    known[state.optimizer, state.step, state.bits] = same = state
                    record.states.setdefault(state.optimizer, []).append(state)
                latest[state.optimizer, state.rule] = same
    for state in latest.values():
        state.is_last = True
    seen = {(optimizer.paths, rule) for optimizer, rule in latest}
    for (paths, rule), lines_of_it in traced.items():
        if (paths, rule) not in seen:
            record.traced.setdefault(OptimizerKey(program, paths, ()), set()).update(lines_of_it)


def _state(
    line: dict[str, Any],
    optimizer: OptimizerKey,
    place: ProgramLine,
    process: int,
    paths_of_moments: tuple[str, ...],
) -> ObservedState:
    moments = zip(line.get("moments", ()), paths_of_moments, strict=True)
    return ObservedState(
        optimizer,
        line["round"],
        tuple(line["step"]),
        line["bits"],
        line["what"],
        place,
        line["created"],
        list(map(Fingerprint.of, line.get("leaves", ()))),
        [[Fingerprint.of(entry, path) for entry, path in moments]] if "moments" in line else [],
        process,
        line["rule"],
    )
