"""What a program is told that asks a module for a name that cannot be had."""

from __future__ import annotations

from opcode import opmap
from types import FrameType, ModuleType

from flaxoptim_compat.legacy.names.gone_for_good import GONE


def no_such_name(module: ModuleType, name: str, asked_from: FrameType) -> Exception:
    """The error: what to do about a name that is gone for good, of others what Python says.

    Args:
      module: the module.
      name: the name.
      asked_from: the frame that reads the attribute.
    """
    message = f"module {module.__name__!r} has no attribute {name!r}"
    advice = GONE.get(f"{module.__name__}.{name}")
    if advice is None:
        return AttributeError(message, name=name, obj=module)
    message = f"{module.__name__}.{name} is gone for good: {advice}."
    # Of an AttributeError a from-import keeps nothing, and says only that it cannot import.
    if _is_from_import(asked_from):
        return ImportError(message, name=module.__name__)
    return AttributeError(message, name=name, obj=module)


def _is_from_import(frame: FrameType) -> bool:
    code = frame.f_code.co_code
    return frame.f_lasti >= 0 and code[frame.f_lasti] == opmap["IMPORT_FROM"]
