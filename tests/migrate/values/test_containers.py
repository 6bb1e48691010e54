"""An optimizer is followed through Python's containers, iterators and functions on them."""

from __future__ import annotations

import pytest

from tests.support.rewriting_texts import rewrite

HEAD = (
    "import collections\nimport functools\nimport itertools\nimport queue\nimport random\n\n"
    "import jax\nfrom flax import core, optim, traverse_util\n\n\n"
    "def f(p, g, n):\n"
    "    a = optim.Adam(0.1).create(p)\n"
    "    b = optim.GradientDescent(0.2).create(p)\n"
)
# Lines by which `x` is a, or b.
LEADS = {
    "dict of zip": "x = dict(zip('ab', [a, b]))['a']",
    "dict of pairs": "x = dict([('a', a), ('b', b)])['b']",
    "dict of a dict": "x = dict({'a': a})['a']",
    "dict of a sorted dict": "x = dict(sorted({'a': a}.items()))['a']",
    "dict with keywords": "x = dict({'a': 1}, b=a)['b']",
    "dict of keys": "x = dict.fromkeys('ab', a)['a']",
    "an empty dict": "d = dict()\n    d['a'] = a\n    x = d['a']",
    "a copy of a dict that was empty": "d = dict({})\n    d['a'] = a\n    x = d['a']",
    "dicts behind each other": "d = collections.ChainMap({}, {'a': a})\n    x = d['a']",
    "one dict and another": "x = ({'a': a} | n)['a']",
    "a dict that takes in another": "d = {}\n    d |= {'a': a}\n    x = d['a']",
    "a list that takes in another": "c, d = [], [a]\n    c += d\n    x = c[0]",
    "a slice that is assigned to": "d = [n, n]\n    d[:1] = [a]\n    x = d[0]",
    "what a generator returns": (
        "def give(of):\n        yield n\n        return of\n\n    def whole(of):\n"
        "        got = yield from give(of)\n        yield got\n    x = list(whole(a))[1]"
    ),
    "calls until there is nothing": "for x in iter(lambda: a if n else None, None):\n        pass",
    "a FrozenDict": "x = core.freeze({'a': a})['a']",
    "a flat dict": "x = traverse_util.flatten_dict({'a': {'b': a}})['a', 'b']",
    "what is returned beside a gradient": ("_, x = jax.grad(lambda p: (p, a), has_aux=True)(p)"),
    "what is returned beside a value and a gradient": (
        "(_, x), _ = jax.value_and_grad(lambda p: (p, a), has_aux=True)(p)"
    ),
    "an OrderedDict": "d = collections.OrderedDict()\n    d['a'] = a\n    x = d.popitem()[1]",
    "a defaultdict": "d = collections.defaultdict(list)\n    d['a'].append(a)\n    x = d['a'][0]",
    "a defaultdict of ours": "d = collections.defaultdict(lambda: a)\n    x = d['a']",
    "a deque": "d = collections.deque(maxlen=2)\n    d.append(a)\n    x = d[-1]",
    "a deque of some": "d = collections.deque([a], 2)\n    d.extendleft([b])\n    x = d.pop()",
    "a queue": "q = queue.Queue()\n    q.put((n, a))\n    _, x = q.get()",
    "an update with a dict": "d = {}\n    d.update({'a': a})\n    x = d['a']",
    "an update with pairs": "d = {}\n    d.update(zip('ab', [a, b]))\n    x = d['a']",
    "an update with keywords": "d = {}\n    d.update(a=a, **{'b': b})\n    x = d['b']",
    "what a queue takes at once": "q = queue.Queue()\n    q.put(a, False)\n    x = q.get(True)",
    "what is inserted": "d = [b]\n    d.insert(0, a)\n    x = d[0]",
    "an optimizer again and again": "for i, x in zip(g, itertools.repeat(a)):\n        pass",
    "a default": "x = {'a': a}.get(n, b)",
    "an attribute of a function": (
        "def g2():\n        g2.o = g2.o.apply_gradient(g)\n    g2.o = a\n    g2()\n    x = g2.o"
    ),
    "a default of an attribute": "x = getattr(n, 'trained', a)",
    "items": "for name, x in {'a': a}.items():\n        pass",
    "sorted items": "for name, x in sorted({'a': a}.items()):\n        pass",
    "sorted by a key": "x, _ = sorted([(a, 1), (b, 2)], key=lambda pair: pair[1])[0]",
    "values": "x = list({'a': a}.values())[0]",
    "enumerate": "x = [o for _, o in enumerate([a, b])][0]",
    "enumerate of zip": "for i, (x, y) in enumerate(zip([a], [b])):\n        pass",
    "list of zip": "x = list(zip([a], [b]))[0][1]",
    "unpacked zip": "(x,), _ = zip((a, b))",
    "map": "x, y = map(lambda o: o.apply_gradient(g), [a, b])",
    "filter": "x = list(filter(lambda o: o.state.step > 1, [a, b]))[0]",
    "reduce": "x = functools.reduce(lambda o, each: o.apply_gradient(each), g, a)",
    "reduce without a start": "x = functools.reduce(lambda one, other: other, [a, b])",
    "chain": "x = [*itertools.chain([a], {'b': b}.values())][0]",
    "chain of an iterable": "x = next(itertools.chain.from_iterable([[a], [b]]))",
    "next": "x = next(o for o in (a, b))",
    "next, or something else": "x = next((o for o in (a,)), b)",
    "reversed": "x = [*reversed((a, b))][0]",
    "sorted by two": (
        "x = sorted([a, b], key=functools.cmp_to_key(lambda a, b: a.target - b.target))[0]"
    ),
    "the best": "x = max([a, b], key=lambda o: o.target['w'])",
    "the better": "x = min(a, b, key=lambda o: o.target['w'])",
    "one of them": "x = random.choice([a, b])",
    "the rest": "first, *rest, last = [a, b, a, b]\n    x = rest[0]",
    "what comes after the rest": "*rest, x = [a, b]",
    "lists that are added": "x = ([a] + [b])[1]",
    "slices that are added": "d = [a, b]\n    x = (d[1:] + d[:1])[0]",
    "tuples that are added": "x = (tuple(g) + tuple([a]) + tuple(g))[1]",
    "a list more often": "x = ([a] * n)[1]",
    "a list that becomes longer": "d = []\n    d += [a]\n    x = d[0]",
    "a named tuple": ("State = collections.namedtuple('State', 'o, n')\n    x = State(a, n=1).o"),
    "a named tuple by index": (
        "State = collections.namedtuple('State', ['n', 'o'])\n    x = State(1, a)[1]"
    ),
    "a named tuple that is unpacked": (
        "State = collections.namedtuple('State', ('n', 'o'))\n    n, x = State(o=a, n=1)"
    ),
    "a named tuple as a dict": (
        "import typing\n    class State(typing.NamedTuple):\n        o: object\n"
        "    x = State(a)._asdict()['o']"
    ),
    "a loop over a named tuple": (
        "import typing\n    class State(typing.NamedTuple):\n        o: object\n"
        "    for x in State(a):\n        pass"
    ),
    "a named tuple that is derived from one of its name": (
        "import typing\n    class State(typing.NamedTuple):\n        n: int\n        o: object\n"
        "    class State(State):\n        pass\n    n, x = State(1, a)"
    ),
    "keywords for keywords": (
        "def g2(**several):\n        return several['a']\n    d = {'a': a}\n    x = g2(**d)"
    ),
    "keywords for a dataclass": (
        "from flax import struct\n"
        "    class State(struct.PyTreeNode):\n        o: object\n"
        "    d = {'o': a}\n    x = State(**d).o"
    ),
}


