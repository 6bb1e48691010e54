"""Optimizers in files, one each."""

import os

from flax import serialization


def save_model(path, optimizer):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(serialization.to_bytes(optimizer))


def load_model(path, optimizer):
    with open(path, "rb") as f:
        return serialization.from_bytes(optimizer, f.read())
