"""Constructor calls as texts: which are left alone, and what the others become."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest

from flaxoptim_compat import optim
from flaxoptim_compat.bridge import hyper_params as hp
from flaxoptim_compat.migrate.chains import binding
from flaxoptim_compat.migrate.chains.binding import Refused, bind, refusal
from flaxoptim_compat.migrate.chains.expressions import literal, may_act
from flaxoptim_compat.migrate.chains.place import Place
from flaxoptim_compat.migrate.chains.signatures import REQUIRED, SIGNATURES
from flaxoptim_compat.migrate.chains.text import chain
from flaxoptim_compat.migrate.edits import Edit, apply_edits
from tests.support.migrated_chains import (
    NAMES,
    PARAMS,
    bound_in,
    call_in,
    document,
    made,
    read,
    rewritten,
)
from tests.support.processes import output_of


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("Adam(*args)", "takes its arguments from *,"),
        ("Adam(1e-3, **cfg)", "takes its arguments from **,"),
        ("Adam(1e-3, beta3=0.9)", "Adam has no hyper-parameter beta3"),
        ("Adam(1e-3, learning_rate=1e-3)", "Adam is given learning_rate twice"),
        ("GradientDescent(1e-3, 0.9)", "GradientDescent takes 1 arguments, and is given 2"),
        ("Adam('fast')", "learning_rate of Adam is no number"),
        ("Adam(lambda step: 0.1)", "learning_rate of Adam is no number"),
        ("Adam(True)", "learning_rate of Adam is True"),
        ("Adam(beta1=None)", "beta1 of Adam is None"),
        ("Momentum(0.1, nesterov=None)", "nesterov of Momentum is None"),
        ("Adafactor(1e-3, beta1=cfg.beta1)", "beta1 of Adafactor decides which optax it is"),
        ("Adafactor(1e-3, clipping_threshold=clip)", "clipping_threshold of Adafactor decides"),
        ("Adafactor(1e-3, weight_decay_rate=w)", "weight_decay_rate of Adafactor decides"),
        ("Adafactor(1e-3, multiply_by_parameter_scale=m)", "multiply_by_parameter_scale of"),
        ("Adafactor(1e-3, dtype_momentum=dtype())", "dtype_momentum of Adafactor is computed"),
        ("Adafactor(1e-3, epsilon2=eps())", "epsilon2 of Adafactor is computed"),
        ("AdaBelief(1e-3, eps=get_eps())", "optax needs it twice"),
        ("LAMB(rate(), weight_decay=decay())", "whose order would be another one"),
        ("WeightNorm()", "WeightNorm needs wrapped_optimizer"),
        ("WeightNorm(inner)", "the optimizer in the WeightNorm is not known here"),
        ("WeightNorm(optim.Adam(*args))", "takes its arguments from *,"),
        ("WeightNorm(optim.WeightNorm(optim.Adam(0.1)))", "a WeightNorm in a WeightNorm"),
        ("WeightNorm(optim.MultiOptimizer())", "MultiOptimizer has no text in optax"),
        ("MultiOptimizer((everything, optim.Adam()))", "MultiOptimizer has no text in optax"),
        ("OptimizerDef(hyper_params)", "OptimizerDef has no text in optax"),
    ],
)
def test_what_is_left_alone(call: str, reason: str) -> None:
    found = read(call_in(document(f"optim.{call}\n")))
    assert isinstance(found, Refused)
    assert reason in found.reason


@pytest.mark.parametrize(
    ("call", "injected", "scheduled", "reason"),
    [
        ("Adam()", [], False, "there is no learning rate"),
        ("Adam(None)", [], False, "there is no learning rate"),
        ("WeightNorm(optim.Adam())", ["wn_decay"], False, "there is no learning rate"),
        ("Adam(0.1)", ["momentum"], False, "Adam has no hyper-parameter momentum"),
        ("Adam(0.1)", ["beta1"], False, "beta1 given with each step has fewer digits"),
        ("RMSProp(0.1)", ["beta2"], False, "beta2 given with each step has fewer digits"),
        ("Adadelta(0.1)", ["rho"], False, "rho given with each step has fewer digits"),
        ("Adafactor(0.1, beta1=0.9)", ["beta1"], False, "beta1 given with each step has fewer"),
        ("Momentum(0.1)", ["nesterov"], False, "nesterov cannot be given with each step"),
        ("Adafactor(0.1)", ["step_offset"], False, "step_offset cannot be given with each"),
        ("Adafactor(0.1)", ["weight_decay_rate"], False, "weight_decay_rate is None here"),
        ("Adafactor(0.1)", ["dtype_momentum"], False, "no hyper-parameter dtype_momentum"),
        ("WeightNorm(optim.Adam(0.1))", ["wrapped_optimizer"], False, "no hyper-parameter"),
        ("Adam(start())", [], True, "computed by a call that would not be made any more"),
    ],
)
def test_what_has_no_text(call: str, injected: list[str], scheduled: bool, reason: str) -> None:
    text = f"optim.{call}\n"
    assert reason in refusal(bound_in(text), injected, scheduled)
    with pytest.raises(ValueError, match=reason):
        rewritten(text, injected, "rate_at" if scheduled else "")


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        # Numbers as they were written, and what optax assumes anyway only if it was written.
        ("Adam(1e-3)", "optax.adam(1e-3)"),
        ("Adam(0.001, 0.9, 0.98)", "optax.adam(0.001, b1=0.9, b2=0.98)"),
        ("Adam(learning_rate=2 * 1e-3, eps=1e-9)", "optax.adam(2 * 1e-3, eps=1e-9)"),
        ("Adam(cfg.lr, weight_decay=-1e-4)", "optax.adamw(cfg.lr, weight_decay=-1e-4)"),
        ("Adam(lr, weight_decay=0)", "optax.adam(lr)"),
        ("Adam(lr, weight_decay=0.)", "optax.adam(lr)"),
        ("Adam(lr, weight_decay=decay)", "optax.adamw(lr, weight_decay=decay)"),
        ("Adam(lr if warm else 0.1)", "optax.adam(lr if warm else 0.1)"),
        ("Adam((lr := 0.1))", "optax.adam((lr := 0.1))"),
        ("AdaBelief(lr)", "optax.adabelief(lr)"),
        (
            "AdaBelief(lr, eps=cfg['eps'])",
            "optax.adabelief(lr, eps=cfg['eps'], eps_root=cfg['eps'])",
        ),
        ("GradientDescent(lr)", "optax.sgd(lr)"),
        ("Momentum(lr)", "optax.sgd(lr, momentum=0.9)"),
        ("Momentum(lr, cfg.beta)", "optax.sgd(lr, momentum=cfg.beta)"),
        ("Momentum(lr, nesterov=False)", "optax.sgd(lr, momentum=0.9)"),
        ("Momentum(lr, nesterov=n)", "optax.sgd(lr, momentum=0.9, nesterov=n)"),
        ("RMSProp(lr)", "optax.rmsprop(lr, eps_in_sqrt=False)"),
        ("RMSProp(lr, centered=c)", "optax.rmsprop(lr, eps_in_sqrt=False, centered=c)"),
        ("WeightNorm(optim.Momentum(0.1))", "transforms.weight_norm(optax.sgd(0.1, momentum=0.9))"),
        # An integer is a float, as flax.optim made it.
        ("Momentum(1, beta=0)", "optax.sgd(1.0, momentum=0.0)"),
        ("Adam(2 ** 3)", "optax.adam(8.0)"),
        ("Adagrad(1)", "optax.chain(transforms.scale_by_sum_of_squares(1.0), optax.scale(-1.0))"),
    ],
)
def test_texts(call: str, expected: str) -> None:
    assert rewritten(f"optim.{call}\n") == f"{expected}\n"


def test_a_rate_that_is_given_with_each_step() -> None:
    assert rewritten("optim.Adam(eps=1e-9)\n", ["learning_rate"]) == (
        "optax.inject_hyperparams(\n"
        "    lambda learning_rate: optax.adam(learning_rate, eps=1e-9),\n"
        ")(learning_rate=0.0)\n"
    )
    for rate in ("None", "0", "learning_rate=0.0"):
        assert rewritten(f"optim.Adam({rate})\n", ["learning_rate"]) == (
            "optax.inject_hyperparams(\n"
            "    lambda learning_rate: optax.adam(learning_rate),\n"
            ")(learning_rate=0.0)\n"
        )
    assert rewritten("optim.Adam(3, beta1=cfg.b)\n", ["learning_rate"]) == (
        "optax.inject_hyperparams(\n"
        "    lambda learning_rate, beta1: optax.adam(learning_rate, b1=beta1),\n"
        '    static_args="beta1",\n'
        ")(learning_rate=3.0, beta1=cfg.b)\n"
    )


def test_the_names_of_the_file() -> None:
    names = {"optax": "ox", "jax.numpy": "jax.numpy", "flaxoptim_compat.transforms": "compat.t"}
    text = "optim.Adafactor(lr, beta1=0.9, factored=False, decay_rate=optax)\n"
    assert (
        rewritten(text, names=names)
        == """\
