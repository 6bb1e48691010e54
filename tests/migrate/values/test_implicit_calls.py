"""An optimizer is followed through what Python calls by itself, and through ``match``."""

from __future__ import annotations

import pytest

from tests.support.followed import FLAX, MADE, assert_followed, assert_left
from tests.support.rewriting_texts import rewrite

IMPORTS = "import functools\n\n"
HEAD = f"{IMPORTS}{FLAX}"
_HOLDER = "class Holder:\n    def __init__(self, held=None):\n        self.held = held\n\n"
# A class or function, and lines by which `x` is what it gives.
LEADS = {
    "with": (
        f"{_HOLDER}    def __enter__(self):\n        return self.held\n\n"
        "    def __exit__(self, *_):\n        pass\n",
        "with Holder(a) as x:\n        pass",
    ),
    "with an object that is entered as itself": (
        "import contextlib\n\n\n"
        "class Holder(contextlib.AbstractContextManager):\n"
        "    def __init__(self, held):\n        self.held = held\n",
        "with Holder(a) as holder:\n        x = holder.held",
    ),
    "a loop": (
        f"{_HOLDER}    def __iter__(self):\n        yield self.held\n",
        "for x in Holder(a):\n        pass",
    ),
    "a loop over what gives the next": (
        f"{_HOLDER}    def __iter__(self):\n        return self\n\n"
        "    def __next__(self):\n        return self.held\n",
        "for x in Holder(a):\n        break",
    ),
    "brackets": (
        f"{_HOLDER}    def __getitem__(self, key):\n        return self.held\n",
        "x = Holder(a)[n]",
    ),
    "a loop over what has brackets": (
        f"{_HOLDER}    def __getitem__(self, key):\n        return [self.held][key]\n",
        "for x in Holder(a):\n        pass",
    ),
    "brackets that are assigned to": (
        f"{_HOLDER}    def __setitem__(self, key, value):\n        self.held = value\n",
        "holder = Holder()\n    holder[n] = a\n    x = holder.held",
    ),
    "a function with some arguments": (
        "def second(first, of):\n    return of\n\n\ngive = functools.partial(second, 1.0)\n",
        "x = give(a)",
    ),
    "a function with some arguments in an object": (
        "def second(first, of):\n    return of\n\n\ngive = functools.partial(second, 1.0)\n\n\n"
        "class Trainer:\n    def __init__(self, of):\n        self.of = give(of)\n\n"
        "    def asked(self):\n        return self.of.target\n",
        "x = Trainer(a).of",
    ),
    "an object that asks another one": (
        f"{_HOLDER}class Wrapped:\n    def __init__(self, inner):\n        self.inner = inner\n\n"
        "    def __getattr__(self, name):\n        if name.startswith('_'):\n"
        "            raise AttributeError(name)\n        return getattr(self.inner, name)\n",
        "x = Wrapped(Wrapped(Holder(a))).held",
    ),
    "what a generator is sent": (
        "def each():\n    got = yield\n    while True:\n        got = yield got\n",
        "given = each()\n    next(given)\n    x = given.send(a)",
    ),
    "a field by its name": (_HOLDER, "x = vars(Holder(a))['held']"),
    "a field that is set by its name": (
        _HOLDER,
        "holder = Holder()\n    holder.__dict__['held'] = a\n    x = holder.held",
    ),
    "a field of a thread": (
        "import threading\n\nkept = threading.local()\n",
        "kept.held = a\n    x = kept.held",
    ),
    "a field of a module that is made": (
        "import types\n\nkept = types.ModuleType('kept')\n",
        "kept.held = a\n    x = kept.held",
    ),
    "a function by its name": (
        "def given(of):\n    return of\n",
        "x = globals()['given'](a)",
    ),
    "a function of the file itself": (
        "import sys\n\n\ndef given(of):\n    return of\n",
        "x = getattr(sys.modules[__name__], 'given')(a)",
    ),
    "a function of the file that imports itself": (
        "import importlib\n\n\ndef given(of):\n    return of\n",
        "x = importlib.import_module(__name__).given(a)",
    ),
    "what a decorator is put around": (
        "@functools.lru_cache\ndef given(of):\n    return of\n",
        "x = given.__wrapped__(a)",
    ),
    "a call by its name": ("def given(of):\n    return of\n", "x = given.__call__(a)"),
    "a case": ("", "match a:\n        case x:\n            pass"),
    "one of two cases": (
        "",
        "match g:\n        case 0:\n            x = a\n        case _:\n            x = b",
    ),
    "a list": ("", "match [n, a]:\n        case [_, x]:\n            pass"),
    "the rest of a list": (
        "",
        "match [n, a, b]:\n        case [_, *rest]:\n            x = rest[0]",
    ),
    "what is after the rest": ("", "match [n, a]:\n        case [*_, x]:\n            pass"),
    "an entry": ("", "match {'a': a}:\n        case {'a': x}:\n            pass"),
    "the rest of the entries": (
        "",
        "match {'a': a}:\n        case {'b': _, **rest}:\n            pass\n"
        "        case {**rest}:\n            x = rest['a']",
    ),
    "an attribute": (_HOLDER, "match Holder(a):\n        case Holder(held=x):\n            pass"),
    "one of several": ("", "match [a]:\n        case [x] | [_, x]:\n            pass"),
    "a whole and its part": (
        "",
        "match [a]:\n        case [x] as whole if whole[0].state:\n            pass",
    ),
}


