"""An optimizer is followed through functions that a class has as attributes."""

from __future__ import annotations

import pytest

from tests.support.followed import assert_followed

IMPORTS = "import dataclasses\nimport functools\nimport jax\nfrom typing import Callable\n"
_GIVE = "def give(of):\n    return of\n\n\n"
_MADE = "def made(p):\n    return optim.Adam(0.3).create(p)\n\n\n"
_KEEP = "class Kept:\n    def __init__(self, of):\n        self._of = of\n\n"
# A class, and lines by which `x` is what its attribute gives.
LEADS = {
    "a method that is a lambda": (
        "class C:\n    give = lambda self, of: of\n",
        "x = C().give(a)",
    ),
    "a function that is none of the object": (
        f"{_GIVE}class C:\n    give = staticmethod(give)\n\n    def asked(self, of):\n"
        "        return self.give(of)\n",
        "x = C().asked(a) if n else C.give(a)",
    ),
    "a compiled function that is none of the object": (
        f"{_GIVE}class C:\n    give = staticmethod(jax.jit(give))\n",
        "x = C().give(a)",
    ),
    "a compiled method": (
        "class C:\n    def _give(self, of):\n        return of\n\n"
        "    give = jax.jit(_give, static_argnums=0)\n",
        "x = C().give(a)",
    ),
    "a function of the class": (
        "class C:\n    give = classmethod(lambda cls, of: cls.handed_on(of))\n\n"
        "    @staticmethod\n    def handed_on(of):\n        return of\n",
        "x = C.give(a)",
    ),
    "one that a derived class has": (
        f"{_GIVE}class C:\n    step = None\n\n    def asked(self, of):\n"
        "        return self.step(of)\n\n\nclass D(C):\n    step = staticmethod(give)\n",
        "x = D().asked(a)",
    ),
    "one that is asked of the class": (
        "class C:\n    def asked(self, of):\n        return type(self).step(of)\n\n\n"
        "class D(C):\n    step = lambda of: of\n",
        "x = D().asked(a)",
    ),
    "one that is assigned to the class": (
        "class C:\n    pass\n\n\nC.give = lambda self, of: of\n",
        "x = C().give(a)",
    ),
    "one that is assigned by its name": (
        "class C:\n    pass\n\n\nsetattr(C, 'give', lambda self, of: of)\n",
        "x = C().give(a)",
    ),
    "one that is assigned to an object": (
        f"{_GIVE}class C:\n    pass\n",
        "c = C()\n    c.give = give\n    x = c.give(a)",
    ),
    "the field of a dataclass": (
        f"{_MADE}@dataclasses.dataclass\nclass C:\n    made: Callable = made\n",
        "x = C().made(p)",
    ),
    "functions in a dict": (
        f"{_GIVE}class C:\n    every = {{'give': give}}\n",
        "x = C().every['give'](a)",
    ),
    "a property": (f"{_KEEP}    of = property(lambda self: self._of)\n", "x = Kept(a).of"),
    "a property that asks for what a derived class has": (
        "class C:\n    of = property(lambda self: self.made())\n\n\n"
        "class D(C):\n    def __init__(self, of):\n        self._of = of\n\n"
        "    def made(self):\n        return self._of\n",
        "x = D(a).of",
    ),
    "a property that is set": (
        f"{_KEEP}    def get(self):\n        return self._of\n\n"
        "    def put(self, of):\n        self._of = of\n\n    of = property(get, put)\n",
        "kept = Kept(None)\n    kept.of = a\n    x = kept._of",
    ),
    "the class of an object": (
        f"{_KEEP}    def again(self):\n        return type(self)(self._of)\n",
        "x = Kept(a).again()._of",
    ),
    "the class that an object names": (
        f"{_KEEP}    def again(self):\n        return self.__class__(of=self._of)\n",
        "x = Kept(a).again()._of",
    ),
}


@pytest.mark.parametrize("name", LEADS)
def test_it_is_followed(name: str) -> None:
    assert_followed(IMPORTS, *LEADS[name])