ox.chain(
    compat.t.in_float32(ox.scale_by_factored_rms(factored=False, decay_rate=optax)),
    ox.clip_by_block_rms(1.0),
    compat.t.scale_by_rate_and_parameter_rms(lr),
    ox.ema(0.9, debias=False, accumulator_dtype=jax.numpy.float32),
    ox.scale(-1.0),
)
"""
    )


def test_only_the_modules_that_are_needed_are_asked_for() -> None:
    asked: list[str] = []

    def name_of(module: str) -> str:
        asked.append(module)
        return NAMES[module]

    each = document("optim.Adam(lr)\n")
    chain(bound_in("optim.Adam(lr)\n"), each, name_of)
    assert asked == ["optax"]


def test_changes_inside_of_arguments_are_kept() -> None:
    text = "tx = optim.AdaBelief(jax.tree_map(f, x), eps=cfg.eps)\n"
    each = document(text)
    bound = bound_in(text)
    parts = chain(bound, each, NAMES.__getitem__)
    old = text.index("tree_map"), text.index("cfg")
    edits = [
        Edit(*each.span(bound.call), parts),
        Edit(old[0], old[0] + len("tree_map"), ("tree.map",)),
        Edit(old[1], old[1] + len("cfg"), ("config",)),
    ]
    changed = "optax.adabelief(jax.tree.map(f, x), eps=config.eps, eps_root=config.eps)"
    assert apply_edits(text, edits) == f"tx = {changed}\n"


def test_lines_are_as_long_as_those_of_the_file() -> None:
    text = """\
