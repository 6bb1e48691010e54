"""An optimizer is followed to where it is used, or stays where the text does not show its way."""

from __future__ import annotations

import pytest

from tests.support.rewriting_texts import rewrite, rewrite_all, why_dual

IMPORTS = (
    "import collections\nimport dataclasses\nimport functools\nimport itertools\nimport random\n"
    "from typing import Callable, NamedTuple\n\nimport jax\nimport numpy as np\nimport package\n"
    "from flax import core, struct\n"
)
HEAD = f"{IMPORTS}from flax import optim\n\n\n"
MADE = """

def f(p, g, n):
    a = optim.Adam(0.1).create(p)
    b = optim.GradientDescent(0.2).create(p)
"""
_GIVE = "def give(of):\n    return of\n\n\n"
_KEEP = "class Kept:\n    def __init__(self, of=None):\n        self.of = of\n\n"
_NAMED = "class State(NamedTuple):\n    n: int\n    o: object\n"
# A class or function, and lines by which `x` is `a` or `b`.
FOLLOWED = {
    # Dicts
    "dict of pairs": ("", "x = dict([('a', a), ('b', b)])['b']"),
    "dict of a dict": ("", "x = dict({'a': a})['a']"),
    "one dict and another": ("", "x = ({'a': a} | n)['a']"),
    "a dict that takes in another": ("", "d = {}\n    d |= {'a': a}\n    x = d['a']"),
    "an OrderedDict": ("", "d = collections.OrderedDict()\n    d['a'] = a\n    x = d['a']"),
    "an update with pairs": ("", "d = {}\n    d.update(zip('ab', [a, b]))\n    x = d['a']"),
    "an update with keywords": ("", "d = {}\n    d.update(a=a, **{'b': b})\n    x = d['b']"),
    "a default": ("", "x = {'a': a}.get(n, b)"),
    "items": ("", "for name, x in {'a': a}.items():\n        pass"),
    "values": ("", "x = list({'a': a}.values())[0]"),
    "functions in a dict": (
        f"{_GIVE}class C:\n    every = {{'give': give}}\n",
        "x = C().every['give'](a)",
    ),
    # Variables
    "what a loop goes on with": (
        "",
        "x = a\n    for _ in range(3):\n        x = x.apply_gradient(g)\n    else:\n        x = x",
    ),
    "an assignment in a condition": ("", "if (x := a) is not None:\n        pass"),
    "what a try assigns": ("", "x = a\n    try:\n        x = b\n    finally:\n        n()"),
    # Lists and tuples
    "a list that takes in another": ("", "c, d = [], [a]\n    c += d\n    x = c[0]"),
    "what is inserted": ("", "d = [b]\n    d.insert(0, a)\n    x = d[0]"),
    "sorted by a key": ("", "x = sorted([a, b], key=lambda o: o.target['w'])[0]"),
    "enumerate of zip": ("", "for i, (x, y) in enumerate(zip([a], [b])):\n        pass"),
    "next": ("", "x = next(o for o in (a, b))"),
    "next, or something else": ("", "x = next((o for o in (a,)), b)"),
    "reversed": ("", "x = [*reversed((a, b))][0]"),
    "what comes after the rest": ("", "*rest, x = [a, b]"),
    "lists that are added": ("", "x = ([a] + [b])[1]"),
    "a list more often": ("", "x = ([a] * n)[1]"),
    "a named tuple": (_NAMED, "x = State(1, a).o"),
    "a named tuple that is unpacked": (_NAMED, "n, x = State(1, a)"),
    "an entry of a named tuple": (_NAMED, "x = State(1, a)[n]"),
    "a named tuple of keywords in a dict": (_NAMED, "d = {'n': 1, 'o': a}\n    x = State(**d).o"),
    # Calls
    "keywords for keywords": (
        "def one(**several):\n    return several['a']\n",
        "d = {'a': a}\n    x = one(**d)",
    ),
    "a keyword that only another of the functions takes": (
        "def one(of):\n    return of\n\n\ndef two(of, scale):\n    return of\n",
        "x = {'one': one, 'two': two}[n](of=a, scale=1)",
    ),
    "what comes behind a star of a partial function": (
        "def third(n, m, of):\n    return of\n",
        "x = functools.partial(third, *[1, 2])(a)",
    ),
    "what an object of a package restores": ("", "x = package.manager().restore(a)"),
    "an operator of an object": (_KEEP, "x = (Kept(a) | n).of"),
    # Classes
    "a compiled method": (
        "class C:\n    def _give(self, of):\n        return of\n\n"
        "    give = jax.jit(_give, static_argnums=0)\n",
        "x = C().give(a)",
    ),
    "a function that is assigned to an object": (
        f"{_GIVE}class C:\n    pass\n",
        "c = C()\n    c.give = give\n    x = c.give(a)",
    ),
    "a function in a field of a dataclass": (
        "def made(p):\n    return optim.Adam(0.3).create(p)\n\n\n"
        "@dataclasses.dataclass\nclass C:\n    made: Callable = made\n",
        "x = C().made(p)",
    ),
    "a property": (
        f"{_KEEP}    @property\n    def it(self):\n        return self.of\n",
        "x = Kept(a).it",
    ),
    "brackets": (
        f"{_KEEP}    def __getitem__(self, key):\n        return self.of\n",
        "x = Kept(a)[n]",
    ),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_it_is_followed(name: str) -> None:
    top, lines = FOLLOWED[name]
    text = rewrite(f"{HEAD}{top}{MADE}    {lines}\n    return x.target\n", "optax")
    assert "return x.params\n" in text, text
    assert ".target" not in text and "apply_gradient(" not in text, text


# What goes some way that has no code of its own: not a line of it may be rewritten alone.
LEFT = {
    "a property that is set": (
        f"{_KEEP}    @property\n    def it(self):\n        return self.of\n\n"
        "    @it.setter\n    def it(self, of):\n        self.of = of\n",
        "kept = Kept()\n    kept.it = a\n    x = kept.it",
    ),
    "one of them": ("", "x = random.choice([a, b])"),
    "the best": ("", "x = max([a, b], key=lambda o: o.target['w'])"),
    "into an array": ("", "d = np.empty(2, dtype=object)\n    d[0] = a\n    x = d[0]"),
    "into an object of a package": ("", "d = package.Kept()\n    d.add(a)\n    x = d.get()"),
    "a function of a package": ("", "x = package.wrapped(a)"),
    "a class of which the base is not read": ("class C(package.Kept):\n    pass\n", "x = C(a).of"),
    "a named tuple that is made by a call": (
        "State = collections.namedtuple('State', 'n, o')\n",
        "x = State(1, a).o",
    ),
    "brackets that are assigned to": (
        f"{_KEEP}    def __setitem__(self, key, value):\n        self.of = value\n",
        "d = Kept()\n    d[n] = a\n    x = d.of",
    ),
    "a function in a class that is made of another": (
        f"{_GIVE}class C:\n    give = staticmethod(give)\n",
        "x = C().give(a)",
    ),
    "map": ("", "x = [*map(lambda o: o.apply_gradient(g), [a])][0]"),
    "a field that is set by its name": (_KEEP, "k = Kept()\n    setattr(k, 'of', a)\n    x = k.of"),
    "an exception": (
        "class Found(Exception):\n    pass\n",
        "try:\n        raise Found(a)\n    except Found as found:\n        x = found.args[0]",
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_where_it_is_not_followed_it_is_dual(name: str) -> None:
    top, lines = LEFT[name]
    program = f"{HEAD}{top}{MADE}    {lines}\n    return x.target\n"
    assert why_dual(program)[0].code.startswith("FOC21")
    left = rewrite(program, "optax")
    assert "a = dual(optim.Adam(0.1), inject=False).create(p)" in left, left
    assert left.endswith("return x.target\n"), left


@pytest.mark.parametrize("made", ["package.vectorized(first)(p)", "package.call(first, p)"])
def test_what_a_function_makes_that_is_called_out_of_sight_is_dual(made: str) -> None:
    first = "def first(p):\n    return optim.Adam(0.1).create(p)\n\n\n"
    program = f"{HEAD}{first}def f(p, n):\n    return {made}.target\n"
    left = rewrite(program, "optax")
    assert left.endswith(f"    return {made}.target\n") and why_dual(program)[0].code == "FOC218"
    assert "return dual(optim.Adam(0.1), inject=False).create(p)" in left


def test_a_function_of_jax_that_may_call_one_with_it_makes_it_dual() -> None:
    show = "def show(each):\n    print(each.target)\n"
    program = f"{HEAD}{show}{MADE}    jax.somehow(show, a)\n"
    assert why_dual(program)[-1].reason.startswith("`jax.somehow")
    left = rewrite(program, "optax")
    assert "dual(optim.Adam(0.1), inject=False)" in left and "print(each.target)" in left


@pytest.mark.parametrize("loop", ["sorted(d)", "d.keys()"])
def test_a_loop_over_a_dict_gives_no_optimizer(loop: str) -> None:
    asked = "    d = {'a': a}\n    return [(x.upper(), d[x].target) for x in {}]\n"
    text = rewrite(f"{HEAD[:-2]}{MADE}{asked.replace('{}', loop)}", "optax")
    assert text.endswith(f"[(x.upper(), d[x].params) for x in {loop}]\n")


@pytest.mark.parametrize("where", ["package.get()", "g[0]"])
def test_what_takes_gradients_is_an_optimizer_wherever_it_comes_from(where: str) -> None:
    text = rewrite(f"{HEAD[:-2]}{MADE}    return {where}.apply_gradient(g)\n", "optax")
    assert text.endswith(f"return {where}.apply_gradients(grads=g)\n")


def test_averaged_gradients_have_to_be_written_out() -> None:
    program = (
        "import jax\nfrom flax import optim\n\n\ndef f(p, g):\n"
        "    o = optim.Adam(0.1).create(p).replicate()\n"
        "    step = jax.pmap(lambda o: o.apply_gradient({}), axis_name='batch')\n"
        "    return step(o).unreplicate().target\n"
    )
    (why,) = why_dual(program.format("**{'grads': g}"))
    assert why.reason.startswith("The step averages its gradients, which are not written out")
    left = rewrite(program.format("**{'grads': g}"), "optax")
    assert "o.apply_gradient(**{'grads': g})" in left and "dual(optim.Adam(0.1))" in left
    assert left.endswith("    return step(o).unreplicate().params\n")
    assert "jax.lax.pmean(g" in rewrite(program.format("grads=g"), "optax")


def test_a_text_with_an_optimizer_in_it_holds_nothing() -> None:
    text = rewrite(f"{HEAD[:-2]}{MADE}    print('%s' % a)\n    return a.target\n", "optax")
    assert text.endswith("    print('%s' % a)\n    return a.params\n")


METHOD = "class Mine:\n    @staticmethod\n    def made():\n        return optim.Adam(0.1)\n"
FROM_ANOTHER_FILE = {
    "a variable of another file": ("made = optim.Adam(0.1)\n", "settings.made"),
    "a field of an instance": ("class Mine:\n    made = optim.Adam(0.1)\n", "settings.Mine().made"),
    "a function in a class, which takes nothing": (
        METHOD.replace("    @staticmethod\n", "") + "\n\nclass Other(Mine):\n    pass\n",
        "settings.Other.made()",
    ),
}


@pytest.mark.parametrize("name", FROM_ANOTHER_FILE)
def test_what_comes_from_another_file(name: str) -> None:
    made, used = FROM_ANOTHER_FILE[name]
    train = (
        f"import settings\n\n\ndef train(params, grads):\n    optimizer = {used}.create(params)\n"
        "    return optimizer.apply_gradient(grads).target\n"
    )
    rewritten = rewrite_all(
        {"settings": f"from flax import optim\n\n\n{made}", "train": train}, "optax"
    )
    assert "optax.adam(0.1)" in rewritten["settings"]
    assert f"tx={used}," in rewritten["train"]
    assert "return optimizer.apply_gradients(grads=grads).params" in rewritten["train"]
