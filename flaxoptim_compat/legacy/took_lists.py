"""The table of jax's functions that took lists for arrays once; jax itself is not imported."""

from __future__ import annotations

from flaxoptim_compat.legacy.text_table import rows

# Functions that took lists until jax 0.1.76. A compiled function then still knew their results for
# known numbers, as in x.reshape(-1, jnp.prod(x.shape[1:])); not so for mean, std, cumsum and
# others.
KNOWN_WHEN_COMPILED = frozenset(
    f"jax.numpy.{name}"
    for name in ("all", "amax", "amin", "any", "max", "min", "prod", "ptp", "sum")
)

# Functions that took a list or a tuple in a release from 0.1.75 to 0.4.13. Before them their
# arguments in order: the names of those for which they took lists, "-" for any other argument, "*"
# for any number of arguments, and "[]" after a sequence of arrays. "@" is the first release that
# takes no lists, if the oldest supported jax still takes them.
_TABLE = """
jax.numpy
  a: all amax amin any argwhere@0.6 copy flatnonzero max min nonzero packbits prod ptp ravel reshape
      roll sum
  a b: allclose isclose
  *: atleast_1d@0.10 atleast_2d@0.10 atleast_3d@0.10 broadcast_arrays ix_ meshgrid
  a - weights: average
  array: broadcast_to pad
  tup[]: column_stack@0.10 dstack@0.6 hstack@0.10 vstack@0.10
  condition a: compress
  x bins: digitize
  ary to_end to_begin: ediff1d
  condition arr: extract
  x: frexp vander
  - bins: histogram
  x y: histogram2d
  a bins: histogram_bin_edges
  - bins[]: histogramdd
  ar1 ar2: intersect1d setdiff1d
  - q: nanpercentile percentile
  a1 a2: polyadd polysub
  p: polyder polyval roots
  - repeats: repeat
  a v: searchsorted
  a indices: take
  arr: tril_indices_from@0.6 triu_indices_from@0.6
  filt: trim_zeros@0.8
  ar: unique
  indices: unravel_index
jax.numpy.fft
  x: fftshift ifftshift
jax.numpy.linalg
  a: cholesky det eig eigh eigvalsh matrix_power qr slogdet svd tensorinv
  M: matrix_rank
  x: norm
  a b: solve tensorsolve
jax.lax
  operand: reshape transpose
jax.nn
  x: sigmoid
jax.random
  - lam: poisson
jax.scipy.linalg
  a: det
  a b: solve
jax.scipy.special
  x: expit logit
"""

# {module: {function: its arguments}}, and {full name: the first release that takes no lists}
TOOK_LISTS: dict[str, dict[str, str]] = {}
UNTIL: dict[str, tuple[int, ...]] = {}
for _module, _row in rows(_TABLE):
    _arguments, _, _functions = _row.partition(": ")
    for _name, _, _release in (function.partition("@") for function in _functions.split()):
        TOOK_LISTS.setdefault(_module, {})[_name] = _arguments
        if _release:
            UNTIL[f"{_module}.{_name}"] = tuple(map(int, _release.split(".")))