@pytest.mark.parametrize("name", LEADS)
def test_it_is_followed(name: str) -> None:
    text = rewrite(f"{HEAD}    {LEADS[name]}\n    return x.target\n", "optax")
    assert text.endswith("    return x.params\n")
    assert ".target" not in text and ".state" not in text


def test_where_an_attribute_shows_that_it_is_no_container() -> None:
    program = (
        f"from typing import Dict\n{HEAD}    return g2(a)\n\n\n"
        "def g2(x: Dict[str, object]):\n    return x.target, x.keys()\n"
    )
    assert rewrite(program, "optax").endswith("    return x.params, x.keys()\n")


@pytest.mark.parametrize("loop", ["d", "sorted(d)", "list(d)", "d.keys()"])
def test_a_loop_over_a_dict_gives_no_optimizer(loop: str) -> None:
    program = f"{HEAD}    d = {{'a': a}}\n    return [(x.upper(), d[x].target) for x in {loop}]\n"
    assert rewrite(program, "optax").endswith(f"[(x.upper(), d[x].params) for x in {loop}]\n")


LOST = {
    "into an object that is not read": (
        "store = some_package.Store()\n    store.add(a)\n",
        "store.get()",
        "An optimizer is put into `store`, of which nothing is known",
    ),
    "into an array": (
        "store = np.empty(2, dtype=object)\n    store[0] = a\n",
        "store[0]",
        "An optimizer is put into `store`, of which nothing is known",
    ),
    "into an array that is made of it": (
        "store = np.array([a, b])\n",
        "store[0]",
        "`np.array([a, b])` may give an object that holds an optimizer to",
    ),
}


@pytest.mark.parametrize("name", LOST)
def test_where_it_is_lost_is_the_line_to_change(name: str) -> None:
    put, taken, reason = LOST[name]
    program = f"import numpy as np\nimport some_package\n{HEAD}    {put}"
    left = rewrite(f"{program}    return {taken}.target\n", "optax")
    assert f"# FOC218: {reason}" in left and left.endswith(f"return {taken}.target\n")
    named = f"{program}    optimizer = {taken}\n    return optimizer.target\n"
    moved = "np.array" not in put
    assert rewrite(named, "optax").endswith("return optimizer.params\n") is moved


@pytest.mark.parametrize("where", ["some_package.get()", "g[0]", "g['a']()"])
def test_what_takes_gradients_is_an_optimizer_wherever_it_comes_from(where: str) -> None:
    text = rewrite(f"import some_package\n{HEAD}    return {where}.apply_gradient(g)\n", "optax")
    assert text.endswith(f"return {where}.apply_gradients(grads=g)\n")
