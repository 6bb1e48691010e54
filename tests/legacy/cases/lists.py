"""Lists where functions of jax took them for arrays."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

L = [3.0, 1.0, 2.0]
B = [True, False, True]
I = [0, 2, 1]  # noqa: E741
M = [[4.0, 1.0, 2.0], [1.0, 5.0, 3.0], [2.0, 3.0, 6.0]]
KEY = np.asarray([0, 7], np.uint32)
# Functions of jax.numpy that took one list, and such that took a list of lists.
OF_A_LIST = (
    "amax amin argwhere atleast_2d copy flatnonzero frexp nonzero polyder ptp sum vander"
    " fft.fftshift fft.ifftshift linalg.norm"
)
OF_LISTS = (
    "ravel tril_indices_from linalg.cholesky linalg.det linalg.eig linalg.eigh linalg.eigvalsh"
    " linalg.matrix_rank linalg.qr linalg.slogdet linalg.svd"
)
# Of each function: arguments with lists wherever it took them. What comes second is only known
# outside jit.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    **{f"jax.numpy.{name}": (L,) for name in OF_A_LIST.split()},
    **{f"jax.numpy.{name}": (M,) for name in OF_LISTS.split()},
    "jax.nn.sigmoid": (L,),
    "jax.scipy.linalg.det": (M,),
    "jax.scipy.special.expit": (L,),
    "jax.numpy.all": (B,),
    "jax.numpy.allclose": (L, (3.0, 1.0, 2.0)),
    "jax.numpy.any": (B,),
    "jax.numpy.atleast_1d": (L, 2.0),
    "jax.numpy.atleast_3d": (L, M),
    "jax.numpy.average": (L, None, I),
    "jax.numpy.broadcast_arrays": (L, 1.0),
    "jax.numpy.broadcast_to": (L, (2, 3)),
    "jax.numpy.column_stack": ([L, (1.0, 2.0, 3.0)],),
    "jax.numpy.compress": (B, L),
    "jax.numpy.digitize": (L, [0.0, 1.5]),
    "jax.numpy.dstack": ([L, L],),
    "jax.numpy.ediff1d": (L, [1.0], [2.0]),
    "jax.numpy.extract": (B, L),
    "jax.numpy.histogram": (jnp.asarray(L), [0.0, 1.5, 4.0]),
    "jax.numpy.histogram2d": (L, L),
    "jax.numpy.histogram_bin_edges": (L, [0.0, 1.5]),
    "jax.numpy.histogramdd": (jnp.asarray(M), ([0.0, 3.0, 9.0],) * 3),
    "jax.numpy.hstack": ([L, np.ones(2)],),
    "jax.numpy.intersect1d": (L, [2.0, 3.0]),
    "jax.numpy.isclose": (L, L),
    "jax.numpy.ix_": (I, (1, 2)),
    "jax.numpy.max": (M, 1),
    "jax.numpy.meshgrid": (L, [1.0, 2.0]),
    "jax.numpy.min": ((3.0, 1.0),),
    "jax.numpy.nanpercentile": (jnp.asarray(L), [20.0, 50.0]),
    "jax.numpy.packbits": (I,),
    "jax.numpy.pad": (L, 1),
    "jax.numpy.percentile": (jnp.asarray(L), [20.0, 50.0]),
    "jax.numpy.polyadd": (L, [1.0, 2.0]),
    "jax.numpy.polysub": ([1.0], L),
    "jax.numpy.polyval": (L, 2.0),
    "jax.numpy.prod": ((2, 3, 4),),
    "jax.numpy.repeat": (jnp.asarray(L), I),
    "jax.numpy.reshape": (L, (3, 1)),
    "jax.numpy.roll": (L, 1),
    "jax.numpy.roots": ([1.0, -3.0, 2.0],),
    "jax.numpy.searchsorted": ([1.0, 2.0], L),
    "jax.numpy.setdiff1d": (L, [2.0]),
    "jax.numpy.take": (L, I),
    "jax.numpy.trim_zeros": ([0.0, 1.0, 0.0],),
    "jax.numpy.triu_indices_from": (M, 1),
    "jax.numpy.unique": (I,),
    "jax.numpy.unravel_index": (I, (2, 2)),
    "jax.numpy.vstack": ((L, L),),
    "jax.numpy.linalg.matrix_power": (M, 2),
    "jax.numpy.linalg.solve": (M, L),
    "jax.numpy.linalg.tensorinv": (M, 1),
    "jax.numpy.linalg.tensorsolve": (M, L),
    "jax.lax.reshape": (L, (3, 1)),
    "jax.lax.transpose": (M, (1, 0)),
    "jax.random.poisson": (KEY, L),
    "jax.scipy.linalg.solve": (M, L),
    "jax.scipy.special.logit": ([0.2, 0.7],),
}
