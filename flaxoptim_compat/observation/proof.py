"""The proof of a change: a program before and after it, run in copies, and compared.

Each run begins with the same files. The old program runs once more where the two differ, since two
runs of it may differ too: then that is said, and it is no proof. In place of the old program there
may be a record of it from another machine, where roundings were others: a control tells how much
today's training makes them grow.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from flaxoptim_compat.observation import observed_command, printed_lines, written_files
from flaxoptim_compat.observation.copies import Copies, Sources
from flaxoptim_compat.observation.curves import Runs
from flaxoptim_compat.observation.observed_command import ObservedRun
from flaxoptim_compat.observation.pairing import Pairing, paired
from flaxoptim_compat.observation.places import Uses, from_here
from flaxoptim_compat.observation.printed_lines import Closeness, ComparedLines
from flaxoptim_compat.observation.probes import ProbedStep
from flaxoptim_compat.observation.records import ObservedState, Record
from flaxoptim_compat.observation.rewritten_lines import RewrittenFile, quoted, rewritten_lines
from flaxoptim_compat.observation.trajectories import (
    ArrayDifference,
    ComparedOptimizer,
    Comparison,
    Divergence,
    compare,
)
from flaxoptim_compat.observation.written_files import ComparedFiles, Written
from flaxoptim_compat.parity.renderings.wording import versions_text

# Another order of operations moves a number that a program computes by some units in the last place
# of float32. If the optimizers agree only within a part of the distance that they travelled, a loss
# as a difference of larger numbers may be off by some ten times as much.
_SOME_ROUNDINGS = 1e-6
_AMPLIFIED, _LEAST, _MOST = 100.0, 1e-5, 1e-3
# So many new files are named.
_MADE = 5
# So many lines and files that differ are shown.
_SHOWN = 5
_DIFFER = "The numbers differ."
_SUSPECTS = "Changed lines that may be the cause:"
_TRAIN = """\
A command has to train: to start the program, or tests of it, so that these optimizers do steps."""
_NO_STEPS = f"""\
{_TRAIN}
Otherwise leave --verify out: the files are then written without a proof."""
_OTHER_OUTPUT = "The optimizers agree, but the program makes something else of them:"
_TO_ACCEPT = "If this is as it should be, add --accept-output."


class NotProven(Exception):
    """There is no proof; the message says why.

    Args:
      message: the reason.
      output: the end of the output of the command, if that failed.
      is_of_new: whether the new program failed.
      differs: whether the two programs were compared, and differ.
    """

    def __init__(
        self, message: str, output: str = "", is_of_new: bool = False, differs: bool = False
    ) -> None:
        super().__init__(message)
        self.output = output
        self.is_of_new = is_of_new
        self.differs = differs


class Moved(NamedTuple):
    """A place where the old program makes an optimizer that the change has moved.

    Args:
      path: the file.
      first: the number of the first line.
      last: the number of the last line.
      shown: the place in words.
    """

    path: Path
    first: int
    last: int
    shown: str


class Terms(NamedTuple):
    """What a proof asks for.

    Args:
      timeout: the seconds that each command may take.
      is_shown: whether to show what the commands print.
      reaches_all: whether the commands must do steps with each optimizer that was moved.
      accepts_output: whether what the commands print and write may differ.
    """

    timeout: float | None = None
    is_shown: bool = False
    reaches_all: bool = False
    accepts_output: bool = False


class Proof:
    """Runs commands with the old program and with the new one, and compares the two.

    Args:
      commands: the commands for the shell.
      copies: the copies in which they run.
      directory: where they run, by its path in the folder.
      terms: what the proof asks for.
      say: prints a line on what runs.
      run: runs a command.
    """

    def __init__(
        self,
        commands: Sequence[str],
        copies: Copies,
        directory: Path,
        terms: Terms,
        say: Callable[[str], object],
        run: Callable[..., ObservedRun] = observed_command.run,
    ) -> None:
        self.commands = commands
        # Where the old program uses optimizers.
        self.uses = Uses()
        # What was compared so far, of each command.
        self.compared: list[Runs] = []
        self._copies = copies
        self._directory = directory
        self._terms = terms
        self._say = say
        self._run_one = run
        self._old: Sources = {}
        self._new: Sources = {}
        self._prepare: Callable[[Path], object] = lambda copy: None
        self._is_elsewhere = False
        # What the programs made outside of the copies, and what they were kept from changing there.
        self._made: set[str] = set()
        self._kept: set[tuple[str, str]] = set()
        self._before: list[ObservedRun] = []
        self._paired: list[Pairing] = []
        self._after: list[ObservedRun] = []
        # Another run of the old program, where one was needed.
        self._again: list[ObservedRun] = []
        # Another run of the new one, which tells how roundings grow, where one was needed.
        self._control: list[ObservedRun] = []
        # What each of the three wrote in its copy.
        self._written: dict[str, Written] = {}

    def run_old(self, sources: Sources) -> None:
        """Run all commands with the old program.

        Args:
          sources: the content of files that the folder has otherwise.

        Raises:
          NotProven: a command fails.
        """
        self._old = sources
        self._before = self._run("before", "Before", sources)
        for each in self._before:
            self.uses |= each.uses

    def take_old(self, record: Record) -> None:
        """Compare with a record of the old program from elsewhere.

        Args:
          record: the record, of the only command.
        """
        self._is_elsewhere = True
        record = record.with_files(os.path.basename)
        self._before = [ObservedRun(0, Path(os.devnull), record, Uses(), [])]

    def run_new(
        self, sources: Sources, prepare: Callable[[Path], object] = lambda copy: None
    ) -> None:
        """Run all commands with the new program.

        Args:
          sources: the content of files that the folder has otherwise.
          prepare: gets the folder in which the commands will run, before they do.

        Raises:
          NotProven: a command fails, or a process of it ends worse than before.
        """
        self._new, self._prepare = sources, prepare
        self._after = self._run("after", "After", sources, prepare)
        for before, after in zip(self._before, self._after, strict=True):
            how = "fails" if self._is_elsewhere else "ends otherwise with the new program"
            worse = _failures(after) - _failures(before)
            for program, end in worse:
                raise NotProven(
                    f"A process of the command {how}: {program} ends with {end}",
                    after.last_lines,
                    is_of_new=True,
                )

    def judged(self, changes: Sequence[RewrittenFile], moved: Sequence[Moved] | None) -> list[str]:
        """The lines on what was compared, and how closely it agrees.

        Args:
          changes: the files that differ.
          moved: where the old program makes the optimizers that the proof is about; None: nobody
            knows, so all that did steps are.

        Raises:
          NotProven: the numbers differ, or none were compared, or what the programs print or write
            differs, and the terms do not accept that.
        """
        comparisons = [self._comparison(each, changes, moved) for each in range(len(self._after))]
        then = [f"The old program ran with {versions_text(self._before[0].record.versions)}."]
        compared = [
            *(then if self._is_elsewhere else []),
            *self._troubles(),
            *self._compared(comparisons, moved),
        ]
        if self._is_elsewhere:
            return compared
        return [*compared, *self._output_and_files(_closeness(comparisons))]

    def place_of(self, path: Path) -> Path:
        """The path of a file of the user in the copies."""
        here = Path(os.path.realpath(path.parent)) / path.name
        return here.relative_to(self._copies.folder)

    @property
    def names(self) -> list[str]:
        """The lost names that the new program still uses."""
        return sorted({name for run in self._after for name in run.record.names})

    def _run(
        self,
        name: str,
        when: str,
        sources: Sources,
        prepare: Callable[[Path], object] = lambda copy: None,
    ) -> list[ObservedRun]:
        prepare(self._copies.fresh(sources) / self._directory)
        noted = written_files.noted(self._copies.copy)
        runs: list[ObservedRun] = []
        for number, command in enumerate(self.commands):
            self._say(f"{when}: {command}")
            done = self._run_one(
                command,
                self._copies,
                self._directory,
                f"{name}.{number}",
                self._terms.timeout,
                self._terms.is_shown,
                self._made,
                is_nudged=name == "control",
            )
            self._made.update(*(each.made for each in done.processes))
            self._kept.update(*(each.refused for each in done.processes))
            _refuse_failed(done, command, name)
            self._refuse_originals(done)
            runs.append(done)
        for path, content in sources.items():
            file = self._copies.copy / path
            if content is not None and (not file.is_file() or file.read_bytes() != content):
                raise NotProven(f"The command has changed {path}, so another program was run.")
        self._written[name] = written_files.taken(self._copies.copy, noted, self._copies.top)
        return runs

    def _run_again(self) -> list[ObservedRun]:
        """The old program, run once more."""
        if not self._again:
            self._again = self._run("again", "Once more, with the old program", self._old)
        return self._again

    def _run_control(self) -> list[ObservedRun]:
        """The new program, run once more with its first parameters a rounding off."""
        if not self._control:
            when = "Once more, with the first parameters one unit in the last place off"
            self._control = self._run("control", when, self._new, self._prepare)
        return self._control

    def _output_and_files(self, closeness: Closeness) -> Iterator[str]:
        """The lines on what the programs printed and wrote.

        Raises:
          NotProven: they differ, and two runs of the old program do not differ there.
        """
        lines, files = self._products(closeness)
        if lines.differing or files.differing:
            self._run_again()
            lines, files = self._products(closeness)
        if unlike := list(_unlike(lines, files)):
            if not self._terms.accepts_output:
                text = "\n".join([_OTHER_OUTPUT, *unlike, _TO_ACCEPT])
                raise NotProven(text, differs=True)
            yield "Accepted:"
            yield from unlike
        else:
            yield from _alike(lines, files, bool(self._again))
        if files.left_out:
            yield f"Not compared, since it differs from run to run: {_first(files.left_out)}"

    def _products(self, closeness: Closeness) -> tuple[ComparedLines, ComparedFiles]:
        third: list[str | None] = [each.text for each in self._again] or [None] * len(self._before)
        runs = zip(self._before, self._after, third, strict=True)
        lines = [printed_lines.compare(old.text, new.text, x, closeness) for old, new, x in runs]
        before, after = self._written["before"], self._written["after"]
        files = written_files.compare(before, after, self._written.get("again"), closeness)
        return printed_lines.together(lines), files

    def _refuse_originals(self, done: ObservedRun) -> None:
        """Raise if a process ran code of the user's folder itself."""
        for process in done.processes:
            if process.executed:
                files = ", ".join(process.executed[:3])
                raise NotProven(
                    f"The command ran code of your folder, not of its copy: {files}\n"
                    f"It was run by {' '.join(process.argv)}\n"
                    "Let the command name these files by their paths from the current folder."
                )

    def _comparison(
        self, number: int, changes: Sequence[RewrittenFile], moved: Sequence[Moved] | None
    ) -> Comparison:
        """What the two runs of a command have in common.

        Raises:
          NotProven: the numbers differ.
        """
        before, after = self._before[number].record, self._after[number].record
        pairs: tuple[Pairing, ...] = ()
        if self._is_elsewhere and not after.states:
            raise NotProven(f"The command did no step of an optimizer. {_TRAIN}")
        if moved is None:
            # Somebody may have given the parameters other names.
            after, pairs = paired(before, after)
        self.compared.append(Runs(before, after))
        comparison = compare(before, after)
        if comparison.divergence is not None and not self._is_elsewhere:
            self._refuse_unseeded(number)
        if comparison.divergence and comparison.divergence.difference and moved is None:
            control = self._run_control()[number]
            self.compared[-1] = Runs(before, after, paired(before, control.record)[0])
            comparison = compare(*self.compared[-1])
        if comparison.divergence is not None:
            told = self._told(number, comparison.divergence, changes)
            raise NotProven(f"{_DIFFER}\n{told}", differs=True)
        self._paired += pairs
        return comparison

    def _refuse_unseeded(self, number: int) -> None:
        """Raise if two runs of the old program differ too."""
        again = self._run_again()[number]
        own = compare(self._before[number].record, again.record).divergence
        if own is None:
            return
        where = f"{_named(own.difference)} of step" if own.difference else "step"
        raise NotProven(
            f"{_DIFFER}\nTwo runs of the old program differ too, first in {where}"
            f" {_step(own.state)}: fix the seed of the program, then verify again."
        )

    def _troubles(self) -> Iterator[str]:
        runs = (*self._before, *self._after)
        for trouble in sorted({each for run in runs for each in run.record.trouble}):
            yield f"Some states of optimizers could not be recorded: {trouble}"
        for path, what in sorted(self._kept):
            yield f"Kept from changing, since it is outside of the copy: {path} ({what})"
        if made := sorted(filter(os.path.lexists, self._made)):
            yield f"New files outside of the copies: {_first(made)}"

    def _compared(
        self, comparisons: Sequence[Comparison], moved: Sequence[Moved] | None
    ) -> Iterator[str]:
        results = [each for comparison in comparisons for each in comparison.by_optimizer]
        if not any(each.steps for each in comparisons):
            if moved is not None and not moved:
                yield "The rewrite moves no optimizer, and no numbers were compared."
                return
            if traced := [each for each in results if each.only_traced]:
                raise NotProven(
                    f"No numbers were compared.\n{_reservation(traced[0], self._is_elsewhere)}"
                )
            commands = "The command" if len(self.commands) == 1 else "The commands"
            hint = _TRAIN if moved is None else _NO_STEPS
            raise NotProven(f"{commands} did no step of an optimizer. {hint}")
        if all(each.never_moved for each in results if each.steps):
            raise NotProven(
                "The parameters never moved, so nothing is proven: are there gradients?"
            )
        missed = [each for each in moved or () if not _is_reached(each, self._before)]
        if moved and len(missed) == len(moved):
            raise NotProven(
                f"No step was done with an optimizer that was moved: {_shown(moved)}. {_NO_STEPS}"
            )
        if missed and self._terms.reaches_all:
            raise NotProven(f"No step was done with: {_shown(missed)}. {_NO_STEPS}")
        yield _agreement(comparisons, moved, missed)
        yield from filter(None, (_reservation(each, self._is_elsewhere) for each in results))
        yield from self._pairs_by_shape(results)
        if missed:
            yield f"Moved from the text alone, since no command reached them: {_shown(missed)}"

    def _pairs_by_shape(self, results: Iterable[ComparedOptimizer]) -> Iterator[str]:
        made = {each.optimizer: _made_in(each) for each in results}
        for pair in self._paired:
            count = len(pair.then.paths)
            if pair.same_paths < count and pair.then in made:
                yield (
                    f"{made[pair.then]}: {count - pair.same_paths:,} of {count:,} parameters have"
                    " other names today, and were paired by shape and first values."
                )

    def _told(self, number: int, divergence: Divergence, changes: Sequence[RewrittenFile]) -> str:
        """The lines that made the optimizer, the difference, and changed lines near by."""
        state, difference = divergence.state, divergence.difference
        after = self.compared[-1].after
        new = {id(each) for states in after.states.values() for each in states}

        def line(each: ObservedState) -> str:
            is_new = id(each) in new
            if self._is_elsewhere and not is_new:
                return f"  {each.place.file}:{each.place.number}, then"
            path = os.path.realpath(each.place.file)
            for change in changes:
                if os.path.realpath(change.path) == path:
                    return quoted(each.place, change.new if is_new else change.old)
            return quoted(each.place)

        lines = list(dict.fromkeys(map(line, divergence.created or [state])))
        if divergence.probed is not None:
            lines.append(_of_probe(divergence.probed, state))
        elif difference is not None:
            lines.append(f"Step {_step(state)}: {_amount(difference)}")
        elif divergence.is_missing:
            lines.append(f"Step {_step(state)} is missing in the new program.")
        else:
            lines.append(f"Step {_step(state)} is only in the new program.")
        lines += _causes(divergence.created or [state], changes)
        near = after.places.get(state.optimizer.paths, set())
        suspects = rewritten_lines(changes, sorted(near))
        return "\n".join([*lines, *([_SUSPECTS, *suspects] if suspects else [])])


