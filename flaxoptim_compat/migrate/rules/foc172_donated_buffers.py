"""Arguments that are used again after they were donated."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.found import Found
from flaxoptim_compat.migrate.rules.rule import Rule

RULE = Rule("FOC172", "donated-buffers", is_rewritten=False)
_MAKERS = ("jax.jit", "jax.pmap", "jax.experimental.pjit.pjit")


def find(reading: Reading) -> Iterator[Found]:
    """The calls whose donated argument lives on."""
    if "donate_argnums" not in reading.document.text:
        return
    donated = dict(_donating(reading))
    for node in reading.document.of_kind(ast.Call):
        function = node.func.id if isinstance(node.func, ast.Name) else ""
        for number in donated.get(function, ()):
            argument = node.args[number] if number < len(node.args) else None
            if isinstance(argument, ast.Name) and _lives_on(reading, node, argument):
                what = f"{argument.id} is used again after it was donated to {function}"
                instead = "use the result, or take donate_argnums out"
                reason = f"{what}, which deletes it: {instead}"
                yield Found(argument, what, instead, reason=reason)


def _donating(reading: Reading) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The functions that are given away arguments, and which."""
    for node in reading.document.of_kind(ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Name(id=name), *_], value=ast.Call() as call):
                if reading.names.full_name(call.func) in _MAKERS:
                    for each in call.keywords:
                        if each.arg == "donate_argnums":
                            yield name, _numbers(each.value)
            case _:
                pass


def _numbers(node: ast.expr) -> tuple[int, ...]:
    nodes = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
    values = [each.value for each in nodes if isinstance(each, ast.Constant)]
    return tuple(each for each in values if isinstance(each, int) and each >= 0)


def _lives_on(reading: Reading, call: ast.Call, argument: ast.Name) -> bool:
    """Whether the statements that follow a call in its block read a name before they bind it."""
    statement = reading.document.statement(call)
    if any(not is_read for is_read in _uses(reading, statement, argument.id)):
        return False  # the result takes its name
    block = reading.document.block(statement)
    following = block[block.index(statement) + 1 :]
    uses = [each for node in following for each in _uses(reading, node, argument.id)]
    return bool(uses) and uses[0]


def _uses(reading: Reading, node: ast.stmt, name: str) -> list[bool]:
    """For each place of a name, in their order, whether it is read there."""
    found = [each for each in ast.walk(node) if isinstance(each, ast.Name) and each.id == name]
    found.sort(key=lambda each: reading.document.span(each))
    return [isinstance(each.ctx, ast.Load) for each in found]
