"""Installed packages that use lost names themselves, so that their programs need ``run``.

Each row was tried with the newest jax and flax: the last version that fails without ``run``, and
works with it; and the first one that works by itself. To look for lost names in the files of a
package tells less: there are none in tensorflow_probability, which makes up the names of modules as
it goes, and some in haiku 0.0.16, in branches for an older jax. It takes half a minute, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from flaxoptim_compat.versions.allowed import numbers, version_of

# What programs import, what is installed, the last version of it that needs run, and the first one
# that does not; "" if there is none yet. clu calls jax.numpy.clip with a_min, in metrics.Std;
# distrax imports tensorflow_probability, which needs jax in one part only.
_NEEDING = (
    ("chex", "chex", "0.1.83", "0.1.84"),
    ("clu", "clu", "0.0.12", ""),
    ("distrax", "distrax", "0.1.9", ""),
    ("haiku", "dm-haiku", "0.0.14", "0.0.15"),
    ("tensorflow_probability.substrates.jax", "tensorflow-probability", "0.25.0", ""),
)


def that_need_run(modules: Collection[str]) -> Iterator[str]:
    """A sentence for each installed package that needs ``run``: what to do about it.

    Args:
      modules: what the program imports, modules and names in them.
    """
    for module, package, last, first in _NEEDING:
        is_imported = any(f"{each}.".startswith(f"{module}.") for each in modules)
        version = version_of(package) if is_imported else None
        if version is not None and numbers(version) <= numbers(last):
            upgrade = f"upgrade it to {first}, or " if first else ""
            yield (
                f"{package} {version} itself uses names that jax or flax lost: {upgrade}start"
                " the program with flaxoptim-compat run."
            )
