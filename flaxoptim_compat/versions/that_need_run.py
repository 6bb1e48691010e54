"""Installed packages that use lost names themselves, so that their programs need ``run``.

Each row was tried with the newest jax and flax: the last version that fails without ``run``, and
works with it; and the first one that works by itself. To look for lost names in the files of a
package tells less: there are none in tensorflow_probability, which makes up the names of modules as
it goes, and some in haiku 0.0.16, in branches for an older jax. It takes half a minute, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from flaxoptim_compat.versions.allowed import numbers, version_of


class Needing(NamedTuple):
    """A package with versions that need ``run``.

    Args:
      module: what programs import.
      package: what is installed.
      last: the last version that needs it.
      first: the first one that does not; "" if there is none yet.
    """

    module: str
    package: str
    last: str
    first: str = ""


NEEDING = (
    Needing("chex", "chex", "0.1.83", "0.1.84"),
    # jax.numpy.clip with a_min, in metrics.Std.
    Needing("clu", "clu", "0.0.12"),
    # It imports tensorflow_probability.
    Needing("distrax", "distrax", "0.1.9"),
    Needing("haiku", "dm-haiku", "0.0.14", "0.0.15"),
    Needing("tensorflow_probability", "tensorflow-probability", "0.25.0"),
)


def that_need_run(modules: Collection[str]) -> Iterator[str]:
    """What to do about each installed package that needs ``run``: a sentence for each.

    Args:
      modules: what the program imports, without what stands behind a dot.
    """
    for each in NEEDING:
        version = version_of(each.package) if each.module in modules else None
        if version is not None and numbers(version) <= numbers(each.last):
            upgrade = f"upgrade it to {each.first}, or " if each.first else ""
            yield (
                f"{each.package} {version} itself uses names that jax or flax lost: {upgrade}start"
                " the program with flaxoptim-compat run."
            )