def _causes(created: Iterable[ObservedState], changes: Sequence[RewrittenFile]) -> list[str]:
    """Why the optimizers of the two programs differ, if both are written plainly in one file."""
    # This imports jax, which a proof that holds does not need here.
    from flaxoptim_compat.observation.stated_causes import stated_causes

    files = {os.path.realpath(each.place.file) for each in created}
    for change in changes:
        if os.path.realpath(change.path) in files:
            found = stated_causes(change.old, change.new)
            if found is not None:
                causes = [f"  - {each.summary}\n    Remedy: {each.remedy}" for each in found.causes]
                return [f"Likely cause, of `{found.old}` and `{found.new}`:", *causes]
    return []


def _failures(run: ObservedRun) -> Counter[tuple[str, str]]:
    """How the processes of a run ended that did not end well; one that still ran counts for none.

    The exit status of a shell is that of its last program, whatever became of the others.
    """
    return Counter((each.program, each.ended) for each in run.processes if each.has_failed)


def _refuse_failed(done: ObservedRun, command: str, name: str) -> None:
    """Raise if a command failed."""
    program = "new" if name in ("after", "control") else "old"
    if done.status is None:
        how = "does not end in time; give it longer with --timeout"
    elif done.status:
        how = f"fails with exit status {done.status}"
    else:
        return
    raise NotProven(
        f"With the {program} program, the command {how}: {command}",
        done.last_lines,
        name == "after",
    )


