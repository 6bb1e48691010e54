"""Programs for flax.optim, put together at random from what programs did with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

# By class, what its arguments may be called, and what may stand there besides a number.
_UNIT = ("0.5", "0.9", "BETA")
_SMALL = ("1e-8", "1e-4", "EPS")
_DECAY = ("0", "0.1", "BETA / 4", "SETTINGS['decay']")
_FLAG = ("True", "False")
_CLASSES: dict[str, dict[str, tuple[str, ...]]] = {
    "AdaBelief": {"beta1": _UNIT, "eps": _SMALL, "weight_decay": _DECAY},
    "Adadelta": {"rho": _UNIT, "eps": _SMALL, "weight_decay": _DECAY},
    "Adafactor": {"beta1": ("None", "0.5"), "clipping_threshold": ("None", "0.5", "1.0")},
    "Adagrad": {"eps": _SMALL},
    "Adam": {"beta1": _UNIT, "beta2": _UNIT, "eps": _SMALL, "weight_decay": _DECAY},
    "GradientDescent": {},
    "LAMB": {"beta1": _UNIT, "eps": _SMALL, "weight_decay": _DECAY},
    "LARS": {"beta": _UNIT, "weight_decay": _DECAY, "nesterov": _FLAG},
    "Momentum": {"beta": _UNIT, "weight_decay": _DECAY, "nesterov": _FLAG},
    "RMSProp": {"beta2": _UNIT, "eps": _SMALL, "centered": _FLAG},
}
_RATES = ("0.1", "1e-2", "RATE", "RATE / 2", "SETTINGS['rate']", "half(RATE)")
# What a program writes before the name of a class, and the import that this takes.
_IMPORTS = {
    "optim.": "from flax import optim",
    "optimizers.": "from flax import optim as optimizers",
    "flax.optim.": "import flax",
    "fx.optim.": "import flax as fx",
    "fo.": "import flax.optim as fo",
    "legacy.": "from flax import core, optim as legacy",
    "": "from flax.optim import (\n    {names},\n)",
}
_HEAD = """\
{imports}

RATE = 0.05
BETA, EPS = 0.8, 1e-6
SETTINGS = {{"rate": 0.02, "decay": 0.01}}


def half(x): return x / 2


def parameters():
    return {{"bias": jnp.array([0.3, -1.2]), "kernel": jnp.array([[1.5, 2.25], [-0.5, 0.75]])}}


def gradients(params, step=0):
    return jax.tree_util.tree_map(lambda p: 0.5 * p + 0.1 - 0.01 * step, params)


"""
# How a program is built around MAKE, which makes an optimizer, and STEP, one step of it.
_SHAPES = (
    """\
optimizer = MAKE
for number in range(3):
    grads = gradients(optimizer.target, number)
    optimizer = STEP


def run():
    return optimizer.target, optimizer.state.step
""",
    """\
@dataclasses.dataclass
class State:
    optimizer: OPTIMIZER
    seen: int = 0


def step(state: State, number) -> State:
    optimizer = state.optimizer
    grads = gradients(optimizer.target, number); seen = state.seen + 1
    return dataclasses.replace(state, optimizer=STEP, seen=seen)


def run():
    state = State(optimizer=MAKE)
    for number in range(3):
        state = step(state, number)
    assert state.seen == state.optimizer.state.step
    return state.optimizer.target, state.optimizer.state.step
""",
    """\
def body(carry, number):
    optimizer, total = carry
    grads = gradients(optimizer.target, number)
    optimizer = STEP
    return (optimizer, total + number), optimizer.target["bias"]


def run():
    (optimizer, total), biases = lax.scan(body, (MAKE, 0.0), jnp.arange(3.0))
    return optimizer.target, optimizer.state.step, total, biases
""",
    """\
def run():
    made = {"one": MAKE, "two": MAKE}

    def updated(optimizer: OPTIMIZER, number=1) -> OPTIMIZER:
        grads = gradients(optimizer.target, number)
        return STEP

    made = {name: updated(each) for name, each in made.items()}
    if isinstance(made["one"], OPTIMIZER):
        made["two"] = made["two"].replace(target=made["one"].target)
    return [updated(each, 2).target for each in made.values()]
""",
    """\
def warm_up(optimizer, rate): return optimizer.apply_gradient(
    gradients(optimizer.target), learning_rate=rate)


