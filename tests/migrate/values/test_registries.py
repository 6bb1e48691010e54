"""A function that a decorator puts somewhere is followed to who finds and calls it there."""

from __future__ import annotations

import pytest

from tests.support.rewriting_texts import rewrite

_MAKES = "\ndef one(p):\n    return optim.Adam(0.1).create(p)\n\n\n"
_RESULTS = "def f(p):\n    return [make(p).target for make in {}]\n"
_CLASS = "class Registry:\n    found = []\n\n"
# A registry with the decorator that fills it, and the functions in it.
REGISTRIES = {
    "a list": (
        "REG = []\n\n\ndef register(made):\n    REG.append(made)\n    return made\n\n\n@register",
        "REG",
    ),
    "a dict": (
        "REG = {}\n\n\ndef register(made):\n    REG[made.__name__] = made\n    return made\n\n\n"
        "@register",
        "REG.values()",
    ),
    "a dict under names": (
        "REG = {}\n\n\ndef register(name):\n    def put(made):\n        REG[name] = made\n"
        "        return made\n    return put\n\n\n@register('one')",
        "[REG['one']]",
    ),
    "an object": (
        "class Registry:\n    def __init__(self):\n        self.items = {}\n\n"
        "    def register(self, made):\n        self.items[made.__name__] = made\n"
        "        return made\n\n\nREG = Registry()\n\n\n@REG.register",
        "REG.items.values()",
    ),
    "an object, with a name": (
        "class Registry:\n    def __init__(self):\n        self.items = {}\n\n"
        "    def register(self, name=None):\n        def put(made):\n"
        "            self.items[name or made.__name__] = made\n            return made\n"
        "        return put\n\n\nREG = Registry()\n\n\n@REG.register()",
        "REG.items.values()",
    ),
    "a dict of its own": (
        "class Registry(dict):\n    def register(self, made):\n"
        "        self[made.__name__] = made\n        return made\n\n\nREG = Registry()\n\n\n"
        "@REG.register",
        "REG.values()",
    ),
    "a class": (
        f"{_CLASS}    @classmethod\n    def register(cls, made):\n        cls.found.append(made)\n"
        "        return made\n\n\n@Registry.register",
        "Registry.found",
    ),
    "a decorator with and without arguments": (
        "REG = []\n\n\ndef register(made=None, *, tag=''):\n    if made is None:\n"
        "        return functools.partial(register, tag=tag)\n    REG.append(made)\n"
        "    return made\n\n\n@register(tag='first')",
        "REG",
    ),
}


@pytest.mark.parametrize("name", REGISTRIES)
def test_it_is_followed(name: str) -> None:
    registry, functions = REGISTRIES[name]
    results = _RESULTS.format(functions)
    program = f"import functools\n\nfrom flax import optim\n\n\n{registry}{_MAKES}{results}"
    assert rewrite(program, "optax").endswith(results.replace(".target", ".params"))


def test_what_finds_a_function_around_it_holds_it() -> None:
    program = (
        "from flax import optim\n\nREG = []\n\n\ndef register(made):\n    def around(*args):\n"
        "        return made(*args)\n    REG.append(around)\n    return around\n\n\n@register"
        f"{_MAKES}{_RESULTS.format('REG')}"
    )
    left = rewrite(program, "optax")
    assert "# FOC218: `@register` makes something unknown" in left
    assert left.endswith(_RESULTS.format("REG"))


def test_a_decorator_that_is_made_of_itself() -> None:
    program = (
        "import functools\nfrom flax import optim\n\n\ndef same(made, n=0):\n    return made\n\n\n"
        f"for n in range(3):\n    same = functools.partial(same, n=n)\n\n\n@same{_MAKES}"
        "def f(p):\n    return one(p).target\n"
    )
    assert rewrite(program, "optax").endswith("    return one(p).params\n")


_MADE = "def made(p):\n    return optim.Adam(0.1).create(p)\n"
_TRAINER = (
    "class Trainer:\n    def __init__(self, p):\n        self.o = optim.Adam(0.1).create(p)\n\n"
    "    def step(self):\n        return self.o\n"
)


@pytest.mark.parametrize(("made", "asked"), [(_MADE, ""), (_TRAINER, ".step()")])
def test_a_registry_of_a_package_holds_what_it_may_give(made: str, asked: str) -> None:
    program = (
        "import package\nfrom flax import optim\n\nregistry = package.Registry()\n\n\n"
        f"@registry.register('adam')\n{made}\n\n"
        f"def f(p, name):\n    return registry.get(name)(p){asked}.target\n"
    )
    left = rewrite(program, "optax")
    assert "# FOC218: `@registry.register('adam')` makes something unknown" in left
    assert left.endswith(".target\n") and "optim.Adam(0.1).create(p)" in left


def test_a_base_that_is_not_read_may_ask_methods_for_optimizers() -> None:
    program = (
        "import package\nfrom flax import optim\n\n\nclass Mine(package.Template):\n"
        "    def make(self, p):\n        return optim.Adam(0.1).create(p)\n\n"
        "    def report(self, model):\n        print(model.target)\n\n\n"
        "def f(p):\n    return Mine().make(p).target\n"
    )
    left = rewrite(program, "optax")
    assert "# FOC218: The class `package.Template` may call a method" in left
    assert left.endswith("Mine().make(p).target\n")
    assert "params" in rewrite(program.replace("(package.Template)", ""), "optax")
