"""FOC213 to FOC219: what a program does with an optimizer and optax does not do as it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.editing.import_statements import without
from flaxoptim_compat.migrate.optimizers.given_away import (
    given_to_package,
    given_to_unread,
    made_by_unread,
    put_into_unread,
)
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.out_of_sight import (
    decorated,
    into_exception,
    into_operator,
)
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.recognition import ANY, Asked, Recognises
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.values.objects import Definition, Optimizer

RULES = (
    Rule(
        code="FOC213",
        name="state",
        summary="the state of an optimizer is taken apart, `optimizer.state.param_states`",
        what="`--to optax` writes `Optimizer.from_train_state(state)` in front: that is the "
        "optimizer for which the TrainState stands, with the state that the program knows. Where "
        "it is replaced, `.to_train_state()` follows. The definition then stays that of "
        "flax.optim. `--to shim` leaves it.",
        why="Flax kept a small dataclass for each parameter; optax keeps one tree for each "
        "kind of moment. Both ways only move arrays, and cost nothing after compilation.",
        refuses="Where the state is that of an optimizer that is left for another reason.",
        examples=(
            Example(
                before="""\
from flax import optim


def momentum_of(params, name):
    optimizer = optim.Momentum(0.1).create(params)
    return optimizer.state.param_states[name].momentum
""",
                optax="""\
from flaxoptim_compat import optim


def momentum_of(params, name):
    optimizer = optim.Momentum(0.1).create(params).to_train_state(inject=False)
    return optim.Optimizer.from_train_state(optimizer).state.param_states[name].momentum
""",
            ),
        ),
    ),
    Rule(
        code="FOC214",
        name="optimizer-def",
        summary="the definition or its hyper-parameters, read from an optimizer, "
        "`optimizer.optimizer_def`",
        what="`--to optax` reads it from the optimizer that the TrainState stands for, as in "
        "FOC213, and the definition stays. A step that is given `hyper_params=` is done by that "
        "optimizer too."
        "\n\nWhere all steps of a MultiOptimizer give "
        "`hyper_params=[first.replace(learning_rate=a), ...]` for its parts, each part gets a "
        "hyper-parameter of its own in optax, "
        "`learning_rate_0` and so on, which the steps set. `--to shim` leaves it.",
        why="A TrainState has a transformation, `tx`, which does not tell what it was made of. "
        "Values that steps set stand in `opt_state.hyperparams`.",
        refuses="Where the optimizer is left for another reason.",
        examples=(
            Example(
                before="""\
from flax import optim


def rate_of(params):
    optimizer = optim.Momentum(0.1).create(params)
    return optimizer.optimizer_def.hyper_params.learning_rate
""",
                optax="""\
from flaxoptim_compat import optim


def rate_of(params):
    optimizer = optim.Momentum(0.1).create(params).to_train_state(inject=False)
    return optim.Optimizer.from_train_state(
        optimizer
    ).optimizer_def.hyper_params.learning_rate
""",
            ),
        ),
    ),
    Rule(
        code="FOC218",
        name="given-away",
        summary="an optimizer, or what holds one, is given to code that is not read here",
        what="Both targets leave it, and `--to optax` leaves the optimizer with it. What holds "
        "one is a tuple, a list, a dict, or an object with a field for it in the body of its "
        "class, as a dataclass has. Functions of jax, flax, numpy, orbax and others that take "
        "any tree of arrays do not count, nor do methods such as `append` and `save`; a function "
        "that one of them calls with it, as `map` and `jax.lax.scan` do, counts. An attribute "
        "or an entry of what is not read counts as it does. So does a function over all leaves, "
        "such as `jax.tree_util.tree_leaves`, an operator or brackets of a class of the program, "
        "an exception that takes an optimizer along, and what is lost in code that is not "
        "followed, be it a function that makes optimizers, "
        "while somewhere a `target` is asked for of something unknown.",
        why="That code may ask it for `target` or `apply_gradient`, which a TrainState does "
        "not have, and the leaves of a TrainState are others.",
        refuses="Always. Give `rewrite` the file of the function too. If the function takes any "
        "tree, say so with `# noqa: FOC218`.",
        examples=(
            Example(
                before="""\
import some_package
from flax import optim