def run():
    optimizer = MAKE
    if True: optimizer = warm_up(optimizer, 0.01); optimizer = warm_up(optimizer, rate=RATE)
    optimizer = optimizer.replace(state=optimizer.state.replace(step=7))
    for number in range(2):
        grads = gradients(optimizer.target, number)
        optimizer = STEP
    text = f"{(optimizer).state.step} {optimizer.target['bias'].shape!r:>{20}} {{optimizer.target}}"
    entries = optimizer.state_dict()
    return optimizer.restore_state(entries).target, [ord(each) for each in text]
""",
)


@st.composite
def programs(draw: st.DrawFn) -> str:
    """The text of a program with a function ``run``, which returns parameters and more."""
    prefix = draw(st.sampled_from(sorted(_IMPORTS)))
    used: set[str] = set()

    def name(of: str) -> str:
        used.add(of)
        return prefix + of

    steps = draw(st.sampled_from(["", "", "learning_rate"]))
    definition = _definition(draw, name, has_rate=not steps or draw(st.booleans()))
    target = draw(st.sampled_from(["parameters()", "(parameters())", "target=parameters()"]))
    rate = draw(st.sampled_from([*_RATES, "RATE / (number + 1)"]))
    given = f"grads{_comma(draw)}learning_rate={rate}" if steps else "grads"
    applied = draw(st.sampled_from([".apply_gradient", "\\\n        .apply_gradient"]))
    words = {
        "MAKE": f"{definition}.create({target})",
        "STEP": f"optimizer{applied}({given})",
    }
    body = draw(st.sampled_from(_SHAPES))
    if "OPTIMIZER" in body:
        words["OPTIMIZER"] = name("Optimizer")
    for word, text in words.items():
        body = body.replace(word, text)
    imports = ["import dataclasses", "import jax", "import jax.numpy as jnp", "from jax import lax"]
    imports.append(_IMPORTS[prefix].format(names=",\n    ".join(sorted(used))))
    text = _HEAD.format(imports="\n".join(draw(st.permutations(imports)))) + body
    return _commented(draw, text)


def _definition(draw: st.DrawFn, name: Callable[[str], str], has_rate: bool) -> str:
    kind = draw(st.sampled_from(["plain", "plain", "plain", "weight_norm", "several"]))
    if kind == "plain":
        return _constructor(draw, name, has_rate)
    if kind == "weight_norm":
        return f"{name('WeightNorm')}({_constructor(draw, name, has_rate)})"
    traversal = name("ModelParamTraversal")
    first = f"{traversal}(lambda path, _: 'bias' in path)"
    second = f"{traversal}(lambda path, _: 'bias' not in path)"
    pairs = [f"({each}, {_constructor(draw, name, has_rate)})" for each in (first, second)]
    chosen = pairs[: draw(st.integers(1, 2))]
    return f"{name('MultiOptimizer')}({_comma(draw).join(chosen)})"


def _constructor(draw: st.DrawFn, name: Callable[[str], str], has_rate: bool) -> str:
    of = draw(st.sampled_from(sorted(_CLASSES)))
    arguments = []
    if has_rate:
        keyword = draw(st.sampled_from(["", "learning_rate=", "learning_rate = "]))
        arguments.append(keyword + draw(st.sampled_from(_RATES)))
    for argument, values in _CLASSES[of].items():
        if draw(st.booleans()):
            arguments.append(f"{argument}={draw(st.sampled_from(values))}")
    return f"{name(of)}({_comma(draw).join(arguments)})"


def _comma(draw: st.DrawFn) -> str:
    """What stands between two arguments."""
    return draw(st.sampled_from([", ", ",", ",  # why\n        ", ",\n        ", " , "]))


def _commented(draw: st.DrawFn, text: str) -> str:
    """The text with numbered comments behind some of its lines and above others."""
    lines: list[str] = []
    for number, line in enumerate(text.splitlines()):
        where: Any = draw(st.sampled_from(["", "", "", "", "behind", "above"]))
        indent = line[: len(line) - len(line.lstrip())]
        goes_on = bool(lines) and lines[-1].endswith("\\")
        if where == "above" and not goes_on:
            lines.append(f"{indent}# note {number}: {line.strip()[:20]}")
        if where == "behind" and not line.endswith("\\"):
            line += f"  # note {number}"
        lines.append(line)
    return "\n".join(lines) + "\n"