@pytest.mark.parametrize("name", LEADS)
def test_it_is_followed(name: str) -> None:
    assert_followed(IMPORTS, *LEADS[name])


# What a class of the program makes of it is not followed, and no line has to show that.
LOST = {
    "an operator": (
        "class Kept:\n    def __add__(self, other):\n        return other\n",
        "x = Kept() + a",
        "an optimizer goes through `Kept() + a`",
    ),
    "an operator that assigns": (
        "class Kept:\n    def __iadd__(self, other):\n        return other\n",
        "x = Kept()\n    x += a",
        "an optimizer goes through `x += a`",
    ),
    "a sign": ("", "x = -a", "an optimizer goes through `-a`"),
    "brackets": (
        "class Kept:\n    def __getitem__(self, key):\n        return self\n",
        "x = Kept()[a]",
        "an optimizer goes through `Kept()[a]`",
    ),
    "an exception": (
        "class Found(Exception):\n    pass\n",
        "try:\n        raise Found(a)\n    except Found as found:\n        x = found.args[0]",
        "who catches the `Found`",
    ),
    "a class that makes something else": (
        "class Held:\n    def __new__(cls, held):\n        return held\n",
        "x = Held(a)",
        "A value is an optimizer in some calls, and something else in others",
    ),
    "a metaclass that makes something else": (
        "class Give(type):\n    def __call__(cls, held):\n        return held\n\n\n"
        "class Held(metaclass=Give):\n    pass\n",
        "x = Held(a)",
        "A value is an optimizer in some calls, and something else in others",
    ),
}


@pytest.mark.parametrize("name", LOST)
def test_where_it_is_not_followed_it_stays(name: str) -> None:
    assert_left(IMPORTS, *LOST[name], asked="state.step")


@pytest.mark.parametrize(
    "given", ["locals()['a']", "eval('a')", "vars(Held(a))[n]", "Held(a).__dict__[n]"]
)
def test_a_variable_by_a_name_that_only_shows_when_it_runs_stays(given: str) -> None:
    top = "class Held:\n    def __init__(self, of):\n        self.of = of\n"
    program = f"{HEAD}{top}{MADE}    x = {given}\n    return x.target\n"
    left = rewrite(program, "optax")
    assert left.endswith("    return x.target\n") and "a = optim.Adam(0.1).create(p)" in left


@pytest.mark.parametrize(
    "call",
    [
        "jax.debug.callback(show, o)",
        "jax.pure_callback(show, shape, o)",
        "jax.experimental.io_callback(show, shape, o)",
        "p = host_callback.id_tap(show, o).target",
        "host_callback.call(show, o)",
    ],
)
def test_what_is_called_back_is_given_it(call: str) -> None:
    program = (
        "import jax\nfrom flax import optim\nfrom jax.experimental import host_callback\n\n\n"
        "def show(each, transforms=None):\n    print(each.target)\n\n\n"
        f"def f(p, shape):\n    o = optim.Adam(0.1).create(p)\n    {call}\n"
    )
    text = rewrite(program, "optax")
    assert ".target" not in text and "print(each.params)" in text


