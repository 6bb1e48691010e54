"""Event files written without TensorFlow say what those of Flax and TensorFlow say."""

from __future__ import annotations

import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest
from tensorboardX.proto.plugin_hparams_pb2 import HParamsPluginData

from flaxoptim_compat.legacy.stand_ins.flax_tensorboard import SummaryWriter
from tests.data.goldens import DIRECTORY
from tests.support.event_files import content, only_file, read
from tests.support.summaries import calls

CALLS = list(calls())


@pytest.fixture(scope="module")
def golden():
    """What Flax 0.12.8 wrote with TensorFlow 2.21 for the same calls."""
    events = read(DIRECTORY / "summaries.tfevents")
    assert len(events) == len(CALLS)
    return events


@pytest.mark.parametrize("index", range(len(CALLS)))
def test_every_call_writes_what_flax_wrote(index, golden, tmp_path):
    method, positional, named = CALLS[index]
    writer = SummaryWriter(tmp_path)
    getattr(writer, method)(*positional, **named)
    (event,) = read(only_file(tmp_path))
    (ours,), (theirs,) = event.summary.value, golden[index].summary.value
    assert (event.step, ours.tag) == (golden[index].step, theirs.tag)
    np.testing.assert_equal(content(ours), content(theirs))  # NaN equals NaN
    if method == "hparams":
        assert hparams(ours) == hparams(theirs)
    else:
        assert ours.metadata == theirs.metadata
    writer.close()


def hparams(value):
    plugin_data = value.metadata.plugin_data
    assert plugin_data.plugin_name == "hparams"
    info = HParamsPluginData.FromString(plugin_data.content).session_start_info
    assert info.start_time_secs > 1.6e9
    info.start_time_secs = 0
    return info


def test_nested_hparams_get_names_with_dots(tmp_path):
    writer = SummaryWriter(tmp_path)
    writer.hparams({"a": 1, "b": {"c": {"d": np.float32(0.5)}, "e": None}})
    info = hparams(read(only_file(tmp_path))[0].summary.value[0])
    assert info.hparams["b.c.d"].number_value == 0.5
    assert info.hparams["b.e"].string_value == "None"
    assert set(info.hparams) == {"a", "b.c.d", "b.e"}


def test_arrays_of_jax(tmp_path):
    writer = SummaryWriter(str(tmp_path))
    writer.scalar("loss", jnp.float32(0.25), jnp.int32(3))
    writer.scalar("loss", jnp.asarray([0.5], jnp.bfloat16), jnp.asarray([4]))
    writer.image("image", jnp.full((2, 2), 0.5, jnp.bfloat16), 1)
    writer.histogram("values", jnp.arange(4, dtype=jnp.bfloat16), 1, bins=2)
    events = read(only_file(tmp_path))
    assert [(e.step, content(e.summary.value[0])[2]) for e in events[:2]] == [
        (3, [0.25]),
        (4, [0.5]),
    ]
    assert content(events[2].summary.value[0])[2][2] == np.full((2, 2, 3), 127).tolist()
    assert content(events[3].summary.value[0])[2] == [0.0, 1.5, 2.0, 1.5, 3.0, 2.0]


@pytest.mark.parametrize(
    ("error", "method", "arguments"),
    [
        (TypeError, "scalar", ("x", None, 1)),
        (ValueError, "scalar", ("x", np.ones(2), 1)),
        (TypeError, "scalar", ("x", 1.0, 1.5)),
        (TypeError, "scalar", ("x", 1.0, None)),
        (ValueError, "scalar", ("x", 1.0, np.array([1, 2]))),
        (ValueError, "image", ("x", np.ones(3), 1)),
        (ValueError, "image", ("x", np.ones((1, 2, 2, 5)), 1)),
        (ValueError, "image", ("x", np.ones((0, 2, 3)), 1)),
        (ValueError, "image", ("x", np.ones((2, 2)), 1, -1)),
        (TypeError, "image", ("x", np.ones((2, 2), bool), 1)),
        (ValueError, "audio", ("x", np.ones((2, 2)), 1)),
        (ValueError, "text", ("x", 3, 1)),
        (TypeError, "write", ("x", None, 1)),
        (TypeError, "write", ("x", np.array([object()]), 1)),
    ],
)
def test_what_cannot_be_written_leaves_the_file_as_it_is(error, method, arguments, tmp_path):
    writer = SummaryWriter(tmp_path)
    with pytest.raises(error):
        getattr(writer, method)(*arguments)
    assert read(only_file(tmp_path)) == []


def test_values_are_in_the_file_at_once_or_when_flushed(tmp_path):
    at_once, later = tmp_path / "a" / "b", tmp_path / "c"
    SummaryWriter(at_once).scalar("x", 1.0, 1)
    writer = SummaryWriter(later, auto_flush=False)
    writer.flush()
    writer.scalar("x", 1.0, 1)
    assert len(read(only_file(at_once))) == 1
    assert len(read(only_file(later))) == 0
    writer.flush()
    assert len(read(only_file(later))) == 1


def test_a_writer_that_is_dropped_or_closed_has_written_everything(tmp_path):
    writer = SummaryWriter(tmp_path, auto_flush=False)
    writer.scalar("x", 1.0, 1)
    del writer
    assert len(read(only_file(tmp_path))) == 1
    writer = SummaryWriter(tmp_path)
    writer.close()
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.scalar("x", 1.0, 1)
    assert len(list(tmp_path.iterdir())) == 2  # never two writers in one file


def test_the_rest_is_written_when_the_program_ends(tmp_path):
    program = (
        "from flaxoptim_compat.legacy.stand_ins.flax_tensorboard import SummaryWriter\n"
        f"writer = SummaryWriter({str(tmp_path)!r}, auto_flush=False)\n"
        "writer.scalar('x', 1.0, 1)\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)
    assert len(read(only_file(tmp_path))) == 1


def test_only_who_writes_needs_tensorboardx(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    for module in [name for name in sys.modules if name.startswith("tensorboardX.")]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(ImportError, match=r"pip install 'flaxoptim_compat\[tensorboard\]'"):
        SummaryWriter(tmp_path / "logs")
    assert not (tmp_path / "logs").exists()
