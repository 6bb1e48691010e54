"""Reads event files back, without TensorBoard."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
from tensorboardX.proto.event_pb2 import Event

STRING = 7
CRC32C = [0] * 256
for byte in range(256):
    remainder = byte
    for _ in range(8):
        remainder = remainder >> 1 ^ (0x82F63B78 if remainder & 1 else 0)
    CRC32C[byte] = remainder


def checksum(data):
    """The masked CRC-32C of the format of event files."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC32C[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def read(file):
    """The events of a file, whose checksums must be right."""
    data, events, start = file.read_bytes(), [], 0
    while start < len(data):
        length = checked(data, start, 8)
        size = int.from_bytes(length, "little")
        events.append(Event.FromString(checked(data, start + 12, size)))
        start += 16 + size
    assert events[0].file_version == "brain.Event:2"
    return events[1:]


def checked(data, start, size):
    """A part of the data that its checksum follows."""
    part, after = data[start : start + size], start + size
    assert len(part) == size
    assert int.from_bytes(data[after : after + 4], "little") == checksum(part)
    return part


def only_file(directory):
    (file,) = Path(directory).iterdir()
    return file


def pixels(png):
    """The pixels of a PNG file, of 8 bits for each channel and without interlacing."""
    chunks, start = {}, 8
    while start < len(png):
        length, kind = int.from_bytes(png[start : start + 4]), png[start + 4 : start + 8]
        data = png[start + 8 : start + 8 + length]
        assert int.from_bytes(png[start + 8 + length :][:4]) == zlib.crc32(kind + data)
        chunks[kind], start = chunks.get(kind, b"") + data, start + 12 + length
    header = chunks[b"IHDR"]
    width, height = int.from_bytes(header[:4]), int.from_bytes(header[4:8])
    channels = {0: 1, 4: 2, 2: 3, 6: 4}[header[9]]
    assert header[8] == 8 and header[12] == 0
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, -1)
    image = np.zeros((height + 1, width + 1, channels), int)
    for y, row in enumerate(rows.astype(int), start=1):
        for x, pixel in enumerate(row[1:].reshape(width, channels), start=1):
            left, above, corner = image[y, x - 1], image[y - 1, x], image[y - 1, x - 1]
            guess = [0, left, above, (left + above) // 2, paeth(left, above, corner)][row[0]]
            image[y, x] = (pixel + guess) % 256
    return image[1:, 1:]


def paeth(left, above, corner):
    distances = [abs(above - corner), abs(left - corner), abs(left + above - 2 * corner)]
    nearest = np.argmin(distances, axis=0)
    return np.choose(nearest, [left, above, corner])


def content(value):
    """The tensor of a value, with images as pixels."""
    tensor = value.tensor
    shape = [dim.size for dim in tensor.tensor_shape.dim]
    if tensor.dtype != STRING:
        dtype = {1: "<f4", 2: "<f8"}.get(tensor.dtype, np.uint8)
        return tensor.dtype, shape, np.frombuffer(tensor.tensor_content, dtype).tolist()
    strings = [pixels(s).tolist() if s[:4] == b"\x89PNG" else s for s in tensor.string_val]
    return tensor.dtype, shape, strings
