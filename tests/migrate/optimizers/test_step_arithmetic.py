"""Where a step has to be an array, as in flax.optim, and where a number of Python does as well."""

from __future__ import annotations

import pytest

from tests.support.rewriting_texts import rewrite, rewrite_all

PROGRAM = """\
import copy
import dataclasses
import functools
import itertools
import json
import math
import operator
import pickle
import threading
import types
from concurrent.futures import ThreadPoolExecutor

import chex
import jax
import jax.numpy as jnp
import log
from flax import optim
from flax.training import checkpoints


def rate_of(step):
    return 0.1 * step


def make(p):
    return optim.Adam(0.1).create(p)


def run(p, n, writer, schedule):
    o = make(p)
    {line}
"""
ARRAY = ".replace(step=jnp.asarray(0, jnp.int32))"
ANOTHER = [
    "return 0.1 * o.state.step",
    "return o.state.step / n",
    "return n / o.state.step",
    "return o.state.step + n",
    "return (o.state.step + 1) ** -0.5",
    "return -o.state.step * 0.5",
    "return rate_of(o.state.step)",
    "return rate_of(step=o.state.step)",
    "return schedule(o.state.step // 2)",
    "return math.sqrt(o.state.step)",
    "return jnp.cos(o.state.step if n else 0)",
    "return o.state.step.dtype",
    "return jax.eval_shape(make, p).state.step.dtype",
    "return o.state.step[None]",
    "return o.state.step",
    "step = o.state.step; return rate_of(step)",
    "n.step = o.state.step",
    "return o.state.step % n == 0",
    "return {'step': o.state.step, 'loss': n}",
    "return 0.3 / max(o.state.step, 2) ** 0.5",
    "return pow(0.5, abs(o.state.step - 5))",
    "return rate_of(next(iter([o.state.step])))",
    "return list(map(rate_of, [o.state.step]))[0]",
    "return operator.mul(0.5, o.state.step)",
    "return (o.state.step < 2) * 0.05",
    "done = o.state.step > n; return ~done",
    "o, step = make(p), o.state.step; return 0.5 ** step",
    "steps = [o.state.step, 5]; return steps[0] / 7",
    "return 0.7 / (o.state.step or 1)",
    "return dict(step=o.state.step, loss=n)",
    "n.history.append((o.state.step, 0.5))",
    "global step; step = o.state.step",
    "return jax.tree_util.tree_map(lambda x, y: (x == y).all(), o, o)",
    "return jax.tree_map(lambda *xs: xs[0].shape, o, o)",
    "jax.block_until_ready(jax.tree_util.tree_leaves(o))",
    "return jax.tree_map(lambda x: x.copy(), o)",
    "return jax.tree_util.tree_map(lambda x: x[None], [o])",
    "return max([o], key=lambda each: 0.5 ** each.state.step)",
    "return jax.tree_map(float, {'step': o.state.step, 'loss': n})",
    "return jax.tree_util.tree_leaves((p, o.state.step))[-1].dtype",
    "return json.dumps({'step': o.state.step}, default=float)",
    "return jax.tree_map(rate_of, o.state.step)",
    "return copy.deepcopy(o.state.step) / 3",
    "n.setdefault('step', o.state.step)",
    "n.insert(0, o.state.step)",
    "n.__setitem__('step', o.state.step)",
    "setattr(n, 'step', o.state.step)",
    "return types.SimpleNamespace(step=o.state.step, rate=0.1)",
    "return dataclasses.replace(n, step=o.state.step)",
    "getattr(n, 'on_' + p)(o.state.step, 0.5)",
    "n = 7 / 10; print(o.state.step % n)",
    "return jax.tree_map(lambda x, y: (x + y) / 2, o, o)",
    "return jax.tree_map(lambda x, y: 0.5 * x + 0.5 * y, o, o)",
    "return jax.tree_map(lambda x: n(x), o)",
    "return jax.tree_map(n, o)",
    "parts, structure = jax.tree_util.tree_flatten(o); return structure.unflatten(map(n, parts))",
    "return log.cosine(o.state.step, 7)",
    "chex.assert_shape(o.state.step, ())",
    "threading.Timer(n, rate_of, (o.state.step,)).start()",
    "pool = ThreadPoolExecutor(); pool.submit(rate_of, o.state.step)",
    "return hasattr(o.state.step, 'dtype')",
    "return isinstance(o.state.step, int)",
    "return types.MappingProxyType({'step': o.state.step})",
    "return list(itertools.starmap(schedule, [(o.state.step, n)]))",
    "return pickle.loads(pickle.dumps(o.state.step))",
    "return itertools.count(o.state.step)",
    "return jax.jit(lambda n: n * 0.9 ** o.state.step)(n)",
    "return jax.lax.scan(lambda n, _: (n * 0.9 ** o.state.step, n), n, None, 3)",
    "f = lambda o: 0.1 * o.state.step; return jax.jit(f)(o), f(o)",
    "return n.cosine(o.state.step, 7)",
]
THE_SAME = [
    "return int(o.state.step)",
    "return f'{o.state.step:03d}'",
    "return 'step %d of %d' % (o.state.step, n)",
    "return '{:d}: {}'.format(o.state.step, n)",
    "if o.state.step % n == 0 or not o.state.step // 100 * 100 > n: print(o)",
    "while o.state.step < n and n: o = make(p)",
    "return [each for each in p if each > o.state.step]",
    "return int(max(o.state.step, n))",
    "return n[: o.state.step]",
    "log.info({'step': o.state.step, 'loss': n})",
    "log.info(dict(step=o.state.step, loss=n))",
    "print('%d of %d' % (o.state.step, n))",
    "print('loss', n, o.state.step + 1)",
    "log.info(o.state.step)",
    "return checkpoints.save_checkpoint(n, p, o.state.step)",
    "return jax.tree_map(lambda x, y: jnp.where(n, x, y), o, o)",
    "writer.scalar('loss', n, step=o.state.step)",
    "return n[o.state.step]",
    "return o.state.step[0]",
    "return jax.tree_map(lambda x: x[0], o)",
    "return jax.tree_map(lambda x: x * 2, o)",
    "return jax.tree_map(lambda x, y: x + y, o, o)",
    "return json.dumps({'step': o.state.step, 'loss': n})",
    "return jax.jit(lambda o: 0.1 * o.state.step)(o)",
    "return jax.jit(lambda o: jax.tree_map(lambda x, y: x / 2, o, o))(o)",
    "return jax.lax.scan(lambda o, _: (o, rate_of(o.state.step)), o, None, 3)",
]
TRACED = """\


@functools.partial(jax.jit, static_argnums=1)
def {first}(o, n):
    def loss(target):
        return 0.1 * o.state.step

    return loss(o.target)


class Trainer:
    def __init__(self):
        self.step = jax.pmap(functools.partial(self._step, 3), axis_name="batch")

    def _step(self, n, o):
        return o.apply_gradient(n, learning_rate=0.5 ** o.state.step)


print({first}(make({}), 2), Trainer().step(make({})))
"""


