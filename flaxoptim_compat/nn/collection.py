"""State beside the parameters: collections, and the blocks in which modules use them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import jax
from flax import serialization

from flaxoptim_compat.nn.frames import MODULE_STACK, CallStack, ModuleFrame, top_frame

_STATES = CallStack()
_OUTPUTS = CallStack()


class Collection:
    """Values that modules store, by the paths of the modules.

    Args:
      state: ``{path: stored value}``; empty by default.
    """

    def __init__(self, state: dict[str, Any] | None = None) -> None:
        self.state = {} if state is None else state
        # Paths begin at the module in which a collection is made.
        self._anchor: ModuleFrame | None = MODULE_STACK[-1] if MODULE_STACK else None
        self._mutable = False
        self._root: ModuleFrame | None = None

    def as_dict(self) -> dict[str, Any]:
        """The dict ``{path: stored value}``, copied."""
        return self.state.copy()

    def __getitem__(self, key: str) -> Any:
        return self.state[key]

    @contextmanager
    def mutate(self) -> Iterator[Any]:
        """A copy in which modules can store values, for a ``with`` block."""
        copy = jax.tree.map(lambda value: value, self)
        copy._mutable = True
        try:
            yield copy
        finally:
            copy._mutable = False

    def retrieve(self, default: Any = None) -> Any:
        """The value that the running module has stored, or the default."""
        frame = top_frame("Collection.retrieve")
        return self.state.get(self._path_of(frame), default)

    def store(self, value: Any) -> Any:
        """Store a value for the running module; returns the value before, or None."""
        frame = top_frame("Collection.store")
        if not self._mutable:
            raise ValueError(
                "A collection can be changed only in `with collection.mutate() as changed:`. Use"
                " `changed` in the block."
            )
        path = self._path_of(frame)
        self._refuse_other_model(frame)
        before = self.state.get(path)
        self.state[path] = value
        return before

    def _refuse_other_model(self, frame: ModuleFrame) -> None:
        """Refuse a second model without a name: two models would share values by accident."""
        root = frame
        while root.parent is not self._anchor:
            assert root.parent is not None
            root = root.parent
        self._root = self._root or root
        if self._root is not root and (self._root.name is None or root.name is None):
            raise ValueError(
                "Two calls of models store in one collection, which cannot know which is which:"
                " pass name='...' with each call, and the same name for calls that share state."
            )

    def _path_of(self, frame: ModuleFrame) -> str:
        if frame is self._anchor:
            raise ValueError(
                "State of the module that made a collection cannot be in that collection, which is"
                " for modules that the module calls. Keep the state in a variable."
            )
        if not frame.is_descendent_of(self._anchor):
            raise ValueError(
                f"{frame.path} is not in the module that made this collection: a shared module"
                " stores where it was shared. Share the module there, or make the collection"
                " outside."
            )
        if self._anchor is None or self._anchor.path == "/":
            return frame.path
        return frame.path.removeprefix(self._anchor.path)


def iterate_collection(collection: Collection) -> tuple[tuple[Any], tuple[Any, Any]]:
    """The children of a collection for jax, and the static rest: its class and its anchor."""
    if collection._mutable:
        raise ValueError(
            "A collection that can be changed cannot be passed to jax: pass it after its block, or"
            " open the block of `mutate` or `stateful` in the function that jax transforms."
        )
    return (collection.state,), (type(collection), collection._anchor)


def collection_from_iterable(meta: tuple[Any, Any], state: Any) -> Any:
    """The collection with the children and the static rest from ``iterate_collection``."""
    kind, anchor = meta
    collection = kind(state[0])
    collection._anchor = anchor
    return collection


jax.tree_util.register_pytree_node(Collection, iterate_collection, collection_from_iterable)
serialization.register_serialization_state(
    Collection,
    lambda collection: serialization.to_state_dict(collection.state),
    lambda collection, state: Collection(serialization.from_state_dict(collection.state, state)),
)


class ModuleState:
    """A variable of a module, which ``Module.state`` makes.

    Args:
      collection: the collection that stores the variable.
      name: the name of the variable in the module.
    """

    def __init__(self, collection: Collection, name: str) -> None:
        self._collection = collection
        self.name = name

    @property
    def value(self) -> Any:
        """The value of the state; it can be set if the collection can be changed."""
        values = self._collection.retrieve(default={})
        if self.name not in values:
            raise ValueError(
                f"There is no value of the state {self.name!r} yet: initialize the module in a"
                " block of `with flax.nn.stateful() as state:`, and pass that state to later"
                " blocks."
            )
        return values[self.name]

    @value.setter
    def value(self, value: Any) -> None:
        values = self._collection.retrieve(default={})
        values[self.name] = value
        self._collection.store(values)


@contextmanager
def stateful(state: Collection | None = None, mutable: bool = True) -> Iterator[Any]:
    """Let modules use state while a ``with`` block runs.

    Args:
      state: the state so far; empty by default, as for a module that is being initialized.
      mutable: whether modules can change the state. The block then gets a copy, the new state.
    """
    state = Collection() if state is None else state
    block = state.mutate() if mutable else nullcontext(state)
    with block as used, _STATES.frame(used):
        yield used


def is_stateful() -> bool:
    """True if modules can use state: in a block of ``stateful``."""
    return bool(_STATES)


def get_state() -> Collection:
    """The state of the innermost block of ``stateful``."""
    if not _STATES:
        raise ValueError(
            "There is no state here: run this in a block of `with flax.nn.stateful(state):`."
        )
    state: Collection = _STATES[-1]
    return state


@contextmanager
def capture_module_outputs() -> Iterator[Any]:
    """A block with a collection of all outputs of modules.

    For each path the collection has a list with the output of each call.
    """
    with Collection().mutate() as outputs, _OUTPUTS.frame(outputs):
        yield outputs


def keep_output(output: Any) -> None:
    """Store the output of the running module in all collections that capture outputs."""
    for outputs in _OUTPUTS:
        outputs.store([*outputs.retrieve(default=()), output])
