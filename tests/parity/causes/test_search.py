"""The cause is found on whichever side it is, in whichever form, and never where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax.training.train_state import TrainState

from flaxoptim_compat import optim
from flaxoptim_compat.parity import Report, Tolerance, compare, trial
from flaxoptim_compat.parity.causes import fitting
from tests.support import planted_mistakes
from tests.support.options import each, exhaustive
from tests.support.oracle.in_process import genuine_optim

PARAMS, GRADS = planted_mistakes.KERNEL, planted_mistakes.GRADS[id(planted_mistakes.KERNEL)]
RATES = np.asarray([0.01, 0.03, 0.02, 0.05] * 3, np.float32)


@pytest.fixture(autouse=True, scope="module")
def _quick_to_compile() -> Iterator[None]:
    # What is to be found is larger than what an optimization changes.
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


DECAYED_FIRST = optax.chain(optax.add_decayed_weights(0.1), optax.adam(0.01))


def keys_of(report: Report) -> list[str]:
    assert not report.equal
    return sorted(cause.key for cause in report.causes)


def compared(first: Any, second: Any, **options: Any) -> Report:
    return compare(first, second, PARAMS, GRADS, **options)


@pytest.mark.parametrize("tolerance", [None, 0])
def test_the_text_names_the_side_and_the_way_out(tolerance: float | None) -> None:
    report = compared(optim.RMSProp(0.01), optax.rmsprop(0.01), tolerance=tolerance)
    (cause,) = report.causes
    assert cause.key == "eps-inside-root"
    assert cause.summary == (
        "The second side puts eps inside the square root, 1/√(v + eps); flax.optim adds it outside,"
        " 1/(√v + eps)."
    )
    assert cause.remedy == "Use optax.rmsprop(..., eps_in_sqrt=False)."


def test_the_mistake_may_be_on_the_first_side() -> None:
    (cause,) = compared(optax.adam(0.01), optim.Adam(0.01, eps=1e-3)).causes
    assert cause.key == "default-eps"
    assert cause.summary == (
        "The first side has eps=1e-08, the default of optax.adam; flax.optim's definition has"
        " 0.001."
    )


def moved(definition: Any, steps: int = 5) -> Any:
    optimizer = definition.create(PARAMS)
    for step in range(steps):
        optimizer = optimizer.apply_gradient(GRADS[step])
    return optimizer


def train_state(tx: Any, params: Any, change: Callable[[Any], Any]) -> TrainState:
    """With a change of the first state of the chain, as one makes it to move a run over."""
    state = TrainState.create(apply_fn=None, params=params, tx=tx)
    first, *rest = state.opt_state
    return state.replace(opt_state=(change(first), *rest))


def test_an_optimizer_on_its_way_is_continued_with_the_mistake() -> None:
    optimizer = moved(optim.Adam(0.01, weight_decay=0.1))
    (state,) = [jax.tree.map(lambda each: each, optimizer.state.param_states["kernel"])]
    tx = DECAYED_FIRST
    _, (adam, *rest) = tx.init(PARAMS)
    adam = adam._replace(
        count=optimizer.state.step, mu={"kernel": state.grad_ema}, nu={"kernel": state.grad_sq_ema}
    )
    converted = TrainState.create(apply_fn=None, params=optimizer.target, tx=tx)
    converted = converted.replace(opt_state=(optax.EmptyState(), (adam, *rest)))
    assert keys_of(compare(optimizer, converted, grads=GRADS)) == ["decay-before-moments"]


@pytest.mark.parametrize(
    ("count", "moments", "key"),
    [(5, False, "moments-dropped"), (0, True, "step-restarted")],
)
def test_what_gets_lost_on_the_way_out(count: int, moments: bool, key: str) -> None:
    optimizer = moved(optim.Adam(0.01))
    old = optimizer.state.param_states["kernel"]

    def change(state: Any) -> Any:
        if not moments:
            return state
        return state._replace(mu={"kernel": old.grad_ema}, nu={"kernel": old.grad_sq_ema})

    state = train_state(optax.adam(0.01), optimizer.target, change)
    assert keys_of(compare(optimizer, state, grads=GRADS)) == [key]


def test_the_genuine_definition_is_known_by_its_name() -> None:
    genuine = genuine_optim().Adam(0.01, weight_decay=0.1)
    assert keys_of(compared(genuine, DECAYED_FIRST)) == ["decay-before-moments"]
    optimizer = genuine.create(PARAMS)
    assert keys_of(compared(DECAYED_FIRST, optimizer)) == ["decay-before-moments"]


def test_with_gradients_of_each_side_at_its_own_parameters() -> None:
    def grads(params: Any, step: Any) -> Any:
        drawn = trial.gradients(params, step)
        return jax.tree.map(lambda param, grad: 0.3 * param + grad, params, drawn)

    report = compare(
        optim.LARS(0.1, weight_decay=0.1),
        optax.lars(0.1, weight_decay=0.1),
        PARAMS,
        grads,
        planted_mistakes.STEPS,
    )
    assert report.loop == "closed"
    assert keys_of(report) == ["trust-ratio-of-the-sum"]


def scheduled(rates: Any) -> Callable[[Any], Any]:
    return lambda count: jnp.asarray(rates)[count]


EARLY = np.concatenate([RATES[1:], RATES[:1]])


@pytest.mark.parametrize(
    ("legacy", "other", "key"),
    [
        (optim.Momentum(0.01), optax.sgd(scheduled(EARLY), 0.9), "schedule-off-by-a-step"),
        (
            optim.Momentum(0.01),
            optax.chain(optax.scale_by_learning_rate(scheduled(RATES)), optax.trace(0.9)),
            "rate-before-momentum",
        ),
        (
            optim.LARS(0.01),
            optax.chain(
                optax.scale_by_trust_ratio(trust_coefficient=0.001),
                optax.trace(0.9),
                optax.scale_by_learning_rate(scheduled(RATES)),
            ),
            "rate-after-momentum",
        ),
    ],
)
def test_with_a_rate_that_changes(legacy: Any, other: Any, key: str) -> None:
    assert keys_of(compared(legacy, other, overrides={"learning_rate": RATES})) == [key]


def test_a_schedule_that_counts_from_1_in_the_program_and_from_0_in_optax() -> None:
    def rate(count: Any) -> Any:
        return 0.01 / (1.0 + count)

    overrides = {"learning_rate": lambda step: rate(step + 1)}
    report = compared(optim.Adam(0.01), optax.adam(rate), overrides=overrides)
    assert keys_of(report) == ["schedule-off-by-a-step"]
    assert "of the step before it" in report.causes[0].summary


MODEL = {
    "dense": {"kernel": PARAMS["kernel"], "bias": jnp.zeros((10,))},
    "norm": {"scale": jnp.ones((6,))},
}
MODEL_GRADS = planted_mistakes.gradients(MODEL)
LABELS = {"dense": {"kernel": "decayed", "bias": "plain"}, "norm": {"scale": "frozen"}}
TWO = optim.MultiOptimizer(
    (
        optim.ModelParamTraversal(lambda path, _: "kernel" in path),
        optim.Adam(0.01, weight_decay=0.1),
    ),
    (optim.ModelParamTraversal(lambda path, _: "bias" in path), optim.Adam(0.02)),
)


def masked(**parts: Any) -> Any:
    return optax.chain(
        *(
            optax.masked(tx, jax.tree.map(lambda label, name=name: label == name, LABELS))
            for name, tx in parts.items()
        )
    )


def partitioned(**parts: Any) -> Any:
    return optax.partition({**parts, "frozen": optax.set_to_zero()}, LABELS)


@pytest.mark.parametrize(
    ("other", "keys", "where"),
    [
        pytest.param(
            partitioned(decayed=DECAYED_FIRST, plain=optax.adam(0.02)),
            ["decay-before-moments"],
            "The second side ",
            marks=exhaustive,
        ),
        (
            partitioned(
                decayed=optax.adamw(0.01, weight_decay=0.1),
                plain=optax.adam(0.02, eps=0.0, eps_root=1e-8),
            ),
            ["eps-inside-root"],
            "In optimizer 1, Adam, the second side ",
        ),
        pytest.param(
            masked(decayed=DECAYED_FIRST, plain=optax.adam(0.02)),
            ["decay-before-moments", "raw-gradient-on-unmatched"],
            "The second side ",
            marks=exhaustive,
        ),
    ],
    ids=["all that decay", "one of two", "two mistakes"],
)
def test_in_a_part_of_several(other: Any, keys: list[str], where: str) -> None:
    report = compare(TWO, other, MODEL, MODEL_GRADS)
    assert keys_of(report) == keys
    assert report.causes[0].summary.startswith(where)


def test_of_two_definitions_the_second_is_the_one_that_differs() -> None:
    legacy = optim.WeightNorm(optim.Momentum(0.01))
    assert keys_of(compared(legacy, optim.WeightNorm(optim.GradientDescent(0.01)))) == [
        "momentum-missing"
    ]


def test_between_two_transformations_by_their_states() -> None:
    wide = optax.adagrad(0.01, initial_accumulator_value=0.5)
    report = compared(optax.adagrad(0.01), wide)
    assert keys_of(report) == ["initial-accumulator"]
    assert report.causes[0].summary == (
        "The second side starts a moment at 0.5, the first side at 0.1."
    )
    report = compared(optax.adam(0.01, mu_dtype=jnp.float16), optax.adam(0.01))
    assert keys_of(report) == ["low-precision-moments"]
    assert report.causes[0].summary == (
        "The first side keeps the first moment, grad_ema, in float16."
    )


def test_between_two_train_states_by_their_counts() -> None:
    plain = train_state(optax.adam(0.01), PARAMS, lambda state: state)
    ahead = train_state(
        optax.adam(0.01), PARAMS, lambda state: state._replace(count=state.count + 1)
    )
    assert keys_of(compared(plain, ahead)) == ["bias-correction-off-by-a-step"]


def test_to_fit_is_to_fit_as_well_as_usual_or_better() -> None:
    assert [fitting(Tolerance.of(each)) for each in (None, 0, 1e-2)] == [Tolerance()] * 3
    assert fitting(Tolerance.of(1e-7)) == Tolerance.of(1e-7)


def test_mistakes_that_cannot_be_told_apart_are_said_to_be_so() -> None:
    # The default eps of 1e-16 is as good as none.
    other = optax.adabelief(0.01, eps=0.0, eps_root=1e-4)
    report = compared(optim.AdaBelief(0.01, eps=1e-4), other)
    (cause,) = report.causes
    found = {cause.key, *cause.summary.split()}
    assert {"default-eps", "eps-inside-root"} <= found
    assert cause.summary.endswith(" would do the same in this run.")


# Moments in half precision are tried as well, which have no place for the imaginary part.
@pytest.mark.filterwarnings("ignore:Casting from complex to real dtypes:DeprecationWarning")
def test_of_complex_parameters_both_parts_are_looked_at() -> None:
    imaginary = jax.tree.map(lambda leaf: 1j * leaf, (PARAMS, GRADS))
    report = compare(optim.Momentum(0.01), optax.sgd(0.01), *imaginary)
    assert keys_of(report) == ["momentum-missing"]


# --- in vain


def one_element_off(params: Any, state: Any, grads: Any) -> Any:
    updates, state = optax.adam(0.01).update(grads, state, params)
    params = optax.apply_updates(params, updates)
    nudged = params["kernel"].at[3, 4].multiply(1.0001)
    return {"kernel": jnp.where(state[0].count == 7, nudged, params["kernel"])}, state


def breaking(params: Any, state: Any, grads: Any) -> Any:
    updates, state = optax.adam(0.01).update(grads, state, params)
    params = optax.apply_updates(params, updates)
    return jax.tree.map(lambda p: jnp.where(state[0].count == 6, jnp.nan, p), params), state


def state_only(params: Any, state: Any, grads: Any) -> Any:
    updates, after = optax.sgd(0.01, momentum=0.0).update(grads, state, params)
    trace = jax.tree.map(lambda leaf: 2 * leaf, after[0].trace)
    return optax.apply_updates(params, updates), (after[0]._replace(trace=trace), *after[1:])


UNKNOWN = {
    "another beta1": (optim.Adam(0.01), optax.adam(0.01, b1=0.91)),
    "another rate": (optim.Adam(0.01), optax.adam(0.011)),
    "a tenth of the rate": (optim.Momentum(0.1), optax.sgd(0.01, momentum=0.9)),
    "another optimizer": (optim.Adam(0.01), optax.lion(0.01)),
    "clipped": (
        optim.Momentum(0.01),
        optax.chain(optax.clip_by_global_norm(0.5), optax.sgd(0.01, momentum=0.9)),
    ),
    "one element": (optim.Adam(0.01), (optax.adam(0.01).init, one_element_off)),
    "NaN": (optim.Adam(0.01), (optax.adam(0.01).init, breaking)),
    "the state only": (
        optim.Momentum(0.01, beta=0.0),
        (optax.sgd(0.01, momentum=0.0).init, state_only),
    ),
    "transformations": (optax.adam(0.01), optax.adam(0.01, b1=0.91)),
}


@pytest.mark.parametrize(
    "name", each(UNKNOWN, ["clipped", "NaN", "the state only", "transformations"])
)
def test_what_is_not_known_has_no_cause(name: str) -> None:
    assert keys_of(compared(*UNKNOWN[name])) == []


def test_a_single_bit_is_no_known_mistake() -> None:
    # Ours divides by the root in another order: the last bits differ, and no cause explains that.
    adagrad = optax.chain(optax.scale_by_rss(0.0, eps=0.0), optax.scale(-0.01))
    report = compared(optim.Adagrad(0.01, eps=0.0), adagrad, tolerance=0)
    assert keys_of(report) == []


def test_code_that_runs_only_compiled_has_a_report_all_the_same() -> None:
    tx = optax.adam(0.011)

    def step(params: Any, state: Any, grads: Any) -> Any:
        if not isinstance(params["kernel"], jax.core.Tracer):
            raise RuntimeError("not without jit")
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    with pytest.warns(
        RuntimeWarning, match="The search for a cause failed: RuntimeError: not without"
    ):
        report = compared(optim.Adam(0.01), (tx.init, step))
    assert keys_of(report) == []
