"""One optax expression in the making; the formulas are those of the definitions themselves."""

from __future__ import annotations

import ast
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from flaxoptim_compat import optim
from flaxoptim_compat.bridge import hyper_params as hp
from flaxoptim_compat.migrate.chains.accepted import namesake_text
from flaxoptim_compat.migrate.chains.binding import Argument, Bound
from flaxoptim_compat.migrate.chains.injecting import Injecting
from flaxoptim_compat.migrate.chains.labels import Labels
from flaxoptim_compat.migrate.chains.pieces import Parts, Pieces
from flaxoptim_compat.migrate.chains.place import Place
from flaxoptim_compat.migrate.chains.settled import Settled
from flaxoptim_compat.migrate.chains.signatures import DTYPE, FLAGS, RATE, SIGNATURES, WRAPPED
from flaxoptim_compat.migrate.chains.tidied import Tidied
from flaxoptim_compat.migrate.document import Document
from flaxoptim_compat.optim import source_layout
from flaxoptim_compat.optim.source_text import Number

# These take a function of the step as the learning rate.
_TAKE_SCHEDULES = frozenset(
    {
        *("adabelief", "adam", "adamw", "rmsprop", "scale_by_learning_rate", "sgd"),
        *("adafactor", "adagrad", "lamb", "lars"),
    }
)


class _Named(float):
    """A number that prints as the name of its piece."""

    piece: str

    def __new__(cls, value: float, piece: str) -> _Named:
        """Make one."""
        number = super().__new__(cls, value)
        number.piece = piece
        return number

    def __str__(self) -> str:
        return self.piece


