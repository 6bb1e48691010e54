"""The variables of each layer, of Flax 0.2.2 to 0.5.3, beside those of today."""

from __future__ import annotations

import json

import pytest
from flax import linen

from flaxoptim_compat import nn
from tests.generate.layers import RECORD
from tests.support.layers import Variables, layers_of_linen, layers_of_nn

RECORDED = json.loads(RECORD.read_text())
# {a layer of Linen: the first releases with other names, shapes or dtypes}; the guide has them.
CHANGED = {
    "GroupNorm": ["0.3.6"],
    "GroupNorm of sequences": ["0.3.6"],
    "GroupNorm of vectors": ["0.3.6"],
    "GroupNorm in bfloat16": ["0.3.6"],
    "Embed in bfloat16": ["0.4.0"],
    "remat": ["0.3.3"],
}


def today() -> dict[str, dict[str, Variables]]:
    return {"flax.linen": layers_of_linen(linen), "flax.nn": layers_of_nn(nn)}


def test_what_changed_and_when() -> None:
    def changed(module: str) -> dict[str, list[str]]:
        layers = RECORDED[module].items()
        return {name: [*since][1:] for name, since in layers if len(since) > 1}

    assert changed("flax.linen") == CHANGED
    assert changed("flax.nn") == {}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_today_they_are_as_in_flax_0_5_3() -> None:
    found = today()
    for module, layers in RECORDED.items():
        last = {name: [*since.values()][-1] for name, since in layers.items()}
        if module == "flax.linen":
            # The class is called otherwise since Flax 0.6.4, and so are its variables by default.
            last["ConvLSTM"] = {
                name.replace("ConvLSTM_0", "ConvLSTMCell_0"): variable
                for name, variable in last["ConvLSTM"].items()
            }
        assert {name: found[module][name] for name in last} == last