def make(params, config):
  return optim.Momentum(config.learning_rate, weight_decay=config.weight_decay, beta=0.8)
"""
    each = document(text)
    statement = each.tree.body[0].body[0]  # type: ignore[attr-defined]
    bound = bind(statement.value, "Momentum")
    assert not isinstance(bound, Refused)

    def changed(place: Place | None) -> str:
        parts = chain(bound, each, NAMES.__getitem__, place=place)
        return apply_edits(text, [Edit(*each.span(bound.call), parts)])

    assert (
        changed(None)
        == """\
def make(params, config):
  return optax.chain(
    optax.add_decayed_weights(config.weight_decay),
    optax.sgd(config.learning_rate, momentum=0.8),
  )
"""
    )
    assert changed(Place(width=200)).count("\n") == 2
    assert changed(Place(indent=2, step=8)).count("\n          optax.") == 2


@pytest.mark.parametrize(
    ("rest", "breaks"),
    [("", False), (".create(params)", False), ("  # a comment", False), (", another, value", True)],
)
def test_what_follows_on_the_line_may_break_it(rest: str, breaks: bool) -> None:
    text = f"the_optimizer_of_the_parameters = optim.Momentum(config.learning_rate, 0.95){rest}\n"
    each = document(text)
    call = next(node for node in ast.walk(each.tree) if read_constructor(node))
    bound = bind(call, "Momentum")  # type: ignore[arg-type]
    assert not isinstance(bound, Refused)
    parts = chain(bound, each, NAMES.__getitem__)
    assert any("\n" in str(part) for part in parts) == breaks


def read_constructor(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(read(node), binding.Bound)


def test_an_argument_of_several_lines() -> None:
    text = """\
