"""The notes of the processes of one run, put together."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from flaxoptim_compat.observation.fingerprints import Fingerprint

# What the names of the files end with.
SUFFIX = ".states.jsonl"


class Place(NamedTuple):
    """A line of a program.

    Args:
      file: its full path.
      line: the number, from 1.
      function: what it is in.
    """

    file: str
    line: int
    function: str


class Kind(NamedTuple):
    """States that may be of one optimizer: of which program they are, and of which parameters.

    Args:
      program: of the process, such as ``train.py``.
      paths: of the leaves.
      shapes: of the leaves.
    """

    program: str
    paths: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]


@dataclasses.dataclass
class State:
    """A state of an optimizer.

    Args:
      kind: what it is a state of.
      round: how many equal ones came before it, each in a training of its own.
      step: the number of steps done, of each copy.
      bits: the hash of the parameters; None if they were not looked at.
      what: the class of the definition, as long as it is one of flax.optim.
      place: the line of the program.
      is_created: whether it is one before the first step.
      leaves: what is kept of the parameters, or nothing.
      moments: what is kept of the moments, each time that it was looked at.
    """

    kind: Kind
    round: int
    step: tuple[int, ...]
    bits: str | None
    what: str
    place: Place
    is_created: bool
    leaves: list[Fingerprint]
    moments: list[list[Fingerprint]]


@dataclasses.dataclass
class Record:
    """The states of optimizers in a run of a command, and what else it showed.

    Args:
      states: of each kind, in the order of the run.
      places: the lines of programs that made states, or that traced what makes them, by paths.
      names: the lost names that it used.
      trouble: what could not be noted, and why.
      pooled: the programs of which several processes used optimizers.
    """

    states: dict[Kind, list[State]] = dataclasses.field(default_factory=dict)
    places: dict[tuple[str, ...], set[Place]] = dataclasses.field(default_factory=dict)
    names: set[str] = dataclasses.field(default_factory=set)
    trouble: set[str] = dataclasses.field(default_factory=set)
    pooled: set[str] = dataclasses.field(default_factory=set)

    def without_repeats(self, programs: Container[str]) -> Record:
        """The record in which each state of these programs counts once.

        A worker of a pool does a training twice in one run, and in the next one two workers do it.
        """
        states = {
            kind: [each for each in several if each.round == 0 or kind.program not in programs]
            for kind, several in self.states.items()
        }
        return dataclasses.replace(self, states=states)


def read(folder: Path) -> Record:
    """The record of a run, out of a folder with the files of its processes.

    Processes of one program, such as the workers of a pool, may have seen the same state: it counts
    once. They are told apart by no number that differs from run to run.
    """
    record = Record()
    known: dict[tuple[Any, ...], State] = {}
    processes: Counter[str] = Counter()
    # Names begin with the time.
    for file in sorted(folder.glob(f"*{SUFFIX}")):
        with file.open(encoding="utf-8") as lines:
            processes.update(_read_file(lines, record, known))
    record.pooled = {program for program, count in processes.items() if count > 1}
    return record


def _read_file(
    lines: Iterable[str], record: Record, known: dict[tuple[Any, ...], State]
) -> set[str]:
    """Put the notes of a process into the record, and return its program if it has states."""
    program = ""
    kinds: dict[int, Kind] = {}
    places: dict[int, Place] = {}
    for text in lines:
        if not text.endswith("\n"):
            break  # the process ended here
        line = json.loads(text)
        match line:
            case {"program": program}:
                pass
            case {"group": number, "paths": paths, "shapes": shapes}:
                kinds[number] = Kind(program, tuple(paths), tuple(map(tuple, shapes)))
            case {"at": at, "place": number}:
                places[number] = Place(*at)
            case {"through": paths, "place": number}:
                record.places.setdefault(tuple(paths), set()).add(places[number])
            case {"names": names}:
                record.names.update(names)
            case {"trouble": trouble}:
                record.trouble.add(trouble)
            case {"state": number}:
                state = _state(line, kinds[number], places[line["place"]])
                record.places.setdefault(state.kind.paths, set()).add(state.place)
                key = (state.kind, state.round, state.step, state.bits)
                if key in known:
                    known[key].moments += state.moments
                else:
                    known[key] = state
                    record.states.setdefault(state.kind, []).append(state)
    return {kind.program for kind in kinds.values()}


def _state(line: dict[str, Any], kind: Kind, place: Place) -> State:
    return State(
        kind,
        line["round"],
        tuple(line["step"]),
        line["bits"],
        line["what"],
        place,
        line["created"],
        list(map(Fingerprint.from_json, line.get("leaves", ()))),
        [list(map(Fingerprint.from_json, line["moments"]))] if "moments" in line else [],
    )
