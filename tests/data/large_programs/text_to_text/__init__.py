"""A tiny encoder, configured by bindings in a string."""

from text_to_text.main import run

__all__ = ["run"]
