"""An optimizer is followed through classes derived from Python's containers, and generic ones."""

from __future__ import annotations

import pytest

from tests.support.followed import FLAX, MADE, assert_followed, assert_left
from tests.support.rewriting_texts import rewrite

IMPORTS = (
    "import attr\nimport collections\nimport dataclasses\n"
    "from typing import Any, Dict, Generic, TypeVar\n\n"
    "T = TypeVar('T')\n"
)
HEAD = f"{IMPORTS}{FLAX}"
_ATTRIBUTES = "class D(dict):\n    __getattr__ = dict.__getitem__\n"
_HOLDER = "class Base(Generic[T]):\n    def __init__(self, held):\n        self.held = held\n\n\n"
# A class, and lines by which `x` is what it gives.
LEADS = {
    "a list": ("class L(list):\n    pass\n", "x = L([a])[0]"),
    "a loop over a list": ("class L(list):\n    pass\n", "for x in L([a, b]):\n        pass"),
    "what a list is appended": (
        "class L(list):\n    def add(self, value):\n        self.append(value)\n",
        "several = L()\n    several.add(a)\n    x = several.pop()",
    ),
    "what its own method appends": (
        "class L(list):\n    def append(self, value):\n        super().append((0, value))\n",
        "several = L()\n    several.append(a)\n    x = several[0][1]",
    ),
    "a tuple with a name for an entry": (
        "class T(tuple):\n    @property\n    def first(self):\n        return self[0]\n",
        "x = T((a, n)).first",
    ),
    "a dict of keywords": ("class D(dict):\n    pass\n", "x = D(a=a, n=n)['a']"),
    "a dict of a dict": ("class D(dict):\n    pass\n", "x = D({'a': a})['a']"),
    "a dict that is changed": (
        "class D(dict):\n    pass\n",
        "d = D()\n    d.update({'a': b})\n    d['a'] = a\n    x = d.get('a')",
    ),
    "values": ("class D(dict):\n    pass\n", "for x in D(a=a).values():\n        pass"),
    "items": ("class D(dict):\n    pass\n", "for _, x in D(a=a).items():\n        pass"),
    "a copy": ("class D(dict):\n    pass\n", "x = D(a=a).copy()['a']"),
    "an attribute": (_ATTRIBUTES, "x = D(a=a).a"),
    "an attribute that a method looks up": (
        "class D(dict):\n    def __getattr__(self, name):\n        return self[name]\n",
        "x = D(a=a).a",
    ),
    "an attribute that is assigned to": (
        f"{_ATTRIBUTES}    __setattr__ = dict.__setitem__\n",
        "d = D()\n    d.a = a\n    x = d['a']",
    ),
    "an object that is its own attributes": (
        "class D(dict):\n    def __init__(self, *args, **kwargs):\n"
        "        super().__init__(*args, **kwargs)\n        self.__dict__ = self\n",
        "x = D({'n': n}, a=a).a",
    ),
    "what a constructor hands on": (
        f"{_ATTRIBUTES}\n    def __init__(self, held):\n"
        "        dict.__init__(self, {'a': held, 'n': 0})\n",
        "x = D(a).a",
    ),
    "a class derived from such a class": (
        f"{_ATTRIBUTES}\n\nclass E(D):\n    pass\n",
        "x = E(a=a).a",
    ),
    "brackets of its own": (
        "class D(dict):\n    def __getitem__(self, key):\n"
        "        return super().__getitem__(key.lower())\n",
        "x = D(a=a)['A']",
    ),
    "a method of dicts by its name": (
        "class D(dict):\n    def __getitem__(self, key):\n"
        "        return dict.__getitem__(self, key.lower())\n",
        "x = D(a=a)['A']",
    ),
    "an OrderedDict": (
        "class D(collections.OrderedDict):\n    pass\n",
        "x = D([('a', a)])['a']",
    ),
    "a UserDict": (
        "class D(collections.UserDict):\n    def last(self):\n        return self.data['a']\n",
        "d = D()\n    d['a'] = a\n    x = d.last()",
    ),
    "a dict whose entries are named": ("class D(Dict[str, Any]):\n    pass\n", "x = D(a=a)['a']"),
    "a class with the methods of a mapping": (
        "class D(collections.abc.MutableMapping):\n    def __init__(self):\n        self.d = {}\n\n"
        "    def __getitem__(self, key):\n        return self.d[key]\n\n"
        "    def __setitem__(self, key, value):\n        self.d[key] = value\n",
        "d = D()\n    d['a'] = a\n    for _, x in d.items():\n        pass",
    ),
    "a named tuple with a method": (
        "class T(collections.namedtuple('T', 'held n')):\n    def first(self):\n"
        "        return self.held\n",
        "x = T(a, n).first()",
    ),
    "a dataclass derived from another": (
        "@dataclasses.dataclass\nclass B:\n    n: int\n\n\n"
        "@dataclasses.dataclass\nclass C(B):\n    held: Any = None\n",
        "x = C(n, a).held",
    ),
    "what a dataclass is given to begin with": (
        "@dataclasses.dataclass\nclass C:\n    of: dataclasses.InitVar[Any]\n    n: int = 0\n\n"
        "    def __post_init__(self, of):\n        self.held = of\n",
        "x = C(a, n).held",
    ),
    "a class of attrs": (
        "@attr.s\nclass C:\n    n = attr.ib()\n    held = attr.ib(default=None)\n",
        "x = C(n, a).held",
    ),
    "a generic class": (_HOLDER, "x = Base[int](a).held"),
    "a class derived from a generic one": (
        f"{_HOLDER}class Mine(Base[int]):\n    def first(self):\n        return self.held\n",
        "x = Mine(a).first()",
    ),
    "an annotation": (
        f"{_HOLDER}def first(of: Base[int]):\n    return of.held\n\n\ndef given(function, *args):\n"
        "    return function(*args)\n",
        "x = given(first, Base(a))",
    ),
}


