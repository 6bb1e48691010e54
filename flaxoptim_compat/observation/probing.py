"""Drives the optimizers of an observed process by themselves, to show what its run cannot show.

A run of one step has no second one in which a momentum acts, and the gradients of a program may
hide an eps, a decay or a mask below the last bit. So each definition, or transformation, that has
done steps does some more at the end of its process, on drawn parameters and gradients of the same
shapes. The parameters are the same before each step: what is recorded is by how much it moves them,
as a few sums for each leaf. In double precision, that shows what the numbers of a program cannot.

The gradients are small: a transformation may clip them, where the old program did so itself. And
all of them are zero once, which leaves nothing but a decay.
"""

from __future__ import annotations

import base64
import contextlib
import io
import math
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from flaxoptim_compat.observation.probes import RATE, STEPS, SUMS
from flaxoptim_compat.versions.of_jax import enable_x64, is_tracing
from flaxoptim_compat.versions.of_python import warnings_ignored

# So many optimizers of a process are probed, of so many elements each.
_MOST, _ELEMENTS = 16, 1 << 23
_SIZE = 1e-3
# Each of them sets the learning rate, or leaves it to the optimizer.
_RATES = {
    "own": None,
    "fixed": np.full(STEPS, 0.01),
    "varied": np.resize([0.01, 0.03, 0.02, 0.005, 0.04], STEPS),
}

# The paths and shapes of parameters, and the number of the rule that moves them.
_Key = tuple[tuple[str, ...], tuple[tuple[int, ...], ...], int]


class Prober:
    """The optimizers of a process that are to be probed."""

    def __init__(self) -> None:
        self._subjects: dict[_Key, tuple[Any, Any]] = {}
        self._firsts: dict[_Key, Any] = {}
        self._have_steps: set[_Key] = set()
        self._given: dict[int, set[str]] = {}

    def saw(self, subject: Any, params: Any, key: _Key, steps: tuple[int, ...] | None) -> None:
        """Take an optimizer for one to probe, if it does steps.

        Args:
          subject: a definition or a transformation.
          params: the parameters, which may be traced.
          key: their paths and shapes, and the number of the subject; 0 if it has none.
          steps: how many steps were done; None if nobody knows, since all is traced.
        """
        if key in self._firsts:
            if steps is not None and steps != self._firsts[key]:
                self._have_steps.add(key)
            return
        if key[-1] and len(self._subjects) < 4 * _MOST:
            # What is made in traced code may be no tracer, if it depends on none.
            self._firsts[key] = None if is_tracing() else steps
            self._subjects[key] = subject, jax.tree.map(_shape_of, params)

    def given(self, rule: int, names: set[str]) -> None:
        """Note which hyper-parameters a subject is given at a step."""
        self._given.setdefault(rule, set()).update(names)

    def lines(self) -> Iterator[dict[str, Any]]:
        """The lines of the record on what all of them do by themselves."""
        here = {(paths, rule) for paths, _, rule in self._have_steps}
        chosen = [
            key
            for key, first in self._firsts.items()
            if (key in self._have_steps if first is not None else (key[0], key[2]) not in here)
        ]
        for key in chosen[:_MOST]:
            paths, shapes, rule = key
            given = self._given.get(rule, set())
            line = {"probe": rule, "paths": paths, "shapes": shapes, "given": sorted(given)}
            line["traced"] = key not in self._have_steps
            # It may be a class of the program, and may not be done in this way.
            with contextlib.suppress(Exception):
                if given <= {RATE} and sum(map(math.prod, shapes)) <= _ELEMENTS:
                    yield {**line, **_probed(*self._subjects[key], RATE in given)}


