"""Functions of jax that took lists for arrays once, as tables; jax itself is not imported."""

from __future__ import annotations

# Those that took them until jax 0.1.76, when a compiled function still knew what comes of known
# numbers, as in x.reshape(-1, jnp.prod(x.shape[1:])). mean, std, cumsum and others never did.
KNOWN_WHEN_COMPILED = frozenset(
    f"jax.numpy.{name}"
    for name in ("all", "amax", "amin", "any", "max", "min", "prod", "ptp", "sum")
)

# Which functions took a list or a tuple in some release from 0.1.75 to 0.4.13, and in place of
# which arguments: in order, "-" for one that is no array, "*" for any number of them, and "[]"
# after one that is a sequence of arrays.
TOOK_LISTS: dict[str, dict[str, str]] = {
    "jax.numpy": {
        "all": "a",
        "allclose": "a b",
        "amax": "a",
        "amin": "a",
        "any": "a",
        "argwhere": "a",
        "atleast_1d": "*",
        "atleast_2d": "*",
        "atleast_3d": "*",
        "average": "a - weights",
        "broadcast_arrays": "*",
        "broadcast_to": "array",
        "column_stack": "tup[]",
        "compress": "condition a",
        "copy": "a",
        "digitize": "x bins",
        "dstack": "tup[]",
        "ediff1d": "ary to_end to_begin",
        "extract": "condition arr",
        "flatnonzero": "a",
        "frexp": "x",
        "histogram": "- bins",
        "histogram2d": "x y",
        "histogram_bin_edges": "a bins",
        "histogramdd": "- bins[]",
        "hstack": "tup[]",
        "intersect1d": "ar1 ar2",
        "isclose": "a b",
        "ix_": "*",
        "max": "a",
        "meshgrid": "*",
        "min": "a",
        "nanpercentile": "- q",
        "nonzero": "a",
        "packbits": "a",
        "pad": "array",
        "percentile": "- q",
        "polyadd": "a1 a2",
        "polyder": "p",
        "polysub": "a1 a2",
        "polyval": "p",
        "prod": "a",
        "ptp": "a",
        "ravel": "a",
        "repeat": "- repeats",
        "reshape": "a",
        "roll": "a",
        "roots": "p",
        "searchsorted": "a v",
        "setdiff1d": "ar1 ar2",
        "sum": "a",
        "take": "a indices",
        "tril_indices_from": "arr",
        "trim_zeros": "filt",
        "triu_indices_from": "arr",
        "unique": "ar",
        "unravel_index": "indices",
        "vander": "x",
        "vstack": "tup[]",
    },
    "jax.numpy.fft": {"fftshift": "x", "ifftshift": "x"},
    "jax.numpy.linalg": {
        "cholesky": "a",
        "det": "a",
        "eig": "a",
        "eigh": "a",
        "eigvalsh": "a",
        "matrix_power": "a",
        "matrix_rank": "M",
        "norm": "x",
        "qr": "a",
        "slogdet": "a",
        "solve": "a b",
        "svd": "a",
        "tensorinv": "a",
        "tensorsolve": "a b",
    },
    "jax.lax": {"reshape": "operand", "transpose": "operand"},
    "jax.nn": {"sigmoid": "x"},
    "jax.random": {"poisson": "- lam"},
    "jax.scipy.linalg": {"det": "a", "solve": "a b"},
    "jax.scipy.special": {"expit": "x", "logit": "x"},
}

# Those that took them longer than the oldest jax that there is to care for: the first release
# that does not.
UNTIL: dict[str, tuple[int, int]] = {
    "jax.numpy.argwhere": (0, 6),
    "jax.numpy.atleast_1d": (0, 10),
    "jax.numpy.atleast_2d": (0, 10),
    "jax.numpy.atleast_3d": (0, 10),
    "jax.numpy.column_stack": (0, 10),
    "jax.numpy.dstack": (0, 6),
    "jax.numpy.hstack": (0, 10),
    "jax.numpy.tril_indices_from": (0, 6),
    "jax.numpy.trim_zeros": (0, 8),
    "jax.numpy.triu_indices_from": (0, 6),
    "jax.numpy.vstack": (0, 10),
}
