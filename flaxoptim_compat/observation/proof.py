"""The proof of a rewrite: the numbers of commands that run before and after it, compared."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from flaxoptim_compat.observation import observed_command
from flaxoptim_compat.observation.observed_command import ObservedRun
from flaxoptim_compat.observation.places import Uses
from flaxoptim_compat.observation.records import ObservedState, Record
from flaxoptim_compat.observation.rewritten_lines import RewrittenFile, quoted, rewritten_lines
from flaxoptim_compat.observation.trajectories import (
    ArrayDifference,
    Comparison,
    Divergence,
    compare,
)
from flaxoptim_compat.observation.verdict import Verdict

_DIFFER = "The numbers differ after the rewrite."
_SUSPECTS = "Rewritten lines that may be the cause:"


class Proof:
    """Runs commands before a rewrite and after it, and compares the steps of their optimizers.

    Args:
      commands: the commands, which the shell runs in the current directory.
      running: shows a text while the block runs.
      run: runs a command, observed.
    """

    def __init__(
        self,
        commands: Sequence[str],
        running: Callable[[str], AbstractContextManager[object]],
        run: Callable[[str], ObservedRun] = observed_command.run,
    ) -> None:
        self.commands = commands
        # The files of the rewrite, once it is known.
        self.changes: Sequence[RewrittenFile] = ()
        # Where the program uses optimizers.
        self.uses = Uses()
        self._running = running
        self._run = run
        self._before: list[Record] = []
        self._after: list[Record] = []
        # The number of the command whose runs diverge.
        self._diverging: int | None = None

    def before(self) -> Verdict | None:
        """Run all commands with the old program; returns a verdict if one fails."""
        for command in self.commands:
            done = self._observed("Before", command)
            if done.status:
                return Verdict(
                    "The command fails before anything is rewritten, with exit status"
                    f" {done.status}.",
                    output=done.output,
                )
            self._before.append(done.record)
            self.uses |= done.uses
        return None

    def after(self) -> Verdict | None:
        """Run all commands with the rewritten program; returns a verdict if it must not stay."""
        for number, command in enumerate(self.commands):
            done = self._observed("After", command)
            if done.status:
                return Verdict(
                    f"The command fails after the rewrite, with exit status {done.status}.",
                    output=done.output,
                    is_of_command=True,
                )
            self._after.append(done.record)
            divergence = compare(self._before[number], done.record).divergence
            if divergence is not None:
                self._diverging = number
                return Verdict(_DIFFER, self._told(divergence))
        return None

    def put_back(self, verdict: Verdict) -> Verdict:
        """The verdict once the old files are back: two runs of the old program may differ too."""
        if self._diverging is None:
            return verdict
        done = self._observed("Once more, as it was", self.commands[self._diverging])
        if done.status:
            return verdict
        divergence = compare(self._before[self._diverging], done.record).divergence
        if divergence is None:
            return verdict
        where = f"{_named(divergence.difference)} of step" if divergence.difference else "step"
        return Verdict(
            _DIFFER,
            f"Two runs of the program as it was differ too, first in {where}"
            f" {_step(divergence.state)}: fix the seed of the program, then verify again.",
        )

    @property
    def names(self) -> list[str]:
        """The lost names that the rewritten program still uses."""
        return sorted({name for record in self._after for name in record.names})

    def account(self) -> Iterator[str]:
        """The lines on the numbers that were compared, once the rewrite stays."""
        runs = list(zip(self._before, self._after, strict=True))
        comparisons = [compare(before, after) for before, after in runs]
        for trouble in sorted({each for run in runs for record in run for each in record.trouble}):
            yield f"Some states of optimizers could not be recorded: {trouble}"
        if not any(each.optimizers for each in comparisons):
            commands = "The command" if len(runs) == 1 else "The commands"
            yield f"{commands} did no step of an optimizer, so no numbers were compared."
            yield "Only the exit status speaks for the rewrite. For a proof, verify a training."
            return
        yield _agreement(comparisons)

    def _observed(self, when: str, command: str) -> ObservedRun:
        with self._running(f"{when}: {command}"):
            return self._run(command)

    def _told(self, divergence: Divergence) -> str:
        """The lines that made the optimizer, the difference, and rewritten lines near by."""
        state, difference = divergence.state, divergence.difference
        lines = list(dict.fromkeys(map(self._quoted, divergence.created or [state])))
        if difference is not None:
            lines.append(f"Step {_step(state)}: {_amount(difference)}")
        elif divergence.is_missing:
            lines.append(f"Step {_step(state)} is missing after the rewrite.")
        else:
            lines.append(f"Step {_step(state)} is there only after the rewrite.")
        places = self._after[-1].places.get(state.optimizer.paths, set())
        suspects = rewritten_lines(self.changes, sorted(places))
        return "\n".join([*lines, *([_SUSPECTS, *suspects] if suspects else [])])

    def _quoted(self, state: ObservedState) -> str:
        """The line that made a state, of the old or of the rewritten program."""
        path = os.path.realpath(state.place.file)
        is_new = any(state is each for states in self._after[-1].states.values() for each in states)
        for change in self.changes:
            if os.path.realpath(change.path) == path:
                return quoted(state.place, change.new if is_new else change.old)
        return quoted(state.place)


def _agreement(comparisons: Sequence[Comparison]) -> str:
    """A sentence on how many steps were compared, and how closely they agree."""
    optimizers = sum(each.optimizers for each in comparisons)
    steps = sum(each.steps for each in comparisons)
    all_steps = sum(each.all_steps for each in comparisons)
    compared = f"{optimizers:,} optimizer{'' if optimizers == 1 else 's'}"
    shown = f"{steps:,}" if steps == all_steps else f"{steps:,} of {all_steps:,}"
    compared += f", {shown} step{'' if all_steps == 1 else 's'}"
    differences = [each.worst for each in comparisons if each.worst is not None]
    if not differences:
        return f"{compared}: the same bits before and after."
    worst = max(differences, key=lambda each: each.excess)
    return (
        f"{compared}: the same within the tolerance. The largest difference is {worst.error:.2g},"
        f" in {_named(worst)}, where {worst.allowed:.2g} is allowed."
    )


def _step(state: ObservedState) -> str:
    return ", ".join(dict.fromkeys(map(str, state.step)))


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
