"""FOC208: ``MultiOptimizer`` and ``ModelParamTraversal`` as ``optax.partition``."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.finding import Change, Finding
from flaxoptim_compat.migrate.optimizers.fragments import replaced, span
from flaxoptim_compat.migrate.optimizers.reading import Facts, Reading
from flaxoptim_compat.migrate.rules.foc201_constructor import definition_finding
from flaxoptim_compat.migrate.rules.rule import Example, Rule

RULE = Rule(
    code="FOC208",
    name="multi-optimizer",
    summary="several optimizers for several parameters, `MultiOptimizer((traversal, "
    "definition), ...)`",
    what="`--to optax` writes `optax.partition` with a function that says by its path to "
    "which optimizer each parameter belongs. What no traversal selects is frozen to the bit. A "
    "variable that held a `ModelParamTraversal` holds its function from then on. For jax before "
    "0.5.1, whose `keystr` knows no separator, the keys of a path are joined one by one. "
    "`--to shim` only changes where the classes come from.",
    why="`optax.masked` is what many wrote by hand, and it adds the raw gradient to the "
    "parameters that it leaves out. In `optax.partition` every parameter has one optimizer, "
    "and paths are written as flax.optim wrote them, with a slash in front.",
    refuses="Traversals that do not select by a function of the path, those that are used "
    "elsewhere too, and parts that are not written out. The definition then stays: FOC202. So does "
    "it where a step is given gradients of some parameters only, which optax does not take."
    "\n\nA `ModelParamTraversal` did not look into lists: its function got the path of the whole "
    "list. Optax asks for each element.",
    examples=(
        Example(
            before="""\
from flax import optim


def make(params):
    biases = optim.ModelParamTraversal(lambda path, _: path.endswith("bias"))
    definition = optim.MultiOptimizer((biases, optim.Momentum(0.1)))
    return definition.create(params)
""",
            optax="""\
import jax
import optax
from flax.training import train_state
from flaxoptim_compat import transforms


def make(params):
    biases = lambda path, _: path.endswith("bias")
    definition = optax.partition(
        {"0": optax.sgd(0.1, momentum=0.9), "frozen": transforms.hold()},
        lambda params: jax.tree_util.tree_map_with_path(
            lambda keys, leaf: (
                lambda path, value: "0" if biases(path, value) else "frozen"
            )("/" + jax.tree_util.keystr(keys, simple=True, separator="/"), leaf),
            params,
        ),
    )
    return train_state.TrainState.create(apply_fn=None, tx=definition, params=params)
""",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Each MultiOptimizer, and each traversal that belongs to one."""
    facts = reading.facts
    if facts is None:
        return
    for site, unit in facts.definitions(reading.document):
        if site.name == "MultiOptimizer" and reading.allows(RULE.code, site.node):
            yield definition_finding(reading, facts, RULE.code, site, unit)
    yield from _traversals(reading, facts)


def _traversals(reading: Reading, facts: Facts) -> Iterator[Finding]:
    for call, is_inline in facts.traversals(reading.document):
        if not reading.allows(RULE.code, call):
            continue
        start, end = reading.document.span(call)
        edits = () if is_inline else (replaced(reading, call, span(reading, call.args[0])),)
        what = "a traversal, ModelParamTraversal"
        optax = Change(edits, drops=(call.func,))
        yield Finding(RULE.code, start, end, what, "its function", optax=optax)
