"""Functions of jax that take the old arguments, and return other results than on jax 0.4.13."""

from __future__ import annotations

from typing import NamedTuple

from flaxoptim_compat.legacy.text_table import rows

_HERE = "flaxoptim_compat.legacy.calls.jax_answers:"


class OtherAnswer(NamedTuple):
    """A call with another result today. The call is also one of today, so it can only warn.

    Args:
      call: the call in a program.
      today: its result today.
      before: the code for its old result.
      told_by: ``module:function`` that tells from the result and the arguments whether the old
        result was another one; "" if only the numbers in arrays tell, which may be traced.
    """

    call: str
    today: str
    before: str
    told_by: str = ""

    @property
    def name(self) -> str:
        """The full name of the function; "" of an operator."""
        return self.call.partition("(")[0] if "(" in self.call else ""

    @property
    def notice(self) -> str:
        """The text for a program that makes such a call."""
        return (
            f"{self.name} answers otherwise than on jax 0.4.13: it gives {self.today}. For what it"
            f" gave, write {self.before}"
        )


# Headings are functions of ``jax_answers``, or "numbers". A row has the call, its result today, and
# the code for its old result.
_TABLE = """
is_one_solution_for_all
  jax.numpy.linalg.solve(a, b): one solution for all of b, which was a batch of vectors then ->
      jax.numpy.linalg.solve(a, b[..., None])[..., 0]
  jax.scipy.linalg.solve(a, b): one solution for all of b, which was a batch of vectors then ->
      jax.scipy.linalg.solve(a, b[..., None])[..., 0]
is_of_integers
  jax.numpy.ceil(x): integers for integers -> jax.numpy.ceil(x.astype(float))
  jax.numpy.floor(x): integers for integers -> jax.numpy.floor(x.astype(float))
  jax.numpy.trunc(x): integers for integers -> jax.numpy.trunc(x.astype(float))
  jax.numpy.polyval(p, x): integers for integers -> jax.numpy.polyval(p, x.astype(float))
is_complex
  jax.numpy.sign(z): z / abs(z) for complex numbers -> jax.numpy.where(z.real == 0,
      jax.numpy.sign(z.imag), jax.numpy.sign(z.real)) + 0j
numbers
  jax.numpy.sort_complex(x): the last axis sorted -> jax.numpy.sort(x, 0) + 0j
has_indices_in_rows
  jax.numpy.unique(x, return_inverse=True): indices in the shape of the array -> indices.ravel()
has_matrices
  jax.scipy.linalg.toeplitz(c): a matrix for each row -> jax.scipy.linalg.toeplitz(c.ravel())
numbers
  x // 0.0: infinity -> jax.numpy.full_like(x, jax.numpy.nan)
  jax.scipy.special.gamma(x): a sign below zero -> jax.numpy.abs(jax.scipy.special.gamma(x))
  jax.scipy.special.ndtri(x): NaN outside of 0 to 1, for infinity ->
      jax.scipy.special.ndtri(jax.numpy.clip(x, 0, 1))
  jax.scipy.stats.norm.ppf(x): NaN outside of 0 to 1, for infinity ->
      jax.scipy.stats.norm.ppf(jax.numpy.clip(x, 0, 1))
  jax.scipy.stats.poisson.logpmf(k, mu): -inf between whole numbers -> k * jax.numpy.log(mu) -
      jax.scipy.special.gammaln(k + 1) - mu
  jax.numpy.nonzero(3): an error for a number -> jax.numpy.nonzero(jax.numpy.atleast_1d(3))
  jax.numpy.where(3): an error for a number -> jax.numpy.where(jax.numpy.atleast_1d(3))
"""


def _answer(told_by: str, row: str) -> OtherAnswer:
    call, _, answers = row.partition(": ")
    today, _, before = answers.partition(" -> ")
    return OtherAnswer(call, today, before, "" if told_by == "numbers" else _HERE + told_by)


OTHER_ANSWERS = tuple(_answer(told_by, row) for told_by, row in rows(_TABLE))
