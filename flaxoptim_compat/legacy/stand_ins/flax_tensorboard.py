"""Stands in for ``flax.metrics.tensorboard`` where TensorFlow or TensorBoard is not installed.

It writes the same event files with tensorboardX. Large images are written faster with the package
crc32c, which tensorboardX uses if it is there.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from flaxoptim_compat.legacy.stand_ins import flax_tensorboard_arrays as arrays
from flaxoptim_compat.legacy.stand_ins.flax_tensorboard_events import (
    EventFile,
    hparams_summary,
    summary,
)

__all__ = ["SummaryWriter"]


class SummaryWriter:
    """Writes what TensorBoard shows into one event file.

    Args:
      log_dir: the directory of the file.
      auto_flush: whether TensorBoard sees each value at once, and not when ``flush`` is called.
    """

    def __init__(self, log_dir: str | os.PathLike[str], auto_flush: bool = True) -> None:
        self._file = EventFile(os.fspath(log_dir))
        self._auto_flush = auto_flush
        # Few programs close their writer; the last values must be in the file nevertheless.
        self._close = weakref.finalize(self, self._file.close)

    def close(self) -> None:
        """Write what is left, and close the file for good."""
        self._close()

    def flush(self) -> None:
        """Write what is left."""
        self._file.flush()

    def scalar(self, tag: str, value: Any, step: Any) -> None:
        """Write a number.

        Args:
          tag: its name.
          value: the number, or an array of one.
          step: the step of training.
        """
        with np.errstate(over="ignore"):
            number = np.float32(float(np.asarray(value).item()))
        self._write(summary(tag, number, "scalars"), step)

    def image(self, tag: str, image: Any, step: Any, max_outputs: int = 3) -> None:
        """Write one image, or the first of a batch of images.

        Args:
          tag: the name.
          image: ``[H, W]``, ``[H, W, 1]``, ``[H, W, 3]``, ``[K, H, W]`` or ``[K, H, W, C]``, with
            floating-point numbers from 0 to 1, or bytes.
          step: the step of training.
          max_outputs: how many images of a batch are written.
        """
        images = arrays.batch_of_images(image)
        height, width = images.shape[1:3]
        files = [arrays.png(each) for each in arrays.as_bytes(_first(images, max_outputs))]
        self._write(summary(tag, [b"%d" % width, b"%d" % height, *files], "images"), step)

    def audio(
        self, tag: str, audiodata: Any, step: Any, sample_rate: int = 44100, max_outputs: int = 3
    ) -> None:
        """Write sounds.

        Args:
          tag: their name.
          audiodata: ``[sounds, frames, channels]``, with numbers from -1 to 1.
          step: the step of training.
          sample_rate: frames in a second.
          max_outputs: how many of the sounds are written.
        """
        sounds = np.clip(np.asarray(audiodata), -1, 1).astype(np.float32)
        if sounds.ndim != 3:
            raise ValueError(f"sounds have the axes sound, frame and channel, not {sounds.shape}")
        files = [arrays.wav(each, sample_rate) for each in _first(sounds, max_outputs)]
        # Each with a label, which is empty.
        pairs = np.array([[file, b""] for file in files], object).reshape(len(files), 2)
        made = summary(tag, pairs, "audio")
        # The encoding, by the number that WAV has in the messages of the audio plugin.
        made.value[0].metadata.plugin_data.content = b"\x10\x0b"
        self._write(made, step)

    def histogram(self, tag: str, values: Any, step: Any, bins: int | None = None) -> None:
        """Write how often numbers occur.

        Args:
          tag: the name.
          values: the numbers, in an array of any shape.
          step: the step of training.
          bins: how many intervals of equal width, 30 if None.
        """
        rows = arrays.histogram(np.asarray(values), 30 if bins is None else bins)
        self._write(summary(tag, rows, "histograms"), step)

    def text(self, tag: str, textdata: str | bytes, step: Any) -> None:
        """Write a text, which TensorBoard renders as markdown.

        Args:
          tag: its name.
          textdata: the text.
          step: the step of training.
        """
        if not isinstance(textdata, (str, bytes)):
            raise ValueError(f"a text is a str or bytes, not {type(textdata).__name__}")
        self._write(summary(tag, np.array(textdata, object), "text"), step)

    def write(self, tag: str, tensor: Any, step: Any, metadata: Any = None) -> None:
        """Write a tensor for a plugin of TensorBoard.

        Args:
          tag: its name.
          tensor: numbers or texts.
          step: the step of training.
          metadata: the ``SummaryMetadata``, as a message or as bytes.
        """
        self._write(summary(tag, tensor, metadata), step)

    def hparams(self, hparams: Mapping[str, Any]) -> None:
        """Write hyper-parameters.

        Args:
          hparams: the values by their names. Those of a dictionary in it get names with dots, and
            what is neither number nor text is written as ``str`` shows it.
        """
        self._write(hparams_summary(_flat(hparams, "")), 0)

    def _write(self, message: Any, step: Any) -> None:
        self._file.add(message, step)
        if self._auto_flush:
            self._file.flush()


def _first(batch: Any, count: int) -> Any:
    if count < 0:
        raise ValueError(f"max_outputs is {count}, but it cannot be negative")
    return batch[:count]


def _flat(hparams: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in hparams.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{name}."))
        elif isinstance(value, (bool, int, float, str, np.bool_, np.number, np.character)):
            flat[prefix + name] = value
        else:
            flat[prefix + name] = str(value)
    return flat