@pytest.mark.parametrize("name", LEADS)
def test_it_is_followed(name: str) -> None:
    assert_followed(IMPORTS, *LEADS[name])


def test_what_a_class_of_settings_has_beside_an_optimizer_is_none() -> None:
    text = rewrite(
        f"{HEAD}{_ATTRIBUTES}{MADE}    d = D({{'a': a, 'n': n}}, g=g)\n"
        "    return d.a.target, d.n.target, d.g.state\n",
        "optax",
    )
    assert text.endswith("return d.a.params, d.n.target, d.g.state\n")


def test_what_is_asked_for_by_a_method_is_what_has_the_key() -> None:
    text = rewrite(
        f"{HEAD}{_ATTRIBUTES}{MADE}    d = D({{'a': a, 'sub': D(n=n)}})\n"
        "    return d.get('a').target, d.get('sub').n, d.pop('a', None).target\n",
        "optax",
    )
    assert text.endswith("return d.get('a').params, d.get('sub').n, d.pop('a', None).params\n")


# A class, lines that lose an optimizer, and the reason that is given for it.
LOST = {
    "a class that keeps things in its own way": (
        "import package\n\n\nclass Kept(package.Box):\n    pass\n",
        "kept = Kept()\n    kept['a'] = a\n    x = kept['a']",
        "An optimizer is put into `kept`, of which nothing is known",
    ),
    "a class of which the base is not known": (
        "class Base:\n    def __init__(self, held):\n        self.held = held\n\n\n"
        "class Mine(globals()['Ba' + 'se']):\n    def asked(self):\n"
        "        return self.held.target\n",
        "Base(a)\n    x = Mine(a).held",
        "This may be the field `held` of a `Base`",
    ),
    "a class whose objects get fields by names that are not seen": (
        "class Base:\n    def __init__(self, held):\n        self.held = held\n\n\n"
        "class Mine:\n    def __init__(self, **fields):\n        vars(self).update(fields)\n\n"
        "    def asked(self):\n        return self.held.target\n",
        "x = Mine(held=Base(a).held).held",
        "This may be the field `held` of a `Base`",
    ),
}


@pytest.mark.parametrize("name", LOST)
def test_where_it_is_not_followed_it_stays(name: str) -> None:
    assert_left(IMPORTS, *LOST[name])