def _is_reached(spot: Moved, runs: Sequence[ObservedRun]) -> bool:
    """True if steps were done with an optimizer that is made at a place.

    Code that is traced makes an optimizer there too, whose states come from other lines.
    """
    path = os.path.realpath(spot.path)
    return any(
        os.path.realpath(line.file) == path and spot.first <= line.number <= spot.last
        for run in runs
        for optimizer in run.record.states
        for line in run.record.places.get(optimizer.paths, ())
    )


def _shown(spots: Sequence[Moved]) -> str:
    return ", ".join(each.shown for each in spots)


def _agreement(
    comparisons: Sequence[Comparison], moved: Sequence[Moved] | None, missed: Sequence[Moved]
) -> str:
    """A sentence on how many steps were compared, and how closely they agree."""
    optimizers = sum(each.optimizers for each in comparisons)
    steps = sum(each.steps for each in comparisons)
    all_steps = sum(each.all_steps for each in comparisons)
    compared = f"{optimizers:,} optimizer{'' if optimizers == 1 else 's'}"
    if moved:
        made = f"{len(moved) - len(missed):,} of {len(moved):,}"
        compared = f"{made} moved optimizer{'' if len(moved) == 1 else 's'}"
    compared += f", {steps:,} of {all_steps:,} step{'' if all_steps == 1 else 's'}"
    differences = [each.worst for each in comparisons if each.worst is not None]
    if not differences:
        return f"{compared}: the same bits before and after."
    worst = max(differences, key=lambda each: each.excess)
    return (
        f"{compared}: the same within the tolerance. The largest difference is {worst.error:.2g},"
        f" in {_named(worst)}, where {worst.allowed:.2g} is allowed."
    )