def test_a_function_of_jax_that_may_call_one_with_it_holds_it() -> None:
    program = (
        "import jax\nfrom flax import optim\n\n\ndef show(each):\n    print(each.target)\n\n\n"
        "def f(p):\n    o = optim.Adam(0.1).create(p)\n    jax.somehow(show, o)\n"
    )
    left = rewrite(program, "optax")
    assert "# FOC218: `jax.somehow" in left and "print(each.target)" in left


_TRAINER = "class Trainer:\n    def first(self, p):\n        return optim.Adam(0.1).create(p)\n\n\n"
_FIRST = "def first(p):\n    return optim.Adam(0.1).create(p)\n\n\n"


@pytest.mark.parametrize(
    ("maker", "made"),
    [
        (_TRAINER, "getattr(Trainer(), 'fir' + n)(p)"),
        (_FIRST, "globals()['fir' + n](p)"),
        (_FIRST, "eval(n)(p)"),
        (f"{_FIRST}kept = package.Kept()\nkept['f'] = first\n", "kept['f'](p)"),
        (f"{_TRAINER}kept = package.Kept()\nkept.add(Trainer())\n", "kept.get().first(p)"),
        (_FIRST, "package.vectorized(first)(p)"),
    ],
)
def test_what_a_function_makes_that_is_called_out_of_sight_stays(maker: str, made: str) -> None:
    program = f"import package\n{HEAD}{maker}def f(p, n):\n    return {made}.target\n"
    left = rewrite(program, "optax")
    assert left.endswith(f"    return {made}.target\n") and "FOC218: " in left
    assert "return optim.Adam(0.1).create(p)" in left


def test_averaged_gradients_have_to_be_written_out() -> None:
    program = (
        "import jax\nfrom flax import optim\n\n\ndef f(p, g):\n"
        "    o = optim.Adam(0.1).create(p).replicate()\n"
        "    step = jax.pmap(lambda o: o.apply_gradient({}), axis_name='batch')\n"
        "    return step(o).unreplicate().target\n"
    )
    left = rewrite(program.format("**{'grads': g}"), "optax")
    assert "# FOC206: The step averages its gradients, which are not written out" in left
    assert left.endswith("    return step(o).unreplicate().target\n")
    assert "jax.lax.pmean(g" in rewrite(program.format("grads=g"), "optax")


def test_a_text_with_an_optimizer_in_it_holds_nothing() -> None:
    program = f"{HEAD}{MADE}    print('%s' % a)\n    return a.target\n"
    assert rewrite(program, "optax").endswith("    print('%s' % a)\n    return a.params\n")


def test_a_loop_over_what_has_keys_gives_no_optimizer() -> None:
    top = (
        f"{_HOLDER}    def __iter__(self):\n        return iter(['a'])\n\n"
        "    def __getitem__(self, key):\n        return self.held\n"
    )
    loop = "    for x in Holder(a):\n        print(x.upper(), Holder(a)[x].target)\n"
    text = rewrite(f"{HEAD}{top}{MADE}{loop}", "optax")
    assert text.endswith("print(x.upper(), Holder(a)[x].params)\n")


@pytest.mark.parametrize(
    "registered",
    [
        "@of.register(optim.Optimizer)\ndef asked(model):\n    return model.target\n",
        "def asked(model):\n    return model.target\n\n\nof.register(optim.Optimizer, asked)\n",
        "of.register(optim.Optimizer)(lambda model: model.target)\n",
        "class Asks:\n    @functools.singledispatchmethod\n    def of(self, model):\n"
        "        return model\n\n    @of.register(optim.Optimizer)\n    def _(self, model):\n"
        "        return model.target\n",
    ],
)
def test_a_function_for_a_class_is_given_what_is_of_it(registered: str) -> None:
    top = f"@functools.singledispatch\ndef of(model):\n    return model\n\n\n{registered}"
    text = rewrite(f"{HEAD}{top}{MADE}    return of(a)\n", "optax")
    assert "model.params" in text and "register(train_state.TrainState" in text
    assert ".target" not in text
