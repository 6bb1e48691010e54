"""One thing that a program does with an optimizer."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable
from typing import Literal

from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.evidence import Evidence
from flaxoptim_compat.migrate.values.objects import (
    Class,
    Definition,
    External,
    Function,
    Instance,
    Object,
    Objects,
    Optimizer,
    Site,
    StateDict,
    Stored,
    Unknown,
)

MIXED = "A value is an optimizer in some calls, and something else in others"
BY_HAND = "An optimizer is put together by hand."
NOT_PICKLED = "A TrainState cannot be pickled, because of the functions in it."
# What ends the reason of a place of which the text does not show enough.
RUN_TO_KNOW = "Run with --verify to find out."
_RUN_MORE = "No run has shown it: add a --verify COMMAND that comes here."

# The rules about steps.
STEPS = frozenset({"FOC205", "FOC206"})
# Where definitions were made; None: not in this program.
Sites = frozenset[Site | None]


@dataclasses.dataclass(frozen=True)
class Use:
    """One place where a program does something with an optimizer.

    Args:
      code: the rule it falls under.
      document: the file.
      node: the expression.
      sites: where the definitions of the optimizers were made; None: not in this program.
      problem: why it cannot be written with a TrainState; "" if it can.
      bridge: how it is still written where the definition stays: the optimizer that the TrainState
        stands for does it. ``reads`` something of it, or ``returns`` a new one, which becomes a
        TrainState again; "" if neither helps.
      overrides: the hyper-parameters given to one call of ``apply_gradient``, by name.
      axis: that of the ``pmap`` over which such a call averages the gradients; "" if it does not.
      joins: whether all that it may be about is rewritten together; not so for an annotation.
      is_doubt: whether the problem is that something is not known, which a run may have shown.
      fails_dual: whether a DualTrainState does not do it as it stands, either.
      is_plain: whether it has the name of a TrainState already, on a DualTrainState.
    """

    code: str
    document: Document
    node: ast.expr
    sites: Sites
    problem: str = ""
    overrides: tuple[str, ...] = ()
    bridge: Literal["", "reads", "returns"] = ""
    axis: str = ""
    joins: bool = True
    is_doubt: bool = False
    fails_dual: bool = False
    is_plain: bool = False

    @property
    def makes(self) -> bool:
        """True if an optimizer is made here."""
        return self.code == "FOC202" or self.problem == BY_HAND

    @property
    def start(self) -> int:
        """Where it starts in the text of the file."""
        return self.document.span(self.node)[0]


def sites_of(values: Objects, kind: type[Optimizer | Definition | StateDict]) -> Sites:
    """Where the definitions of all values of a kind were made; None only if no place is known."""
    found: Sites = frozenset(each.site for each in values if isinstance(each, kind))
    return found - {None} or found


def shown(node: ast.AST) -> str:
    """An expression as a message quotes it: on one line, and not too much of it."""
    text = ast.unparse(node)
    if len(text) > _LONGEST and isinstance(node, ast.Call):
        text = f"{ast.unparse(node.func)}(...)"
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


_LONGEST = 50


def advised(reason: str, evidence: Evidence) -> str:
    """A reason, with the advice for a program that was run: to run another command.

    Args:
      reason: the reason; it may advise a run.
      evidence: what runs of the program showed, if there were any.
    """
    return reason.replace(RUN_TO_KNOW, _RUN_MORE) if evidence.is_of_a_run else reason


def becomes_train_state(document: Document, call: ast.Call) -> bool:
    """True if a TrainState is made of the result of a call at once."""
    parent = document.parents[call]
    return isinstance(parent, ast.Attribute) and parent.attr == "to_train_state"


def mixed(others: Iterable[Object], unknown: Unknown | None = None) -> str:
    """The message that a value may be an optimizer or one of these, of which it names the first."""
    what = min(filter(None, map(_called, others)), default="")
    if not what and unknown is not None:
        node = unknown.node
        place = (
            f", {unknown.document.place(node)},"
            if isinstance(node, ast.expr | ast.stmt) and hasattr(node, "lineno")
            else ""
        )
        text = node.arg if isinstance(node, ast.arg) else shown(node)
        return f"The text does not show whether `{text}`{place} is an optimizer. {RUN_TO_KNOW}"
    return f"{MIXED}: {what}." if what else f"{MIXED}."


def _called(other: Object) -> str:
    match other:
        case Instance(of=Class(document=document, node=node)):
            return f"an object of `{node.name}`, {document.place(node)}"
        case Class(document=document, node=node) | Function(document=document, node=node):
            return f"`{getattr(node, 'name', 'lambda')}`, {document.place(node)}"
        case External(name=name):
            return f"`{name}`"
        case Stored():
            return "the nested dicts of a checkpoint"
    return ""


def axes_of(values: Objects) -> frozenset[str]:
    """The axes over which optimizers average their gradients; "" if one of them does not."""
    optimizers = [each for each in values if isinstance(each, Optimizer)]
    known = [each for each in optimizers if each.site is not None]
    return frozenset(each.axis for each in known or optimizers)


def gradients_of(step: ast.Call) -> list[ast.expr]:
    """The gradients that a call of ``apply_gradient`` is given: one expression, if it is right."""
    return [*step.args, *(each.value for each in step.keywords if each.arg == "grads")]


def is_gradient_hidden(node: ast.expr) -> bool:
    """True for a call whose gradients are among the arguments of ``*`` or ``**``."""
    if not isinstance(node, ast.Call):
        return False
    given = gradients_of(node)
    return not given or isinstance(given[0], ast.Starred)


def is_spelled_out(call: ast.Call) -> bool:
    """True if all arguments of a call are written out, without ``*`` and ``**``."""
    starred = any(isinstance(each, ast.Starred) for each in call.args)
    return not starred and all(each.arg for each in call.keywords)


def is_simple(node: ast.expr) -> bool:
    """True if an expression may be evaluated twice: a name, with attributes, and keys or names."""
    match node:
        case ast.Name():
            return True
        case (
            ast.Attribute(value=inner)
            | ast.Subscript(value=inner, slice=ast.Constant() | ast.Name())
        ):
            return is_simple(inner)
    return False