def _reservation(result: ComparedOptimizer, is_elsewhere: bool) -> str:
    """The sentence on an optimizer of which the comparison proves little; "" of others."""
    made = _made_in(result)
    if result.only_traced:
        probed = ", but by itself it does the same" if result.is_probed else ""
        return f"{made}, only traced: its states were not compared{probed}."
    if result.never_moved:
        return f"{made}: the parameters never moved, which proves nothing of it."
    if result.not_finite_from is not None:
        return f"{made}: not finite from step {result.not_finite_from} on, which proves nothing."
    if result.left_out:
        steps = "step was" if result.left_out == 1 else "steps were"
        why = ": a record has the numbers of fewer and fewer steps"
        why = why if is_elsewhere else ", for the size of the parameters"
        return f"{made}: {result.left_out:,} {steps} not compared{why}."
    if result.grown_from is not None:
        return (
            f"{made}: this training makes roundings grow, which explain all of the difference from"
            f" step {result.grown_from:,} on. Later steps prove nothing."
        )
    if result.gone is not None and not result.is_probed:
        return f"{made}: the new program keeps no moment of {result.gone}, so none was compared."
    if result.steps and not result.is_probed:
        return f"{made}: compared in this run only, which need not show an eps or a mask."
    return ""


def _made_in(result: ComparedOptimizer) -> str:
    lines = dict.fromkeys(f"{from_here(each.file)}:{each.number}" for each in result.created)
    return f"Made in {', '.join(lines)}"