def train(params):
    optimizer = optim.GradientDescent(0.1).create(params)
    return some_package.train(optimizer)
""",
                optax="""\
import some_package
from flaxoptim_compat import optim


def train(params):
    optimizer = optim.GradientDescent(0.1).create(params)
    # FOC218: It is given to some_package.train, which may expect an Optimizer.
    return some_package.train(optimizer)
""",
            ),
        ),
    ),
    Rule(
        code="FOC219",
        name="other-use",
        summary="a use of an optimizer that no other rule knows",
        what="Both targets leave it, and `--to optax` leaves the optimizer with it, but for one "
        "that is put together by hand, `Optimizer(definition, state, target)`: its definition "
        "stays, and `.to_train_state()` follows.",
        why="A TrainState has no such method or field, or it is not certain that the object is "
        "an optimizer, or something that is not read may make another one in the same place.",
        refuses="Always, but for that one.",
        examples=(
            Example(
                before="""\
from flax import optim


def train(params, batches):
    definition = optim.GradientDescent(0.1)
    optimizer = definition.create(params)
    for grads in batches:
        optimizer = optimizer.apply_gradient(grads)
        definition.hyper_params = definition.hyper_params.replace(learning_rate=0.01)
    return optimizer.target
""",
                optax="""\
from flaxoptim_compat import optim


def train(params, batches):
    definition = optim.GradientDescent(0.1)
    optimizer = definition.create(params)
    for grads in batches:
        optimizer = optimizer.apply_gradient(grads)
        # FOC219: The program assigns to its `hyper_params`, which optax has for good.
        definition.hyper_params = definition.hyper_params.replace(learning_rate=0.01)
    return optimizer.target
""",
            ),
        ),
    ),
)

# What stands there, and what there is instead.
_TEXTS = {
    "FOC213": ("the state of an optimizer", "opt_state, in the structure of optax"),
    "FOC214": ("the definition in an optimizer", "opt_state.hyperparams, for what steps set"),
    "FOC218": ("an optimizer that is given away", "a TrainState, if the package takes one"),
    "FOC219": ("another use of an optimizer", "see why it stays"),
}


def _state(asked: Asked) -> Use:
    parent = asked.document.parents[asked.node]
    name = f"state.{parent.attr}" if isinstance(parent, ast.Attribute) else "state"
    return asked.use("FOC213", OTHER_STRUCTURE.format(name), bridge="reads")


OTHER_STRUCTURE = "`{}` has another structure in optax."


def _definition(asked: Asked) -> Use:
    problem = "A TrainState keeps the transformation as `tx`, without its hyper-parameters."
    return asked.use("FOC214", problem, bridge="reads")


def _unknown(asked: Asked) -> Use:
    owner = "An optimizer" if asked.node.attr == "apply_gradients" else "A TrainState"
    return asked.use("FOC219", f"{owner} has no `{asked.node.attr}`.")


def _assigned(asked: Asked) -> Use:
    problem = f"The program assigns to its `{asked.node.attr}`, which optax has for good."
    return asked.use("FOC219", problem)


# FOC201 is about what is only asked of a definition.
RECOGNISES = Recognises(
    {
        Optimizer: {"state": _state, "optimizer_def": _definition, ANY: _unknown},
        Definition: {ANY: _assigned},
    },
    [(ast.Call, given_to_package)],
    [
        (ast.Assign, put_into_unread),
        (ast.Call, given_to_unread),
        (ast.Call, made_by_unread),
        (ast.FunctionDef, decorated),
        (ast.AugAssign, into_operator),
        (ast.BinOp, into_operator),
        (ast.UnaryOp, into_operator),
        (ast.Subscript, into_operator),
        (ast.Call, into_exception),
    ],
)


def find(code: str, reading: Reading) -> Iterator[Finding]:
    """The uses that one of these rules is about, and why each stays."""

    def edits_of(use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
        del imports
        # What only prepares the hyper-parameters of a step, which the step itself sets in optax.
        statements = {} if unit.part_rates is None else unit.part_rates.statements
        if use.node not in statements:
            return ()
        return (without(reading.document, statements[use.node]),)

    yield from findings(reading, code, *_TEXTS[code], edits_of)