def text(line: str) -> str:
    return PROGRAM.replace("{line}", line)


@pytest.mark.parametrize("line", ANOTHER)
def test_an_array_to_start_with(line: str) -> None:
    assert ARRAY in rewrite(text(line), "optax")


@pytest.mark.parametrize("line", THE_SAME)
def test_a_number_does_as_well(line: str) -> None:
    rewritten = rewrite(text(line), "optax")
    assert "TrainState.create(" in rewritten
    assert ARRAY not in rewritten


def test_what_is_traced_has_an_array_anyway() -> None:
    traced = text("return o") + TRACED.replace("{first}", "scaled")
    assert ARRAY not in rewrite(traced, "optax")
    plain = traced.replace("@functools.partial(jax.jit, static_argnums=1)\n", "")
    assert ARRAY in rewrite(plain, "optax")
    plain = traced.replace("jax.pmap(", "dict(step=")
    assert ARRAY in rewrite(plain, "optax")


@pytest.mark.parametrize(
    ("call", "needs"),
    [
        ("rate_of(o.state.step)", True),
        ("[each(o.state.step) for each in (rate_of, jax.jit(rate_of))]", True),
        ("jax.jit(rate_of)(o.state.step)", False),
        ("jax.jit(lambda step: rate_of(step))(o.state.step)", False),
    ],
)
def test_what_is_also_called_as_it_is_is_not_traced(call: str, needs: bool) -> None:
    program = text("return 1").replace("def rate_of(step):", "def rate_of(o):")
    program = program.replace("0.1 * step", "0.1 * o.state.step").replace(
        "return 1", f"jax.jit(rate_of)(o); return {call.replace('o.state.step', 'o')}"
    )
    assert (ARRAY in rewrite(program, "optax")) is needs