def _closeness(comparisons: Sequence[Comparison]) -> Closeness:
    """How close the numbers have to be that programs make of optimizers which agree so closely."""
    worst = [each.worst for each in comparisons if each.worst is not None]
    if not worst:
        return Closeness(_SOME_ROUNDINGS, is_rounded=False)
    part = max(each.error / (each.distance or each.before.largest or 1.0) for each in worst)
    return Closeness(min(_MOST, max(_LEAST, _AMPLIFIED * part)), is_rounded=True)


def _unlike(lines: ComparedLines, files: ComparedFiles) -> Iterator[str]:
    """The lines on what two programs print and write differently."""
    if count := len(lines.differing):
        yield f"The output differs in {count:,} line{'' if count == 1 else 's'}:"
        for pair in lines.differing[:_SHOWN]:
            yield from (f"  {sign} {text}" for sign, text in zip("-+", pair, strict=True) if text)
        if count > _SHOWN:
            yield f"  and in {count - _SHOWN:,} more"
    if files.differing:
        yield "Files differ:"
        yield from (f"  {each}" for each in files.differing[:_SHOWN])
        if len(files.differing) > _SHOWN:
            yield f"  and {len(files.differing) - _SHOWN:,} more"


def _alike(lines: ComparedLines, files: ComparedFiles, has_again: bool) -> Iterator[str]:
    """The line on what two programs print and write in the same way."""
    counts = ((lines.compared, "line", " of output"), (files.compared, "written file", ""))
    what = [
        f"{count:,} {name}{'' if count == 1 else 's'}{of}" for count, name, of in counts if count
    ]
    but = (
        ", but for what differs between two runs of the old program"
        if has_again
        else (", but for times, addresses, lines of the source or roundings")
    )
    if what:
        rest = "" if lines.is_exact and files.is_exact else but
        yield f"{' and '.join(what)}: the same before and after{rest}."


