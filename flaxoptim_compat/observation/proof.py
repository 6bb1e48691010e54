"""The proof of a rewrite: commands run before and after, and the numbers of both are compared."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from flaxoptim_compat.observation import observed_command
from flaxoptim_compat.observation.observed_command import Run
from flaxoptim_compat.observation.places import Uses
from flaxoptim_compat.observation.records import Record, State
from flaxoptim_compat.observation.rewritten_lines import RewrittenFile, quoted, rewritten_lines
from flaxoptim_compat.observation.trajectories import Comparison, Gap, Parting, compare
from flaxoptim_compat.observation.verdict import Verdict


class Proof:
    """Runs commands before a rewrite and after it, and judges by what their optimizers did.

    Args:
      commands: they are run by the shell, in the current directory.
      running: is told what is being run, and shows it for as long as that takes.
      run: runs a command, observed.
    """

    def __init__(
        self,
        commands: Sequence[str],
        running: Callable[[str], AbstractContextManager[object]],
        run: Callable[[str], Run] = observed_command.run,
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
        self._parted: tuple[int, Parting] | None = None

    def before(self) -> Verdict | None:
        """Run all commands with the program as it is."""
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
        """Run them with the program as it is to be, and compare."""
        for number, command in enumerate(self.commands):
            done = self._observed("After", command)
            if done.status:
                return Verdict(
                    f"The command fails after the rewrite, with exit status {done.status}.",
                    output=done.output,
                    is_of_command=True,
                )
            self._after.append(done.record)
            parting = compare(self._before[number], done.record).parting
            if parting is not None:
                self._parted = number, parting
                return Verdict("The numbers part after the rewrite.", self._told(parting))
        return None

    def put_back(self, verdict: Verdict) -> Verdict:
        """Find out whether the program as it was does the same twice, if its numbers part."""
        if self._parted is None:
            return verdict
        number, _ = self._parted
        done = self._observed("Once more, as it was", self.commands[number])
        if done.status:
            return verdict
        parting = compare(self._before[number], done.record).parting
        if parting is None:
            return verdict
        where = f"{_named(parting.gap)} of step" if parting.gap else "step"
        return Verdict(
            "The numbers part after the rewrite.",
            f"Two runs of the program as it was differ too, first in {where}"
            f" {_step(parting.state)}: fix its seed, then verify again.",
        )

    @property
    def names(self) -> list[str]:
        """The lost names that the rewritten program still uses."""
        return sorted({name for record in self._after for name in record.names})

    def account(self) -> Iterator[str]:
        """A few lines that say what was compared."""
        runs = list(zip(self._before, self._after, strict=True))
        found = [compare(before, after) for before, after in runs]
        for trouble in sorted({each for run in runs for record in run for each in record.trouble}):
            yield f"Some states could not be noted: {trouble}"
        if not any(each.optimizers for each in found):
            ran = "The command" if len(runs) == 1 else "The commands"
            yield f"{ran} ran no optimizer that moves: nothing was compared."
            yield "So only the success of the command speaks for the rewrite."
            return
        yield _agreement(found)

    def _observed(self, when: str, command: str) -> Run:
        with self._running(f"{when}: {command}"):
            return self._run(command)

    def _told(self, parting: Parting) -> str:
        state, gap = parting.state, parting.gap
        lines = list(dict.fromkeys(map(self._quoted, parting.created or [state])))
        if gap is not None:
            lines.append(f"Step {_step(state)}: {_amount(gap)}")
        elif parting.is_missing:
            lines.append(f"Step {_step(state)} is missing after the rewrite.")
        else:
            lines.append(f"Step {_step(state)} is there only after the rewrite.")
        places = self._after[-1].places.get(state.kind.paths, set())
        through = rewritten_lines(self.changes, sorted(places))
        return "\n".join([*lines, *(["Rewritten lines on the way:", *through] if through else [])])

    def _quoted(self, state: State) -> str:
        """The line that made a state, of the program that made it."""
        path = os.path.realpath(state.place.file)
        is_new = any(state is each for states in self._after[-1].states.values() for each in states)
        for change in self.changes:
            if os.path.realpath(change.path) == path:
                return quoted(state.place, change.new if is_new else change.old)
        return quoted(state.place)


def _agreement(found: Sequence[Comparison]) -> str:
    optimizers = sum(each.optimizers for each in found)
    steps, every = sum(each.steps for each in found), sum(each.all_steps for each in found)
    what = f"{optimizers:,} optimizer{'' if optimizers == 1 else 's'}"
    shown = f"{steps:,}" if steps == every else f"{steps:,} of {every:,}"
    what += f", {shown} step{'' if every == 1 else 's'}"
    gaps = [each.worst for each in found if each.worst is not None]
    if not gaps:
        return f"{what}: the same bits before and after."
    worst = max(gaps, key=lambda gap: gap.excess)
    return (
        f"{what}: the same within the tolerance. The largest difference is {worst.error:.2g}, in"
        f" {_named(worst)}, where {worst.allowed:.2g} passes."
    )


def _step(state: State) -> str:
    return ", ".join(dict.fromkeys(map(str, state.step)))


def _named(gap: Gap | None) -> str:
    if gap is None:
        return "a leaf"
    leaf = gap.leaf or "the parameter"
    return f"a moment of {leaf}" if gap.is_moment else leaf


def _amount(gap: Gap) -> str:
    shape = " × ".join(map(str, gap.before.shape)) or "one number"
    off = f"{_named(gap)} ({gap.before.dtype}, {shape}) differs by {gap.error:.2g}"
    if gap.distance:
        of = "of its usual size" if gap.is_moment else "of the way that the leaf had come"
        off += f", which is {gap.error / gap.distance:.2g} {of}"
    elif gap.before.largest:
        off += f", with {gap.before.largest:.2g} as its largest value"
    return f"{off}; {gap.allowed:.2g} passes."
