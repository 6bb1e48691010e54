"""The record of a run: the states of optimizers, joined from the files of its processes."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from flaxoptim_compat.observation.fingerprints import Fingerprint

# The suffix of the files that processes write.
SUFFIX = ".states.jsonl"


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


@dataclasses.dataclass
class ObservedState:
    """A state of an optimizer that a run showed.

    Args:
      optimizer: the optimizer.
      round: how many equal states came before, each in a training of its own.
      step: the number of steps done, one for each copy of a replicated optimizer.
      bits: the hash of the parameters; None if they were not read.
      what: the class of a definition of flax.optim; "" for a TrainState.
      place: the line of the program that made the state.
      is_created: whether ``create`` made the state.
      leaves: the fingerprints of the parameters; empty if none were kept.
      moments: the fingerprints of the moments, for each time that they were read.
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


@dataclasses.dataclass
class Record:
    """The states of optimizers in a run of a command, with the names and errors of the run.

    Args:
      states: the states of each optimizer, in the order of the run.
      places: the lines of programs that made states, or traced code that does, by the paths of the
        parameters.
      names: the lost names that the run used.
      trouble: the errors because of which states could not be recorded.
      pooled: the programs of which several processes used optimizers.
    """

    states: dict[OptimizerKey, list[ObservedState]] = dataclasses.field(default_factory=dict)
    places: dict[tuple[str, ...], set[ProgramLine]] = dataclasses.field(default_factory=dict)
    names: set[str] = dataclasses.field(default_factory=set)
    trouble: set[str] = dataclasses.field(default_factory=set)
    pooled: set[str] = dataclasses.field(default_factory=set)

    def without_repeats(self, programs: Container[str]) -> Record:
        """The record in which each state of these programs counts once.

        One worker of a pool may do a training twice, and in the next run two workers once each.
        """
        states = {
            optimizer: [
                state for state in several if state.round == 0 or optimizer.program not in programs
            ]
            for optimizer, several in self.states.items()
        }
        return dataclasses.replace(self, states=states)


def read(folder: Path) -> Record:
    """The record of a run, out of a folder with the files of its processes.

    A state that several processes of one program saw, such as the workers of a pool, counts once:
    which process saw a state may differ from run to run.
    """
    record = Record()
    known: dict[tuple[Any, ...], ObservedState] = {}
    processes: Counter[str] = Counter()
    # The names of the files begin with the time.
    for file in sorted(folder.glob(f"*{SUFFIX}")):
        with file.open(encoding="utf-8") as lines:
            processes.update(_read_file(lines, record, known))
    record.pooled = {program for program, count in processes.items() if count > 1}
    return record


def _read_file(
    lines: Iterable[str], record: Record, known: dict[tuple[Any, ...], ObservedState]
) -> set[str]:
    """Add the file of a process to the record; returns the program if there are states."""
    program = ""
    optimizers: dict[int, OptimizerKey] = {}
    places: dict[int, ProgramLine] = {}
    for text in lines:
        if not text.endswith("\n"):
            break  # the process ended here
        line = json.loads(text)
        match line:
            case {"program": program}:
                pass
            case {"group": number, "paths": paths, "shapes": shapes}:
                key = OptimizerKey(program, tuple(paths), tuple(map(tuple, shapes)))
                optimizers[number] = key
            case {"at": at, "place": number}:
                places[number] = ProgramLine(*at)
            case {"through": paths, "place": number}:
                record.places.setdefault(tuple(paths), set()).add(places[number])
            case {"names": names}:
                record.names.update(names)
            case {"trouble": trouble}:
                record.trouble.add(trouble)
            case {"state": number}:
                state = _state(line, optimizers[number], places[line["place"]])
                record.places.setdefault(state.optimizer.paths, set()).add(state.place)
                identity = (state.optimizer, state.round, state.step, state.bits)
                if identity in known:
                    known[identity].moments += state.moments
                else:
                    known[identity] = state
                    record.states.setdefault(state.optimizer, []).append(state)
    return {optimizer.program for optimizer in optimizers.values()}


def _state(line: dict[str, Any], optimizer: OptimizerKey, place: ProgramLine) -> ObservedState:
    return ObservedState(
        optimizer,
        line["round"],
        tuple(line["step"]),
        line["bits"],
        line["what"],
        place,
        line["created"],
        list(map(Fingerprint.from_json, line.get("leaves", ()))),
        [list(map(Fingerprint.from_json, line["moments"]))] if "moments" in line else [],
    )