class Expression:
    """An expression in the making.

    Args:
      document: the file that its pieces come from.
      name_of: takes the dotted name of a module, returns the file's expression for it.
      plain: whether to take optax's namesakes, although they do not do quite the same.
    """

    def __init__(
        self, document: Document, name_of: Callable[[str], str], plain: bool = False
    ) -> None:
        self.pieces = Pieces(document)
        self._name_of = name_of
        self._text_of = namesake_text if plain else exact_text
        self._is_settled = Settled(document)
        self._defaults: dict[str, float] = {}

    def chain(
        self,
        bound: Bound,
        names: Mapping[str, str],
        injecting: Injecting | None,
        schedule: str | None,
    ) -> str:
        """The text of a call, with names for its pieces.

        Args:
          bound: the call.
          names: the hyper-parameters that are injected, and what the lambda calls them.
          injecting: what the text will stand in; None if in no lambda.
          schedule: the name of the piece that takes the place of the learning rate.
        """
        if schedule is None:
            return self._written(bound, names, injecting)
        function = schedule if injecting is None else injecting.static("schedule", schedule)
        text = self._written(bound, {**names, RATE: function}, injecting)
        if _takes_schedule(text, function):
            return text
        inner = self.injecting()
        rate = inner.dynamic(RATE, function)
        if injecting is not None:
            injecting.reserve(rate)
        text = self._written(bound, {**names, RATE: rate}, injecting or inner)
        return inner.around(text)

    def injecting(self) -> Injecting:
        """An ``optax.inject_hyperparams`` to put around a text, with nothing injected yet."""
        return Injecting(self.pieces, self._is_settled)

    def labels(self, filters: Sequence[ast.expr]) -> Labels:
        """What labels the parameters with the first of these filters that selects them."""
        return Labels(filters, self.pieces, self._is_settled)

    def start(self, bound: Bound, name: str) -> str:
        """The value that an injected hyper-parameter starts with."""
        owner = bound.owner_of(name)
        assert owner is not None
        given = owner.arguments.get(name)
        if given is not None and not given.is_literal:
            return self.pieces.of(given.node)
        value = SIGNATURES[owner.name][name] if given is None else given.value
        if value is None:
            value, given = 0.0, None
        return self._number(name, value, given).piece

    def common_start(self, owners: Sequence[tuple[Bound, str]]) -> str:
        """The value that several of them start with, or 0 if they do not agree."""
        starts = [self.start(bound, name) for bound, name in owners]
        first = self.pieces.source(starts[0])
        same = all(self.pieces.source(each) == first for each in starts)
        return starts[0] if same else self.pieces.named(("0.0",))

    def finished(self, text: str, place: Place) -> Parts:
        """The parts of the whole, in lines of bearable length."""
        tree = ast.parse(text, mode="eval")
        tree.body = Tidied(self._defaults, self._name_of).visit(tree.body)
        laid_out = source_layout.expression(ast.unparse(tree), *place)
        return self.pieces.parts(laid_out)

    def _written(self, bound: Bound, names: Mapping[str, str], injecting: Injecting | None) -> str:
        definition = definition_of(bound)
        changes: dict[str, str] = {}
        hyper_params = self._values(bound, definition, names, injecting, changes)
        text = self._text_of(definition, hyper_params)
        for old, new in changes.items():
            text = text.replace(old, new)
        return text

    def _values(
        self,
        bound: Bound,
        definition: Any,
        names: Mapping[str, str],
        injecting: Injecting | None,
        changes: dict[str, str],
    ) -> Any:
        """The hyper-parameters of a definition, each of which formats as the name of its piece."""
        inner = bound.inner
        values: dict[str, Any] = {}
        for name, default in SIGNATURES[bound.name].items():
            given = bound.arguments.get(name)
            symbol = None
            if given is not None and not given.is_literal and name not in names:
                node = given.node
                symbol = self.pieces.of(node) if injecting is None else injecting.of(node, name)
            if name == WRAPPED:
                assert inner is not None
                wrapped = definition.wrapped_optimizer
                values["inner"] = self._values(inner, wrapped, names, injecting, changes)
            elif name == DTYPE:
                if symbol is not None:
                    definition.dtype_momentum = types.SimpleNamespace(name=DTYPE)
                    changes[f"jnp.{DTYPE}"] = symbol
            elif name in names:
                values[name] = names[name]
            elif symbol is not None and name in FLAGS:
                # A flag that is set is in the text; so is this one, with its own value.
                values[name] = True
                changes[f"{name}=True"] = f"{name}={symbol}"
            elif symbol is not None:
                values[name] = symbol
            else:
                values[name] = self._known(name, default if given is None else given.value, given)
        return definition.hyper_params.replace(**values)

    def _known(self, name: str, value: Any, given: Argument | None) -> Any:
        if name in FLAGS:
            return bool(value)
        return None if value is None else self._number(name, value, given)

    def _number(self, name: str, value: float, given: Argument | None) -> _Named:
        if given is not None and (isinstance(value, float) or name in hp.INTEGERS):
            return _Named(value, self.pieces.of(given.node))
        # An integer was made a float by flax.optim: powers of it round otherwise.
        text = str(value) if name in hp.INTEGERS else str(Number(value))
        piece = self.pieces.named((text,))
        if given is None:
            self._defaults[piece] = value
        return _Named(value, piece)


def definition_of(bound: Bound, values: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """A definition with those arguments that are literals, and with these values."""
    literals = {name: each.value for name, each in bound.arguments.items() if each.is_literal}
    values = {**literals, **values}
    if bound.inner is not None:
        values[WRAPPED] = definition_of(bound.inner)
    with warnings.catch_warnings(action="ignore"):
        return getattr(optim, bound.name)(**values)


def exact_text(definition: Any, hyper_params: Any) -> str:
    """What a definition says of itself."""
    return str(definition.chain_text(hyper_params))


def _takes_schedule(text: str, function: str) -> bool:
    """Whether the function whose argument a schedule is takes one."""
    for node in ast.walk(ast.parse(text, mode="eval")):
        if isinstance(node, ast.Call) and any(
            isinstance(each, ast.Name) and each.id == function for each in node.args
        ):
            match node.func:
                case ast.Attribute(value=ast.Name(id="optax"), attr=name):
                    return name in _TAKE_SCHEDULES
    return False
