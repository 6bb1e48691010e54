"""Names of flax.optim in gin files."""

from __future__ import annotations

import pytest

from flaxoptim_compat.migrate.names.gin import names_in, names_in_string, renamed

NEW = "flaxoptim_compat.optim"
RENAMED = {
    "import flax.optim.adam as a": f"import {NEW}.adam as a",
    "from flax import optim": "from flaxoptim_compat import optim",
    "from flax.optim import adam": f"from {NEW} import adam",
    "a/b.c/flax.optim.adam.Adam.beta1 = 0.8": f"a/b.c/{NEW}.adam.Adam.beta1 = 0.8",
    "f.x = [@flax.optim.Adam(), @s/flax.optim.LAMB]": f"f.x = [@{NEW}.Adam(), @s/{NEW}.LAMB]",
    "flax.optim.Adam:\n  beta1 = 0.8": f"{NEW}.Adam:\n  beta1 = 0.8",
    "f.x = '#'  # flax.optim\nf.y = @flax.optim.Adam": (
        f"f.x = '#'  # flax.optim\nf.y = @{NEW}.Adam"
    ),
    "from __gin__ import dynamic_registration\nimport flax.optim\nflax.optim.Adam.eps = 1": (
        f"from __gin__ import dynamic_registration\nimport {NEW}\n{NEW}.Adam.eps = 1"
    ),
}
SAME = (
    "# flax.optim.Adam",
    "Adam.beta1 = 0.8\noptim.Adam.eps = 1",
    "my.flax.optim.Adam.eps = 1",
    "from flax import linen\nimport flax",
)
LEFT = {
    "f.x = 'flax.optim.Adam'": "Only the program knows",
    "f.x = %flax.optim.rate": "Only the program knows",
    "flax.optim.DynamicScale.scale = 1": "DynamicScale is in flax.training.dynamic_scale",
    "flax.optim.Mine.rate = 1": "flaxoptim_compat.optim has no Mine.rate",
    "from __gin__ import dynamic_registration\nimport flax\nflax.optim.Adam.eps = 1": (
        "Another import brings this"
    ),
}


@pytest.mark.parametrize("text", [*RENAMED, *SAME])
def test_names_in_gin_files(text: str) -> None:
    result = text
    for each in reversed(list(names_in(text))):
        assert each.new is not None and not each.reason
        result = f"{result[: each.start]}{each.new}{result[each.end :]}"
    assert result == RENAMED.get(text, text)
    assert list(names_in(result)) == []


@pytest.mark.parametrize("text", LEFT)
def test_what_is_not_certain_has_a_reason(text: str) -> None:
    (found,) = names_in(text)
    assert found.new is None and found.reason.startswith(LEFT[text])


def test_the_names_that_a_string_binds() -> None:
    assert names_in_string(
        "a/flax.optim.Adam.eps = 1\nf.x = @flax.optim.Adam, 'flax.optim.SGD'"
    ) == (
        "flax.optim.Adam.eps",
        "flax.optim.Adam",
    )
    assert names_in_string("flax.optim.Adam: the optimizer") == ()


def test_gin_knows_a_class_by_its_module_of_today() -> None:
    from flaxoptim_compat import optim

    # What gin.external_configurable(optim.Adam) registers, without a module of its own.
    module, name = optim.Adam.__module__, optim.Adam.__name__
    assert renamed("flax.optim.adam.Adam") == f"{module}.{name}"
