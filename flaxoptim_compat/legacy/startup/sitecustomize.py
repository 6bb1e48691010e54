"""The code that Python runs first in a program of ``flaxoptim-compat run`` and its child processes.

These processes find the file because its folder is the first on their PYTHONPATH.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _run_the_one_behind() -> None:
    """Run the sitecustomize that Python would have found without this one."""
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize")
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


# The program must not see this folder. Only its child processes need it.
sys.path[:] = [path for path in sys.path if os.path.abspath(path) != _HERE]
_run_the_one_behind()
try:
    from flaxoptim_compat.legacy import hook
    from flaxoptim_compat.observation import starting

    hook.start_from_environment()
    starting.start_from_environment()
except KeyboardInterrupt:
    raise
except BaseException as error:
    # Without this package, the program has started a Python of another environment.
    if getattr(error, "name", "") != "flaxoptim_compat":
        sys.stderr.write(
            f"flaxoptim-compat: flax.optim is not served: {type(error).__name__}."
            " Install flaxoptim_compat anew.\n"
        )