@pytest.mark.parametrize(
    "used",
    [
        "(jax.jit(rate_of) if p else rate_of)(o)",
        "[run(each, o) for each in ({}, rate_of)]",
        "map(rate_of, [o])",
    ],
)
def test_what_is_handed_on_as_it_is_is_not_traced_everywhere(used: str) -> None:
    program = text(f"jax.jit(rate_of)(o); return {used.format('jax.jit(rate_of)')}")
    program = program.replace("def rate_of(step):", "def rate_of(o):")
    program = program.replace("0.1 * step", "0.1 * o.state.step")
    assert ARRAY in rewrite(program, "optax")


@pytest.mark.parametrize(
    ("decorator", "needs"),
    [
        ("jax.jit", False),
        ("functools.partial(jax.jit, static_argnums=1)", False),
        ("(jax.jit if len('on') else lambda function: function)", True),
        ("maybe_jit", True),
    ],
)
def test_a_decorator_may_trace_or_not(decorator: str, needs: bool) -> None:
    program = text("return scaled(o, n)") + (
        "\n\ndef maybe_jit(function):\n    return jax.jit(function) if len('on') else function\n"
        f"\n\n@{decorator}\ndef scaled(o, n):\n    return 0.1 * o.state.step\n"
    )
    assert (ARRAY in rewrite(program, "optax")) is needs


def test_what_a_traced_method_is_called_on_is_no_tree() -> None:
    program = text("return Trainer(o).rate()") + (
        "\n\nclass Trainer:\n    def __init__(self, o):\n        self.o = o\n\n"
        "    @functools.partial(jax.jit, static_argnums=0)\n"
        "    def rate(self):\n        return 0.1 * self.o.state.step\n"
    )
    assert ARRAY in rewrite(program, "optax")


def test_a_variable_that_others_ask_for_is_an_array() -> None:
    begins = (
        "from flax import optim\n\noptimizer = optim.Adam(0.1).create({'w': 1.0})\n"
        "begin = optimizer.state.step\n"
    )
    assert ARRAY not in rewrite(begins, "optax")
    for other in ("from first import begin\n", "import first\nprint(first.begin / 3)\n"):
        assert ARRAY in rewrite_all({"first": begins, "other": other}, "optax")["first"]
    in_a_class = begins.replace("begin = ", "class Run:\n    begin = ")
    assert ARRAY in rewrite(in_a_class, "optax")


def test_an_optimizer_that_stays_one_has_an_array_already() -> None:
    kept = text("return 0.1 * o.state.step").replace("Adam(0.1)", "Adam(**p)")
    rewritten = rewrite(kept, "optax")
    assert ".to_train_state(inject=False)" in rewritten
    assert "return 0.1 * o.step" in rewritten
    assert ARRAY not in rewritten