def _shape_of(leaf: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(jnp.shape(leaf), jnp.result_type(leaf))


def _probed(subject: Any, shapes: Any, is_given: bool) -> dict[str, Any]:
    """What a subject does, encoded, for each way to set its rate that it allows."""
    with contextlib.ExitStack() as stack:
        silent = io.StringIO()
        stack.enter_context(contextlib.redirect_stdout(silent))
        stack.enter_context(contextlib.redirect_stderr(silent))
        stack.enter_context(warnings_ignored())
        # What the program may have switched on.
        for switch in (jax.disable_jit, jax.debug_nans, jax.log_compiles):
            stack.enter_context(switch(False))
        stack.enter_context(enable_x64(True))
        with contextlib.suppress(RuntimeError):  # no such device here
            stack.enter_context(jax.default_device(jax.local_devices(backend="cpu")[0]))
        leaves: list[Any] = jax.tree.leaves(shapes)
        treedef: Any = jax.tree.structure(shapes)
        wide = [jax.ShapeDtypeStruct(leaf.shape, _wide(leaf.dtype)) for leaf in leaves]
        updates = {}
        for name, rates in _RATES.items():
            # A definition may have no rate of its own.
            with contextlib.suppress(AssertionError):
                found = _updates(subject, treedef.unflatten(wide), rates, is_given)
                if found is not None:
                    updates[name] = base64.b64encode(found.tobytes()).decode()
        order = _order(treedef)
        return {"updates": updates, "dtypes": [str(wide[index].dtype) for index in order]}


def _wide(dtype: Any) -> Any:
    return {"float32": np.dtype(np.float64), "complex64": np.dtype(np.complex128)}.get(
        str(dtype), dtype
    )


def _order(treedef: Any) -> list[int]:
    """The numbers of the leaves in the order of their paths, as the record has them."""
    from flaxoptim_compat.observation.record import leaves_of

    return [number for _, number in leaves_of(treedef.unflatten(range(treedef.num_leaves)))]


def _updates(subject: Any, shapes: Any, rates: Any, is_given: bool) -> Any:
    """By how much each step moves each leaf, with drawn gradients and with none.

    Args:
      subject: a definition or a transformation.
      shapes: the shapes of the parameters.
      rates: the learning rate of each step; None leaves it to the subject.
      is_given: whether the program gives a definition its rate at some steps.

    Returns:
      None if the subject takes no rate at a step, or is not given one.
    """
    # Optimizers are observed before all of this package is there.
    from flaxoptim_compat.parity import trial
    from flaxoptim_compat.parity.counterparts import is_definition
    from flaxoptim_compat.parity.overrides import overrides
    from flaxoptim_compat.parity.sides import side
    from flaxoptim_compat.parity.stepping import Stepper

    if is_definition(subject) and is_given != (rates is not None):
        return None
    treedef: Any = jax.tree.structure(shapes)
    order = _order(treedef)

    def tree(ordered: Sequence[Any]) -> Any:
        return treedef.unflatten([ordered[order.index(index)] for index in range(len(order))])

    def ordered(tree: Any) -> list[Any]:
        leaves = jax.tree.leaves(tree)
        return [leaves[index] for index in order]

    params = tree(jax.jit(lambda: trial.drawn(ordered(shapes)))())
    own = side(subject)
    stepper = Stepper(own, params, overrides({} if rates is None else {RATE: rates}, STEPS))
    if rates is not None and not stepper.names:
        return None

    def step(carry: Any, params: Any, index: Any, size: Any, inputs: Any) -> Any:
        carry = own.with_params(carry, params)
        grads = [
            (size * each).astype(each.dtype) for each in trial.gradients(ordered(params), index)
        ]
        carry = stepper.step(carry, tree(grads), inputs)
        return carry, jnp.stack(list(map(_sums, ordered(own.params_of(carry)), ordered(params))))

    compiled = jax.jit(step)
    runs = []
    for size in (_SIZE, 0.0):
        carry, moved = stepper.start, []
        for index in range(STEPS):
            inputs = stepper.inputs_of(index)
            carry, each = compiled(carry, params, np.int32(index), size, inputs)
            moved.append(np.asarray(each))
        runs.append(moved)
    return np.asarray(runs, np.float64)


def _sums(new: Any, old: Any) -> Any:
    """Sums of what was added to a leaf, with random signs, which tell as much as ``sketch``."""
    from flaxoptim_compat.parity import trial

    wide = np.result_type(old.dtype, np.float64)
    moved = new.astype(wide) - old.astype(wide)
    flat = jnp.concatenate([moved.real.ravel(), moved.imag.ravel()][: 1 + (wide.kind == "c")])
    signed = flat * jnp.sign(trial.drawn(flat))
    return jnp.pad(signed, (0, -flat.size % SUMS)).reshape(-1, SUMS).sum(axis=0)
