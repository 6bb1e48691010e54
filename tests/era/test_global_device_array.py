"""``GlobalDeviceArray``: nothing is one, and making one says what to do."""

from __future__ import annotations

import pytest

from flaxoptim_compat.era import global_device_array
from tests.support.vectors import X


def test_there_is_no_global_device_array() -> None:
    assert not isinstance(X, global_device_array.GlobalDeviceArray)
    for make in (
        global_device_array.GlobalDeviceArray,
        global_device_array.GlobalDeviceArray.from_callback,
    ):
        with pytest.raises(NotImplementedError, match="make_array_from_callback"):
            make((2,), None, None, None)
