"""The text of a constructor call in optax."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flaxoptim_compat.migrate.editing.edits import Parts
from flaxoptim_compat.migrate.editing.surroundings import Surroundings, surroundings_of
from flaxoptim_compat.migrate.optax_text.binding import Bound, refusal
from flaxoptim_compat.migrate.optax_text.program_expressions import quoted_parts
from flaxoptim_compat.migrate.program.document import Document


def chain(
    bound: Bound,
    document: Document,
    name_of: Callable[[str], str],
    injected: Sequence[str] = (),
    schedule: Parts | None = None,
    place: Surroundings | None = None,
    plain: bool = False,
) -> Parts:
    """The parts of the optax expression that does exactly what a constructor call does.

    Args:
      bound: the call.
      document: the file it stands in.
      name_of: takes ``optax``, ``jax``, ``jax.numpy`` or ``flaxoptim_compat.transforms``, and
        returns the expression for this module in the file. It is asked for those that are needed.
      injected: the hyper-parameters that are given with each step: they stand in
        ``opt_state.hyperparams``. One that the call does not give starts with its default, and a
        learning rate with 0.
      schedule: a function of the step, which takes the place of the learning rate.
      place: where the expression will stand; None: in the place of the call.
      plain: write optax's namesake where there is one, although that changes the numbers.

    Raises:
      ValueError: ``refusal`` has a reason why there is no such text.
    """
    reason = refusal(bound, injected, schedule is not None)
    if reason:
        raise ValueError(reason)
    # Here and not above: jax, flax and optax take a second to import, and `scan` reads signatures.
    from flaxoptim_compat.migrate.optax_text.expression import Expression

    expression = Expression(document, name_of, plain)
    injecting = expression.injecting() if injected else None
    names = {}
    if injecting is not None:
        for name in injected:
            injecting.dynamic(name, expression.start(bound, name))
            names[name] = name
    function = None if schedule is None else quoted_parts(document, schedule)
    node = expression.chain(bound, names, injecting, function)
    if injecting is not None:
        node = injecting.around(node)
    return expression.finished(node, place or surroundings_of(document, bound.call))
