"""The way out for people: the Python text that makes the same optimizer in optax."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from flax.core import FrozenDict

from flaxoptim_compat import syntax
from flaxoptim_compat.bridge.definition import PyTree
from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.multi_optimizer import MultiOptimizer

_IMPORTS = {
    "jnp": "import jax.numpy as jnp",
    "optax": "import optax",
    "freeze": "from flax.core import freeze",
    "transforms": "from flaxoptim_compat import transforms",
}
_KNOWN = {*_IMPORTS, "float", "labels"}

_OF_LABELS = '''\
def make_tx(labels):
    """labels: a tree like the parameters, with the key of its optimizer for each parameter."""
'''


def optax_source(definition: OptimizerDef, params: PyTree = None) -> str:
    """Python text that makes, as ``tx``, the optax transformation that does what a definition does.

    For a definition without a learning rate, the rate is in ``opt_state.hyperparams``, where it
    starts at 0: set ``opt_state.hyperparams["learning_rate"]`` before each step. In half precision
    the last bits can differ from the definition's, because optax rounds the rate to the dtype of
    the parameters.

    Args:
      definition: any definition whose steps run in optax.
      params: for a MultiOptimizer, the parameters: the text then says which optimizer moves which
        parameter. Without ``params`` the text has a function ``make_tx(labels)`` in place of
        ``tx``.

    Raises:
      ValueError: there is no such text: a subclass runs code of its own, a hyper-parameter is an
        array with dimensions or a traced value, or parameters are in containers without a literal.
    """
    expression = _expression(definition)
    if not isinstance(definition, MultiOptimizer):
        blocks = [syntax.statement("tx = ", expression)]
    elif params is None:
        blocks = ["\n" + _OF_LABELS + syntax.statement("return ", expression, indent=4)]
    else:
        labels = _literal(definition.labels(params))
        blocks = [
            syntax.statement("labels = ", labels) + "\n" + syntax.statement("tx = ", expression)
        ]
    names = _names("".join(blocks))
    imports = "\n".join(line for name, line in _IMPORTS.items() if name in names)
    return "\n\n".join([imports, *blocks]) + "\n"


def _names(source: str) -> set[str]:
    """The names that a text uses, without the arguments of its functions."""
    nodes = list(ast.walk(ast.parse(source)))
    arguments = {node.arg for node in nodes if isinstance(node, ast.arg)}
    return {node.id for node in nodes if isinstance(node, ast.Name)} - arguments


def _expression(definition: OptimizerDef) -> ast.expr:
    name = type(definition).__name__
    expression = definition.optax_syntax()
    if expression is None:
        raise ValueError(
            f"There is no optax text for this {name}: the definition runs code that is not in"
            " optax. `to_optax(definition, params)` makes a transformation that runs the code."
        )
    unknown = _names(syntax.in_one_line(expression)) - _KNOWN
    if unknown:
        raise ValueError(
            f"There is no optax text for this {name}: {', '.join(sorted(unknown))} is no single"
            " number. `to_optax(definition, params)` takes any value."
        )
    return expression


def _literal(labels: PyTree) -> ast.expr:
    """A tree of labels as an expression."""
    if isinstance(labels, str):
        return ast.Constant(labels)
    if isinstance(labels, Mapping):
        keys = [ast.parse(repr(key), mode="eval").body for key in labels]
        node = ast.Dict([*keys], list(map(_literal, labels.values())))
        return syntax.called("freeze", node) if isinstance(labels, FrozenDict) else node
    if type(labels) is list:
        return ast.List(list(map(_literal, labels)))
    if type(labels) is tuple:
        return ast.Tuple(list(map(_literal, labels)))
    raise ValueError(
        f"There is no literal for the labels of parameters in a {type(labels).__name__}. Leave out"
        " `params`, and call the function `make_tx` of the text with a tree of labels."
    )
