"""Event files, which TensorBoard reads, written without TensorFlow."""

from __future__ import annotations

import hashlib
import importlib
import itertools
import json
import operator
import os
import socket
import struct
import threading
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

# The numbers of ``tensorflow.DataType``. tensorboardX's own list ends before the newest ones.
_DATA_TYPES = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "complex64": 8,
    "int64": 9,
    "bool": 10,
    "bfloat16": 14,
    "uint16": 17,
    "complex128": 18,
    "float16": 19,
    "uint32": 22,
    "uint64": 23,
}
_STRING = 7
_HPARAMS_TAG = "_hparams_/session_start_info"
_number_of_file = itertools.count()


def _proto(module: str) -> Any:
    # Imported here and not above, for whoever imports this and writes nothing.
    try:
        return importlib.import_module(f"tensorboardX.{module}")
    except ImportError as error:
        raise ImportError(
            "flax.metrics.tensorboard needs TensorFlow and TensorBoard, or else tensorboardX: "
            "pip install 'flaxoptim_compat[tensorboard]'"
        ) from error


class EventFile:
    """One event file, with a name of its own, in a directory that is made if there is none.

    Args:
      directory: a path, or what tensorboardX can open, such as ``gs://bucket/path``.
    """

    def __init__(self, directory: str) -> None:
        records, self._events = _proto("record_writer"), _proto("proto.event_pb2")
        self._checksum = records.masked_crc32c
        self._lock = threading.Lock()
        if "://" not in directory:
            os.makedirs(directory, exist_ok=True)
        name = f"{int(time.time())}.{socket.gethostname()}.{os.getpid()}.{next(_number_of_file)}"
        self._file = records.open_file(os.path.join(directory, f"events.out.tfevents.{name}.v2"))
        self._write(self._events.Event(wall_time=time.time(), file_version="brain.Event:2"))
        self.flush()

    def add(self, summary: Any, step: Any) -> None:
        """Append a summary.

        Args:
          summary: the message.
          step: an integer, or an array of one.
        """
        number = operator.index(np.asarray(step).item())
        self._write(self._events.Event(wall_time=time.time(), step=number, summary=summary))

    def _write(self, event: Any) -> None:
        data = event.SerializeToString()
        length = struct.pack("<Q", len(data))
        with self._lock:
            for part in (length, data):
                self._file.write(part)
                self._file.write(struct.pack("<I", self._checksum(part)))

    def flush(self) -> None:
        """Hand over to the operating system what was written so far."""
        with self._lock:
            self._file.flush()

    def close(self) -> None:
        """Flush, and close the file."""
        with self._lock:
            self._file.close()


def summary(tag: str, tensor: Any, metadata: Any) -> Any:
    """A summary of one tensor.

    Args:
      tag: the name of the series.
      tensor: what ``np.asarray`` takes, or a list of bytes.
      metadata: the name of the plugin that shows the tensor, the metadata as a message or as
        bytes, or None.
    """
    messages = _proto("proto.summary_pb2")
    value = messages.Summary.Value(tag=tag, tensor=_tensor(tensor))
    if isinstance(metadata, str):
        value.metadata.plugin_data.plugin_name = metadata
    elif metadata is not None:
        data = metadata if isinstance(metadata, bytes) else metadata.SerializeToString()
        value.metadata.ParseFromString(data)
    return messages.Summary(value=[value])


def _tensor(value: Any) -> Any:
    array = np.asarray(value)
    if not hasattr(value, "dtype"):
        array = _as_tensorflow_reads(array)
    tensor = _proto("proto.tensor_pb2").TensorProto()
    tensor.tensor_shape.SetInParent()  # a number has a shape, too, which is empty
    for size in array.shape:
        tensor.tensor_shape.dim.add(size=size)
    if array.dtype.kind in "OSU":
        tensor.dtype = _STRING
        tensor.string_val.extend(map(_as_bytes, array.ravel().tolist()))
    elif array.dtype.name in _DATA_TYPES:
        tensor.dtype = _DATA_TYPES[array.dtype.name]
        tensor.tensor_content = array.tobytes()
    else:
        raise TypeError(f"TensorBoard has no numbers of type {array.dtype}")
    return tensor


def _as_tensorflow_reads(array: Any) -> Any:
    # Of Python's numbers TensorFlow makes 32-bit ones, if they fit.
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int64 and (array == array.astype(np.int32)).all():
        return array.astype(np.int32)
    return array


def _as_bytes(text: Any) -> bytes:
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"{text!r} is neither text nor a number")
    return text.encode() if isinstance(text, str) else text


def hparams_summary(hparams: Mapping[str, Any]) -> Any:
    """The summary that tells TensorBoard's hparams plugin the hyper-parameters of this run.

    Args:
      hparams: numbers, strings and booleans.
    """
    messages = _proto("proto.plugin_hparams_pb2")
    values = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in hparams.items()
    }
    # Runs with the same hyper-parameters are one group in TensorBoard.
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    info = messages.SessionStartInfo(
        group_name=hashlib.sha256(text.encode()).hexdigest(), start_time_secs=time.time()
    )
    for name, value in values.items():
        if isinstance(value, bool):
            info.hparams[name].bool_value = value
        elif isinstance(value, (int, float)):
            info.hparams[name].number_value = value
        else:
            info.hparams[name].string_value = value
    data = messages.HParamsPluginData(session_start_info=info)
    made = summary(_HPARAMS_TAG, np.zeros(0, np.float32), "hparams")
    made.value[0].metadata.plugin_data.content = data.SerializeToString()
    return made
