from __future__ import annotations

import pytest

from flaxoptim_compat import from_nnx, to_nnx
from flaxoptim_compat.versions import allowed
from flaxoptim_compat.versions.allowed import refuse_old_nnx


@pytest.mark.parametrize("version", ["0.11.0", "0.11", "0.12.8", "1.0"])
def test_a_flax_of_today_passes(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(allowed, "version_of", lambda name: version)
    refuse_old_nnx("to_nnx")


@pytest.mark.parametrize("version", ["0.8.5", "0.10.7"])
def test_an_older_one_is_named_by_all_that_need_more(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(allowed, "version_of", lambda name: version)
    for function in (to_nnx, from_nnx):
        with pytest.raises(ImportError) as caught:
            function(None, None)  # type: ignore[arg-type]
        assert str(caught.value) == (
            f"{function.__name__} needs flax 0.11 or newer (here is {version}), whose nnx.Optimizer"
            " has wrt."
        )
