"""The legacy API over transformations of optax that take more than gradients; and in parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import jax_utils, serialization
from flax.core import freeze
from jax.sharding import PartitionSpec as P

from flaxoptim_compat import from_optax, optim, to_optax, transforms
from tests.support.options import exhaustive
from tests.support.side_by_side import assert_same

INPUTS = jax.random.normal(jax.random.key(0), (16, 3))
OUTPUTS = jax.random.normal(jax.random.key(1), (16, 4))
PARAMS = {"w": jnp.ones((3, 4)), "b": jnp.zeros(4)}
PARTS = {
    "first": {"w": jnp.ones((3, 4)), "b": jnp.zeros(4)},
    "second": {"w": jnp.eye(4), "b": jnp.ones(4)},
    "frozen": jnp.full(4, 0.1),
}


def loss_of(params: Any) -> jax.Array:
    return ((jnp.tanh(INPUTS @ params["w"] + params["b"]) - OUTPUTS) ** 2).mean()


def loss_of_parts(params: Any) -> jax.Array:
    first, second = params["first"], params["second"]
    hidden = jnp.tanh(INPUTS @ first["w"] + first["b"]) + params["frozen"]
    return ((hidden @ second["w"] + second["b"] - OUTPUTS) ** 2).mean()


def plateau(learning_rate: float = 0.1, factor: float = 0.5) -> Any:
    return optax.chain(
        optax.adam(learning_rate),
        optax.contrib.reduce_on_plateau(factor, patience=1, accumulation_size=2),
    )


LOSS_ONLY: dict[str, Any] = {
    "plateau": plateau(),
    "polyak": optax.polyak_sgd(),
    "momo": optax.contrib.momo(0.1),
    "every other": optax.MultiSteps(optax.polyak_sgd(), 2).gradient_transformation(),
    "weight norm": transforms.weight_norm(optax.polyak_sgd()),
    "injected": optax.inject_hyperparams(optax.polyak_sgd)(0.5),
    "injected plateau": optax.inject_hyperparams(plateau, static_args=("factor",))(),
    "partition": optax.partition({0: plateau(), 1: optax.sgd(0.1)}, {"w": 0, "b": 1}),
}
SEARCHES: dict[str, Any] = {
    "lbfgs": optax.lbfgs(),
    "backtracking": optax.chain(optax.sgd(1.0), optax.scale_by_backtracking_linesearch(5)),
}
PLATEAU, POLYAK, LBFGS = LOSS_ONLY["plateau"], LOSS_ONLY["polyak"], SEARCHES["lbfgs"]
KERNELS = optim.ModelParamTraversal(lambda path, value: path.endswith("w"))
BIASES = optim.ModelParamTraversal(lambda path, value: path.endswith("b"))
SECOND = optim.ModelParamTraversal(lambda path, value: path.startswith("/second"))
NOTHING = optim.ModelParamTraversal(lambda path, value: False)
LABELS = {
    "first": {"w": "kernels", "b": "biases"},
    "second": {"w": "kernels", "b": "biases"},
    "frozen": "frozen",
}


def pairs() -> tuple[Any, ...]:
    return ((KERNELS, from_optax(PLATEAU)), (BIASES, optim.Momentum(0.1)))


def in_optax(kernels: Any, biases: Any) -> Any:
    return optax.partition(
        {"kernels": kernels, "biases": biases, "frozen": optax.set_to_zero()}, LABELS
    )


OF_BOTH = in_optax(plateau(), optax.sgd(0.1, 0.9))
# Definitions in a MultiOptimizer, and what they are in optax.
MULTI: dict[str, tuple[Callable[[], Any], Any]] = {
    "one of flax": (lambda: optim.MultiOptimizer(*pairs()), OF_BOTH),
    "none of flax": (
        lambda: optim.MultiOptimizer((KERNELS, from_optax(PLATEAU)), (BIASES, from_optax(POLYAK))),
        in_optax(plateau(), optax.polyak_sgd()),
    ),
    "nested": (
        lambda: optim.MultiOptimizer(
            (
                optim.ModelParamTraversal(lambda path, value: "frozen" not in path),
                optim.MultiOptimizer(*pairs()),
            )
        ),
        OF_BOTH,
    ),
    "nested, of flax": (
        lambda: optim.MultiOptimizer(
            (KERNELS, from_optax(PLATEAU)),
            (BIASES, optim.MultiOptimizer((BIASES, optim.Momentum(0.1)))),
        ),
        OF_BOTH,
    ),
    "one without parameters": (
        lambda: optim.MultiOptimizer((NOTHING, from_optax(LBFGS)), *pairs()),
        OF_BOTH,
    ),
}


class Subject(NamedTuple):
    """A definition, the transformation of optax that it is, and what both train."""

    define: Callable[[], Any]
    tx: Any
    params: Any = PARAMS
    loss: Callable[[Any], Any] = loss_of
    searches: bool = False

    def arguments(self, params: Any) -> tuple[Any, dict[str, Any]]:
        value, grads = jax.value_and_grad(self.loss)(params)
        more = {"grad": grads, "value_fn": self.loss} if self.searches else {}
        return grads, {"value": value, **more}

    def ours(self, optimizer: Any) -> Any:
        grads, more = self.arguments(optimizer.target)
        return optimizer.apply_gradient(grads, **more)

    def theirs(self, params: Any, state: Any) -> Any:
        grads, more = self.arguments(params)
        updates, state = self.tx.update(grads, state, params, **more)
        return optax.apply_updates(params, updates), state

    def modern(self, state: Any) -> Any:
        grads, more = self.arguments(state.params)
        return state.apply_gradients(grads=grads, **more)


SUBJECTS = {
    **{name: Subject(lambda tx=tx: from_optax(tx), tx) for name, tx in LOSS_ONLY.items()},
    **{
        name: Subject(lambda tx=tx: from_optax(tx), tx, searches=True)
        for name, tx in SEARCHES.items()
    },
    **{name: Subject(*each, PARTS, loss_of_parts) for name, each in MULTI.items()},
}


def scale_of(state: Any) -> Any:
    return optax.tree_utils.tree_get(state, "scale")


# Outside jit a search compiles its loop in each step, in optax too: one step of one will do. What
# takes a loss goes one way there: one that does, and each kind of what wraps one.
@pytest.mark.parametrize(
    ("name", "steps"),
    [
        *(
            pytest.param(name, 6, marks=exhaustive if name in ("polyak", "momo") else ())
            for name in SUBJECTS
            if name not in SEARCHES and not name.startswith(("weight", "injected p"))
        ),
        ("backtracking", 1),
    ],
)
def test_outside_jit_the_steps_are_those_of_optax(name: str, steps: int) -> None:
    subject = SUBJECTS[name]
    optimizer = subject.define().create(subject.params)
    params, state = subject.params, subject.tx.init(subject.params)
    for _ in range(steps):
        optimizer, (params, state) = subject.ours(optimizer), subject.theirs(params, state)
    assert_same(optimizer.target, params)
    # Where it was before: nothing moved is nothing tested.
    assert not jax.tree.all(jax.tree.map(jnp.array_equal, params, subject.params))


@pytest.mark.parametrize("name", SUBJECTS)
def test_in_jit_they_are_and_so_is_a_train_state_and_a_checkpoint(name: str) -> None:
    subject = SUBJECTS[name]
    definition = subject.define()
    step, expected = jax.jit(subject.ours), jax.jit(subject.theirs)
    optimizer, params = definition.create(subject.params), subject.params
    state = subject.tx.init(params)
    for _ in range(6):
        before, optimizer = optimizer, step(optimizer)
        params, state = expected(params, state)
    assert_same(optimizer.target, params)
    assert int(optimizer.state.step) == 6
    if name not in MULTI:
        assert_same(optimizer.state.param_states, state)
    else:
        assert float(scale_of(optimizer.state.param_states)) == float(scale_of(state))
    converted = jax.jit(subject.modern)(before.to_train_state())
    # Of a definition in parts the transformation knows which it was.
    for known in ((definition,), ()) if name in MULTI else ((definition,),):
        again = optim.Optimizer.from_train_state(converted, *known)
        assert_same(again, optimizer)
        assert jax.tree.structure(again) == jax.tree.structure(optimizer)
    restored = serialization.from_bytes(
        subject.define().create(subject.params), serialization.to_bytes(before)
    )
    assert jax.tree.structure(restored) == jax.tree.structure(before)
    assert_same(step(restored), optimizer)
    fresh = definition.create(subject.params).to_train_state().opt_state
    assert_same(to_optax(definition, subject.params).init(subject.params), fresh)


@pytest.mark.parametrize("name", ["plateau", "one of flax"])
def test_in_scan_and_pmap(name: str) -> None:
    subject = SUBJECTS[name]
    start = subject.define().create(subject.params)
    expected = start
    for _ in range(3):
        expected = jax.jit(subject.ours)(expected)
    steps = lambda each, _: (subject.ours(each), None)
    scanned, _ = jax.jit(lambda each: jax.lax.scan(steps, each, None, 3))(start)
    # What XLA fuses differs in a loop.
    assert_same(scanned, expected, ulps=8.0)
    devices = jax.devices()[:2]
    for replicated, back in (
        (start.replicate(devices), lambda each: each.unreplicate()),
        (jax_utils.replicate(start, devices), jax_utils.unreplicate),
    ):
        for _ in range(3):
            replicated = jax.pmap(subject.ours, axis_name="batch")(replicated)
        assert_same(back(replicated), expected, ulps=8.0)


def test_axes_of_its_state() -> None:
    params = {"w": jnp.ones((4, 6)), "b": jnp.ones(6)}
    axes = {"w": P("in", "out"), "b": P("out")}
    adam = from_optax(optax.adam, learning_rate=0.1)
    adafactor = from_optax(
        optax.adafactor, learning_rate=0.1, min_dim_size_to_factor=2, momentum=0.9
    )
    multi = optim.MultiOptimizer((KERNELS, adam), (BIASES, optim.Momentum(0.1)))
    found = []
    for definition in (adam, adafactor, multi):
        state = jax.eval_shape(definition.init_state, params)
        found.append(definition.state_axes(params, state, axes).param_states)
        assert jax.tree.structure(found[-1]) == jax.tree.structure(state.param_states)
    alone = found[0].inner_state[0]
    assert (alone.mu, alone.nu, alone.count) == (axes, axes, P())
    kernels, biases = found[2]
    assert kernels.inner_state[0].mu == (P("in", "out"),)
    assert [each.momentum for each in biases] == [P("out")]


def test_arguments_of_the_function_that_is_searched() -> None:
    def loss(params: Any, scale: Any) -> Any:
        return scale * loss_of(params)

    tx = SEARCHES["backtracking"]
    value, grads = jax.value_and_grad(loss)(PARAMS, 2.0)
    extra_args = {"value": value, "grad": grads, "value_fn": loss, "scale": 2.0}
    updates, _ = tx.update(grads, tx.init(PARAMS), PARAMS, **extra_args)
    optimizer = from_optax(tx).create(PARAMS).apply_gradient(grads, **extra_args)
    assert_same(optimizer.target, optax.apply_updates(PARAMS, updates))
    # Newer releases of optax say so themselves.
    with pytest.raises(TypeError, match="'shift'"):
        optimizer.apply_gradient(grads, **extra_args, shift=1.0)


def test_a_function_with_hyper_parameters() -> None:
    definition = from_optax(plateau, learning_rate=0.1)
    injected = optax.inject_hyperparams(plateau, static_args=("factor",))(0.1)
    optimizer, state = definition.create(PARAMS), injected.init(PARAMS)
    grads = jax.grad(loss_of)(PARAMS)
    for rate, value in ((0.1, 1.0), (0.3, 2.0), (0.1, 3.0), (0.1, 4.0)):
        state.hyperparams["learning_rate"] = jnp.float32(rate)
        updates, state = injected.update(grads, state, optimizer.target, value=value)
        expected = optax.apply_updates(optimizer.target, updates)
        optimizer = optimizer.apply_gradient(grads, learning_rate=rate, value=value)
        assert_same(optimizer.target, expected, ulps=2.0)
    assert float(optax.tree_utils.tree_get(optimizer.state, "scale")) == 0.5


def test_a_hyper_parameter_stays_one() -> None:
    def make(value: float) -> Any:
        return optax.chain(optax.sgd(value), optax.contrib.reduce_on_plateau())

    tx = optax.inject_hyperparams(make)(value=0.5)
    for definition in (from_optax(tx), from_optax(make, value=0.5)):
        optimizer = definition.create(PARAMS)
        with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'value'"):
            optimizer.apply_gradient(PARAMS, value=0.1)


TAKES_NONE = (optax.adam(0.1), optax.scale(-0.1), optax.inject_hyperparams(optax.sgd)(0.1))


# Two that take nothing, two that take a loss, and one that hands on what it wraps.
OFTEN = [*TAKES_NONE[:2], *(LOSS_ONLY[name] for name in ("plateau", "polyak", "partition"))]


@pytest.mark.parametrize(
    "tx",
    [
        pytest.param(tx, marks=() if any(tx is often for often in OFTEN) else exhaustive)
        for tx in (*TAKES_NONE, *LOSS_ONLY.values())
    ],
)
def test_what_nobody_takes_is_refused(tx: Any) -> None:
    takes = any(tx is each for each in LOSS_ONLY.values())
    optimizer = from_optax(tx).create(PARAMS)
    state = optimizer.to_train_state()
    known: dict[str, Any] = {"value": jnp.float32(1)} if takes else {}
    for name, value in (("loss", 1.0), ("mode", "fast"), ("obj_fn", loss_of), ("grad", PARAMS)):
        unknown = {**known, name: value}
        for _ in range(2):
            with pytest.raises(TypeError, match=f"has no hyper-parameter '{name}' in its state"):
                optimizer.apply_gradient(PARAMS, **unknown)
            with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
                state.apply_gradients(grads=PARAMS, **unknown)
            optimizer.apply_gradient(PARAMS, **known)
            state.apply_gradients(grads=PARAMS, **known)
        with pytest.raises(TypeError, match=f"has no hyper-parameter '{name}'"):
            jax.jit(lambda each, more: each.apply_gradient(PARAMS, **more, **known))(
                optimizer, {name: 1.0}
            )
        for convert in (
            optimizer.to_train_state,
            lambda **more: to_optax(from_optax(tx), PARAMS, **more),
        ):
            with pytest.raises(TypeError, match=f"has no hyper-parameter '{name}'"):
                convert(**{name: value})


def flag(updates: Any, state: Any, params: Any = None, *, fast: bool, **extra_args: Any) -> Any:
    del params, extra_args
    return jax.tree.map(lambda each: -each if fast else each, updates), state


def named(updates: Any, state: Any, params: Any = None, *, mode: str, **extra_args: Any) -> Any:
    del params, extra_args
    return jax.tree.map(lambda each: -each if mode == "fast" else each, updates), state


@pytest.mark.parametrize(
    ("update", "argument"), [(flag, {"fast": True}), (named, {"mode": "fast"})]
)
def test_arguments_that_are_no_arrays(update: Any, argument: Any) -> None:
    tx = optax.GradientTransformationExtraArgs(lambda params: optax.EmptyState(), update)
    optimizer = from_optax(tx).create(jnp.ones(3))
    assert_same(optimizer.apply_gradient(jnp.ones(3), **argument).target, jnp.zeros(3))
    state = optimizer.to_train_state().apply_gradients(grads=jnp.ones(3), **argument)
    assert_same(state.params, jnp.zeros(3))


def test_fields_of_a_train_state_stay_fields() -> None:
    state = from_optax(plateau()).create(freeze(PARAMS)).to_train_state(apply_fn=loss_of)
    after = state.apply_gradients(grads=freeze(PARAMS), value=1.0, apply_fn=None)
    assert after.apply_fn is None
    assert state.apply_fn is loss_of
    assert int(after.step) == 1


@pytest.mark.parametrize("name", ["polyak", "momo", "plateau"])
def test_outside_jit_no_more_is_compiled_than_by_optax(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    tx = LOSS_ONLY[name]
    optimizer, (params, state) = from_optax(tx).create(PARAMS), (PARAMS, tx.init(PARAMS))

    def compilations() -> int:
        found = sum("Compiling" in each.getMessage() for each in caplog.records)
        caplog.clear()
        return found

    for number, value in enumerate(map(jnp.float32, (3.0, 2.0, 1.0, 0.5))):
        with jax.log_compiles():
            optimizer = optimizer.apply_gradient(PARAMS, value=value)
        ours = compilations()
        with jax.log_compiles():
            updates, state = tx.update(PARAMS, state, params, value=value)
            params = optax.apply_updates(params, updates)
        theirs = compilations()
        if number >= 2:
            # A lax.cond, as a plateau has one, is compiled by jax for each function that is new.
            assert ours == theirs == (1 if name == "plateau" else 0)


def test_a_transformation_is_asked_once_for_each_name() -> None:
    asked = []

    def update(updates: Any, state: Any, params: Any = None, *, value: Any, **extra: Any) -> Any:
        asked.append(None)
        del params, extra
        return jax.tree.map(lambda each: -each * value, updates), state

    tx = optax.GradientTransformationExtraArgs(lambda params: optax.EmptyState(), update)
    optimizer = from_optax(tx).create(PARAMS)
    state = optimizer.to_train_state()
    for number in range(3):
        optimizer = optimizer.apply_gradient(PARAMS, value=float(number))
    # A step, the same with something useless as the value, and then the steps themselves.
    assert len(asked) == 2 + 3
    for number in range(3):
        state = state.apply_gradients(grads=PARAMS, value=float(number))
    assert len(asked) <= 2 * (2 + 3)


def test_a_step_may_donate() -> None:
    optimizer = from_optax(plateau()).create(jax.tree.map(jnp.copy, PARAMS))
    step = jax.jit(SUBJECTS["plateau"].ours, donate_argnums=0)
    for _ in range(2):
        optimizer = step(optimizer)
    assert np.isfinite(optimizer.target["w"]).all()


def test_optimize_hands_on() -> None:
    optimizer, value = (
        from_optax(optax.polyak_sgd()).create(PARAMS).optimize(loss_of, value=loss_of(PARAMS))
    )
    assert loss_of(optimizer.target) < value


def test_a_search_sees_its_own_parameters() -> None:
    tx = LBFGS
    definition = optim.MultiOptimizer((SECOND, from_optax(tx)))
    optimizer = definition.create(PARTS)

    @jax.jit
    def step(optimizer: Any) -> Any:
        value, grads = jax.value_and_grad(loss_of_parts)(optimizer.target)
        return optimizer.apply_gradient(grads, value=value, grad=grads, value_fn=loss_of_parts)

    @jax.jit
    def by_hand(params: Any, state: Any) -> Any:
        def loss_of_second(second: Any) -> Any:
            return loss_of_parts({**params, "second": second})

        value, grads = jax.value_and_grad(loss_of_parts)(params)
        updates, state = tx.update(
            grads["second"],
            state,
            params["second"],
            value=value,
            grad=grads["second"],
            value_fn=loss_of_second,
        )
        return {**params, "second": optax.apply_updates(params["second"], updates)}, state

    params, state = PARTS, tx.init(PARTS["second"])
    for _ in range(5):
        optimizer, (params, state) = step(optimizer), by_hand(params, state)
    assert_same(optimizer.target, params)
    assert loss_of_parts(params) < loss_of_parts(PARTS)

    @jax.jit
    def modern(train_state: Any) -> Any:
        value, grads = jax.value_and_grad(loss_of_parts)(train_state.params)
        return train_state.apply_gradients(
            grads=grads, value=value, grad=grads, value_fn=loss_of_parts
        )

    assert_same(modern(optimizer.to_train_state()).params, step(optimizer).target)


def test_an_override_is_for_whoever_knows_it() -> None:
    lion = from_optax(optax.lion, learning_rate=0.1)
    definition = optim.MultiOptimizer((KERNELS, lion), (BIASES, optim.Momentum(0.2)))
    optimizer = definition.create(PARTS)
    grads = jax.grad(loss_of_parts)(PARTS)

    def expected(rates: tuple[float, float], beta: float = 0.9, b1: float = 0.9) -> Any:
        tx = in_optax(optax.lion(rates[0], b1=b1), optax.sgd(rates[1], beta))
        return optax.apply_updates(PARTS, tx.update(grads, tx.init(PARTS), PARTS)[0])

    for given, result in (
        ({}, expected((0.1, 0.2))),
        ({"learning_rate": 0.5}, expected((0.5, 0.5))),
        ({"b1": 0.5}, expected((0.1, 0.2), b1=0.5)),
        ({"beta": 0.5}, expected((0.1, 0.2), beta=0.5)),
    ):
        assert_same(optimizer.apply_gradient(grads, **given).target, result, ulps=1.0)
        state = optimizer.to_train_state(**given).apply_gradients(grads=grads)
        assert_same(state.params, result, ulps=1.0)
    kernels, biases = definition.update_hyper_params()
    each = [kernels.replace(learning_rate=0.3), biases.replace(learning_rate=0.4)]
    after = optimizer.apply_gradient(grads, hyper_params=each)
    assert_same(after.target, expected((0.3, 0.4)), ulps=1.0)


def test_what_no_part_takes_is_refused() -> None:
    definition = optim.MultiOptimizer(*pairs())
    optimizer = definition.create(PARTS)
    state = optimizer.to_train_state()
    for name in ("loss", "beta1", "learning_rat"):
        with pytest.raises(TypeError, match=f"has no hyper-parameter '{name}'"):
            optimizer.apply_gradient(PARTS, value=1.0, **{name: 0.5})
        with pytest.raises(TypeError, match=f"has no hyper-parameter '{name}'"):
            optimizer.to_train_state(**{name: 0.5})
        with pytest.raises(TypeError, match=f"has no hyper-parameter '{name}'"):
            to_optax(definition, PARTS, **{name: 0.5})
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            state.apply_gradients(grads=PARTS, value=1.0, **{name: 0.5})
    # Of flax alone each has to know each, as it was.
    of_flax = optim.MultiOptimizer((KERNELS, optim.Adam(0.1)), (BIASES, optim.Momentum(0.1)))
    with pytest.raises(TypeError, match="Momentum has no hyper-parameter 'beta1'"):
        of_flax.create(PARTS).apply_gradient(PARTS, beta1=0.5)


def test_an_argument_for_one_part() -> None:
    first, second = from_optax(POLYAK), from_optax(POLYAK)
    definition = optim.MultiOptimizer((KERNELS, first), (BIASES, second))
    values = [first.update_hyper_params(value=0.1), second.update_hyper_params(value=0.2)]
    grads = jax.grad(loss_of_parts)(PARTS)
    optimizer = definition.create(PARTS)
    after = optimizer.apply_gradient(grads, hyper_params=values)
    low = optimizer.apply_gradient(grads, value=0.1)
    high = optimizer.apply_gradient(grads, value=0.2)
    assert_same(after.target["first"]["w"], low.target["first"]["w"])
    assert_same(after.target["first"]["b"], high.target["first"]["b"])


def test_a_focus() -> None:
    optimizer = from_optax(optax.lion, learning_rate=0.1, weight_decay=0.0).create(
        PARTS, focus=KERNELS
    )
    grads = {"first": PARTS["first"], "second": PARTS["second"], "frozen": None}
    with pytest.raises(ValueError, match="gradients do not have the structure of the target"):
        optimizer.apply_gradient({"first": None})
    after = optimizer.apply_gradient(grads, learning_rate=0.5)
    assert after.target["first"]["b"] is PARTS["first"]["b"]
    assert_same(after.target["first"]["w"], PARTS["first"]["w"] - 0.5)
    again = after.apply_gradient(grads)
    assert_same(again.target["first"]["w"], after.target["first"]["w"] - 0.1, ulps=1.0)
    (state,) = after.state.param_states
    with pytest.raises(ValueError, match="must be a tuple of 1 states"):
        after.replace(state=optim.OptimizerState(1, state)).apply_gradient(grads)


def test_a_loss_that_changes_compiles_nothing() -> None:
    traces = []

    @jax.jit
    def step(optimizer: Any, value: Any) -> Any:
        traces.append(None)
        return optimizer.apply_gradient(PARTS, value=value)

    # After the first: in optax 0.2.5 a plateau begins with weakly typed numbers.
    made = None
    for _ in range(2):
        # Equal definitions, each of which is made anew, of one and the same transformation.
        optimizer = optim.MultiOptimizer((KERNELS, from_optax(PLATEAU))).create(PARTS)
        for value in (4.0, 3.0, 2.0, 1.0):
            optimizer = step(optimizer, value)
            made = len(traces) if made is None and value == 3.0 else made
    assert len(traces) == made


def test_a_part_with_code_of_its_own() -> None:
    class Own(optim.OptimizerDef):
        def __init__(self) -> None:
            super().__init__(optim.GradientDescent(0.5).hyper_params)

        def init_param_state(self, param: Any) -> Any:
            return jnp.zeros_like(param)

        def apply_param_gradient(
            self, step: Any, hyper_params: Any, param: Any, state: Any, grad: Any
        ) -> Any:
            return param - hyper_params.learning_rate * grad, state + 1

    definition = optim.MultiOptimizer((KERNELS, from_optax(PLATEAU)), (BIASES, Own()))
    after = definition.create(PARTS).apply_gradient(PARTS, value=1.0, learning_rate=0.25)
    assert_same(after.target["second"]["b"], PARTS["second"]["b"] * 0.75)
    state = after.to_train_state(learning_rate=0.25).apply_gradients(grads=PARTS, value=1.0)
    assert_same(state.params["second"]["b"], PARTS["second"]["b"] * 0.5)