optim.Adam(
    learning_rate=(
        cfg.rate *
        cfg.factor
    ),
    weight_decay=0.1,
)
"""
    cfg = type("Config", (), {"rate": 0.5, "factor": 0.25})
    assert "cfg.rate *\n        cfg.factor" in rewritten(text)
    tx = made(f"tx = {rewritten(text)}", cfg=cfg)
    expected = made("tx = optax.adamw(0.125, weight_decay=0.1)\n")
    assert str(tx.update(PARAMS, tx.init(PARAMS), PARAMS)) == str(
        expected.update(PARAMS, expected.init(PARAMS), PARAMS)
    )


def test_what_is_computed_is_computed_once() -> None:
    calls: list[float] = []

    def compute(value: float) -> float:
        calls.append(value)
        return value

    text = "tx = optim.Momentum(0.1, weight_decay=compute(0.3))\n"
    for injected in ([], ["learning_rate"]):
        calls.clear()
        tx = made(rewritten(text, injected), compute=compute)
        tx.update(PARAMS, tx.init(PARAMS), PARAMS)
        assert calls == [0.3]


def test_signatures_are_those_of_the_classes() -> None:
    classes = {
        name
        for name, each in vars(optim).items()
        if inspect.isclass(each) and issubclass(each, optim.OptimizerDef)
    }
    assert classes - {"OptimizerDef", "MultiOptimizer"} == set(SIGNATURES)
    for name, known in SIGNATURES.items():
        found = inspect.signature(getattr(optim, name)).parameters
        assert list(found) == list(known), name
        for parameter, default in known.items():
            real: Any = found[parameter].default
            if parameter == "dtype_momentum":
                real = real.dtype.name
            assert real == (inspect.Parameter.empty if default is REQUIRED else default)


def test_what_cannot_be_injected_is_what_a_step_builds_in() -> None:
    assert binding._COMPLEMENTED == hp.COMPLEMENTED
    assert binding._INTEGERS == hp.INTEGERS


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-1", -1),
        ("+2.5", 2.5),
        ("1 / 4", 0.25),
        ("2 ** -3", 0.125),
        ("1e-3 * 3", 0.003),
        ("None", None),
    ],
)
def test_literals(text: str, value: Any) -> None:
    assert literal(ast.parse(text, mode="eval").body) == value


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "1 / 0",
        "9 ** 9 ** 9",
        "10 ** 200",
        "2 * True",
        "-None",
        "1j",
        "'1'",
        "1 // 2",
        "(-8) ** 0.5",
    ],
)
def test_what_is_no_literal(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        literal(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize(
    ("text", "acts"),
    [
        ("cfg.rate * float(x)", False),
        ("cfg.get('rate', 0.1)", False),
        ("getattr(cfg, 'rate')", False),
        ("queue.get()", True),
        ("rate()", True),
        ("[next(rates)]", True),
        ("(rate := 0.1)", True),
    ],
)
def test_what_may_act(text: str, acts: bool) -> None:
    assert may_act(ast.parse(text, mode="eval").body) is acts


def test_scan_can_do_without_jax(tmp_path: Path) -> None:
    program = """
import sys
from flaxoptim_compat.migrate.chains import accepted, binding, partition, place, text
print([name for name in ("jax", "flax", "optax", "numpy") if name in sys.modules])
"""
    assert output_of(["-c", program], tmp_path) == "[]\n"
