"""FOC171, FOC172 and FOC174: calls that do something else today; their owner can say what to do."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.found import Found
from flaxoptim_compat.migrate.rules.rule import Rule

RULES = (
    Rule("FOC171", "recurrent-cells", is_rewritten=False),
    Rule("FOC172", "donated-buffers", is_rewritten=False),
    Rule("FOC174", "early-stopping", is_rewritten=False),
)
_CELLS = {
    **dict.fromkeys(("GRUCell", "LSTMCell", "OptimizedLSTMCell"), "features"),
    # It always was made with these.
    "ConvLSTMCell": "features, kernel_size",
}
_METHOD = ".initialize_carry"
_COMPILE = ("jax.jit", "jax.pmap", "jax.experimental.pjit.pjit")
_STOPPING = "flax.training.early_stopping.EarlyStopping"


def find(code: str, reading: Reading) -> Iterator[Found]:
    """The calls that one of these rules is about."""
    finders = {"FOC171": _cells, "FOC172": _donations, "FOC174": _pairs}
    yield from finders[code](reading)


def _calls(reading: Reading) -> Iterator[tuple[ast.Call, str]]:
    """The calls of what other packages have, each with the full name of what is called."""
    for use in reading.names.uses:
        call = reading.document.parents.get(use.node)
        if isinstance(call, ast.Call) and call.func is use.node:
            yield call, use.name


def _cells(reading: Reading) -> Iterator[Found]:
    """Recurrent cells of Linen, which are made with their number of features today."""
    for call, name in _calls(reading):
        module, _, cell = name.removesuffix(_METHOD).rpartition(".")
        if module != "flax.linen" or cell not in _CELLS:
            continue
        source = reading.document.source(call.func)
        has_features = call.args or any(each.arg in ("features", None) for each in call.keywords)
        if name.endswith(_METHOD):
            made = f"{source.removesuffix(_METHOD)}({_CELLS[cell]})"
            what = f"{source} is a method of a cell since flax 0.7.0"
            yield Found(call.func, what, f"write {made}{_METHOD}(rng, input_shape)")
        elif _CELLS[cell] == "features" and not has_features:
            what = f"{source}() wants its number of features since flax 0.7.0"
            yield Found(call.func, what, f"write {source}(features)")


def _donations(reading: Reading) -> Iterator[Found]:
    """Arguments that are used again after they were donated, which deletes them."""
    donated: dict[str, list[int]] = {}
    for made, name in _calls(reading):
        match reading.document.parents[made]:
            case ast.Assign(targets=[ast.Name(id=function), *_]) if name in _COMPILE:
                given = [each.value for each in made.keywords if each.arg == "donate_argnums"]
                numbers = [one for each in given for one in ast.walk(each)]
                donated[function] = [
                    each.value
                    for each in numbers
                    if isinstance(each, ast.Constant) and isinstance(each.value, int)
                ]
    for call in reading.document.of_kind(ast.Call) if donated else ():
        function = ast.unparse(call.func) if isinstance(call.func, ast.Name) else ""
        for number in donated.get(function, ()):
            argument = call.args[number] if number < len(call.args) else None
            if isinstance(argument, ast.Name) and _lives_on(reading, call, argument.id):
                what = f"{argument.id} is used again after it was donated to {function}"
                instead = "use the result, or take donate_argnums out"
                reason = f"{what}, which deletes it: {instead}"
                yield Found(argument, what, instead, reason=reason)


def _lives_on(reading: Reading, call: ast.Call, name: str) -> bool:
    """True if the statements that follow a call in its block read a name before they bind it."""
    statement = reading.document.statement(call)
    if not all(_reads(reading, statement, name)):
        return False  # the result takes its name
    block = reading.document.block(statement)
    following = block[block.index(statement) + 1 :]
    return next((is_read for node in following for is_read in _reads(reading, node, name)), False)


def _reads(reading: Reading, node: ast.stmt, name: str) -> list[bool]:
    """For each place of a name, in their order, whether it is read there."""
    found = [each for each in ast.walk(node) if isinstance(each, ast.Name) and each.id == name]
    found.sort(key=reading.document.span)
    return [isinstance(each.ctx, ast.Load) for each in found]


def _pairs(reading: Reading) -> Iterator[Found]:
    """The statements that take apart what ``EarlyStopping.update`` returns: it was a pair."""
    made: set[str] = set()
    for call, name in _calls(reading):
        statement = reading.document.parents[call]
        if name == _STOPPING and isinstance(statement, ast.Assign):
            made.update(map(ast.unparse, statement.targets))
    for statement in reading.document.of_kind(ast.Assign) if made else ():
        match statement:
            case ast.Assign(
                targets=[ast.Tuple(), *_],
                value=ast.Call(func=ast.Attribute(value=stopping, attr="update")),
            ) if ast.unparse(stopping) in made:
                what = "the pair that EarlyStopping.update returned before flax 0.7.5"
                instead = "stopping = stopping.update(metric); stopping.has_improved"
                yield Found(statement, what, instead, reason=f"{what}: write {instead}")
            case _:
                pass
