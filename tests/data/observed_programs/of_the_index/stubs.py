"""Stand-ins for packages that a driver does not need; ``gfile`` is the local disk."""

import glob
import importlib
import importlib.machinery
import os
import shutil
import sys
import types
from unittest.mock import MagicMock

sys.path.insert(0, ".")


class Stub(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = MagicMock()
        setattr(self, name, value)
        return value


def stub(*names):
    """Put stand-ins into ``sys.modules``, and for parents that cannot be imported as well."""
    for name in names:
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            whole = ".".join(parts[:end])
            if whole in sys.modules:
                continue
            if end < len(parts):
                try:
                    importlib.import_module(whole)
                    continue
                except ImportError:
                    pass
            module = sys.modules[whole] = Stub(whole)
            module.__path__ = []
            module.__spec__ = importlib.machinery.ModuleSpec(whole, None)
            if end > 1:
                setattr(sys.modules[".".join(parts[: end - 1])], parts[end - 1], module)


def makedirs(path):
    os.makedirs(path, exist_ok=True)


gfile = types.SimpleNamespace(
    GFile=open,
    Open=open,
    exists=os.path.exists,
    isdir=os.path.isdir,
    makedirs=makedirs,
    glob=glob.glob,
    listdir=os.listdir,
    remove=os.remove,
    rmtree=shutil.rmtree,
    rename=lambda old, new, overwrite=False: os.replace(old, new),
    copy=lambda old, new, overwrite=False: shutil.copy(old, new),
)
