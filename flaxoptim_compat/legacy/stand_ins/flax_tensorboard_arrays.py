"""Images, sound and histograms in the form in which TensorBoard shows them."""

from __future__ import annotations

import io
import struct
import wave
import zlib
from typing import Any

import numpy as np

_Array = np.ndarray[Any, np.dtype[Any]]

# The colour type in a PNG file, by the number of channels.
_COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}


def batch_of_images(image: Any) -> _Array:
    """One image or several, as an array of shape ``[count, height, width, channels]``.

    An array of rank 3 is one image if its last axis has length 1 or 3, and a batch of grey images
    otherwise. Grey images become coloured ones, as Flax made them.

    Args:
      image: the pixels.
    """
    images = np.asarray(image)
    if images.ndim == 2:
        images = images[np.newaxis, :, :, np.newaxis]
    elif images.ndim == 3 and images.shape[-1] in (1, 3):
        images = images[np.newaxis]
    elif images.ndim == 3:
        images = images[..., np.newaxis]
    if images.ndim != 4 or images.shape[-1] not in _COLOUR_TYPES:
        raise ValueError(f"an array of shape {np.shape(image)} is neither an image nor a batch")
    return np.repeat(images, 3, axis=-1) if images.shape[-1] == 1 else images


def as_bytes(images: _Array) -> _Array:
    """Pixels as numbers from 0 to 255, by the rules of ``tf.image.convert_image_dtype``.

    Args:
      images: floating-point numbers from 0 to 1, or integers from 0 to the largest of their type.
    """
    if images.dtype.kind in "bcOSU":
        raise TypeError(f"pixels are floating-point numbers or integers, not {images.dtype}")
    if images.dtype.kind in "iu":
        return _integers_as_bytes(images)
    if images.dtype.kind != "f":
        images = images.astype(np.float32)  # bfloat16 and the like, which numpy does not know
    known = np.nan_to_num(images, nan=0.0, posinf=1.0, neginf=0.0).clip(0.0, 1.0)
    pixels: _Array = (known * known.dtype.type(255.5)).clip(0, 255).astype(np.uint8)
    return pixels


def _integers_as_bytes(images: _Array) -> _Array:
    if images.dtype == np.uint8:
        return images
    largest = np.iinfo(images.dtype).max
    if largest < 255:
        doubled: _Array = np.maximum(images, 0).astype(np.uint8) * np.uint8(2)
        return doubled
    pixels: _Array = (images // (largest // 256 + 1)).clip(0, 255).astype(np.uint8)
    return pixels


def png(pixels: _Array) -> bytes:
    """A PNG file of one image.

    Args:
      pixels: bytes, of shape ``[height, width, channels]``.
    """
    height, width, channels = pixels.shape
    if not height or not width:
        raise ValueError(f"an image of {height} by {width} pixels cannot be written")
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    # A zero before each row: no filter.
    rows = np.zeros((height, 1 + width * channels), np.uint8)
    rows[:, 1:] = pixels.reshape(height, -1)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in (
            (b"IHDR", header),
            (b"IDAT", zlib.compress(rows.tobytes())),
            (b"IEND", b""),
        )
    )


def wav(sound: _Array, sample_rate: int) -> bytes:
    """A WAV file of 16 bits for each sample.

    Args:
      sound: numbers from -1 to 1, of shape ``[frames, channels]``.
      sample_rate: frames in a second.
    """
    scaled = np.nan_to_num(sound) * 32768.0
    # TensorFlow rounds halves away from zero.
    samples = np.trunc(scaled + np.copysign(0.5, scaled)).clip(-32768, 32767)
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(sound.shape[1])
        writer.setsampwidth(2)
        writer.setframerate(sample_rate)
        writer.writeframes(samples.astype("<i2").tobytes())
    return file.getvalue()


def histogram(values: _Array, bins: int) -> _Array:
    """Rows of left edge, right edge and count.

    Args:
      values: the numbers to count, of which infinities and NaNs are not counted.
      bins: how many rows. If all numbers are equal, the last row counts them.
    """
    bins = max(bins, 0)
    rows = np.zeros((bins, 3))
    if not bins or not values.size:
        return rows
    values = values.ravel().astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        least, most = values.min(), values.max()
        edges = np.linspace(least, most, bins + 1)
        width = (most - least) / bins
        # Not //, whose result is one less where the quotient is an integer by rounding.
        places = (
            np.full(values.shape, bins - 1.0) if width == 0 else np.floor((values - least) / width)
        )
    edges[0] = least  # not NaN, if the last edge is infinite
    rows[:, 0], rows[:, 1] = edges[:-1], edges[1:]
    places = places[np.isfinite(places)].astype(np.int64)
    rows[:, 2] = np.bincount(np.minimum(places, bins - 1), minlength=bins)
    return rows
