"""Constructor calls drawn at random: their text makes what the call makes."""

from __future__ import annotations

import types
from typing import Any

import jax.numpy as jnp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flaxoptim_compat.catalogue import BY_NAME, DTYPE, FLAGS, RATE, WRAPPED
from flaxoptim_compat.migrate.optax_text.binding import Bound, refusal
from tests.support.optax_texts import (
    call_in,
    described,
    document,
    made,
    program_of,
    read,
    rewritten,
)

PARAMS = {"bias": jnp.ones(3), "kernel": jnp.ones((2, 3))}
CFG = types.SimpleNamespace(rate=0.03, flag=True, items={"eps": 1e-5})
LITERALS = st.sampled_from(
    ["1e-3", "0.1", ".5", "1", "0", "0.0", "1E-8", "2 * 0.25", "1 / 3", "2 ** -3", "-0.5", "5_0.0"]
)
SYMBOLS = st.sampled_from(
    [
        *("value", "cfg.rate", "cfg.items['eps']", "cfg.items.get('no', 0.7)", "float('0.3')"),
        *("cfg.rate * value", "value if cfg.flag else 2.0", "max(cfg.rate, 0.2)"),
    ]
)
NUMBERS = LITERALS | SYMBOLS | st.floats(0.0, 1.0).map(repr)


def texts_of(name: str, parameter: str) -> st.SearchStrategy[str]:
    if parameter == DTYPE:
        return st.sampled_from(["jnp.float32", "jnp.bfloat16"])
    if parameter in FLAGS:
        known = st.sampled_from(["True", "False"])
        return known if parameter in BY_NAME[name].decides else known | st.just("cfg.flag")
    if parameter == "min_dim_size_to_factor":
        return st.sampled_from(["2", "128"])
    if parameter == "step_offset":
        return st.sampled_from(["0", "-7"])
    if parameter in BY_NAME[name].decides:
        # An expression has a value that only the running program knows.
        return st.just("None") | LITERALS.filter(lambda text: " " not in text)
    return NUMBERS


@st.composite
def calls(draw: Any, name: str = "", rate: bool = True) -> str:
    """The text of a call, with or without a learning rate."""
    name = name or draw(st.sampled_from(sorted(BY_NAME)))
    known = list(BY_NAME[name].hyper_params)
    chosen = draw(st.sets(st.sampled_from(known))) - {RATE}
    chosen |= {WRAPPED} & set(known) | ({RATE} & set(known) if rate else set())
    given = {}
    for parameter in chosen:
        inner = st.sampled_from(sorted(set(BY_NAME) - {"WeightNorm"}))
        text = calls(draw(inner), rate) if parameter == WRAPPED else texts_of(name, parameter)
        given[parameter] = draw(text)
    first = next((index for index, each in enumerate(known) if each not in given), len(known))
    places = draw(st.integers(0, first))
    arguments = [given.pop(each) for each in known[:places]]
    arguments += [f"{each}={given[each]}" for each in draw(st.permutations(sorted(given)))]
    return f"optim.{name}({', '.join(arguments)})"


drawn = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@drawn
@given(st.booleans().flatmap(lambda rate: st.tuples(st.just(rate), calls(rate=rate))))
def test_the_text_makes_what_the_call_makes(drawn: tuple[bool, str]) -> None:
    rate, call = drawn
    text = f"value = 0.4\ntx = {call}\n"
    bound = read(call_in(document(text)))
    assert isinstance(bound, Bound), bound
    injected = [] if rate else [RATE]
    assert not refusal(bound, injected)
    definition = made(text, cfg=CFG)
    new = rewritten(text, injected)
    assert "optim." not in new
    # What was too long before may be as long, and is not divided for nothing.
    assert max(map(len, new.splitlines())) <= max(100, *map(len, text.splitlines()))
    expected = program_of(described(definition, PARAMS), PARAMS)
    assert program_of(made(new, cfg=CFG), PARAMS) == expected, new