def _first(names: Sequence[str]) -> str:
    """The first ones of many."""
    more = f" and {len(names) - _MADE:,} more" if len(names) > _MADE else ""
    return f"{', '.join(names[:_MADE])}{more}"


def _step(state: ObservedState) -> str:
    return ", ".join(dict.fromkeys(map(str, state.step)))


def _of_probe(probed: ProbedStep, state: ObservedState) -> str:
    """The sentences on optimizers that differ only by themselves."""
    gradients = "drawn gradients" if probed.has_gradients else "gradients of zero"
    part = f", which is {probed.error / probed.distance:.2g} of it" if probed.distance else ""
    leaf = state.optimizer.paths[probed.leaf] or "the parameter"
    return (
        f"This run does not show it, but by itself, with {gradients}, the optimizer differs: what"
        f" its step {probed.step} adds to {leaf} is off by {probed.error:.2g}{part}.\n"
        "What the program did itself, such as a decay in the loss, has to stay there for a proof."
    )


def _named(difference: ArrayDifference) -> str:
    leaf = difference.leaf or "the parameter"
    return f"a moment of {leaf}" if difference.is_moment else leaf


def _amount(difference: ArrayDifference) -> str:
    """A sentence on how large a difference is."""
    before = difference.before
    shape = " × ".join(map(str, before.shape)) or "one number"
    amount = f"{_named(difference)} ({before.dtype}, {shape}) differs by {difference.error:.2g}"
    if difference.distance:
        part = f"{difference.error / difference.distance:.2g}"
        whole = "the usual size of the moment" if difference.is_moment else "the distance travelled"
        amount += f", which is {part} of {whole}"
    elif before.largest:
        amount += f", where the largest value is {before.largest:.2g}"
    return f"{amount}; {difference.allowed:.2g} is allowed."
