"""Functions of jax that take what they took, and answer otherwise than on jax 0.4.13."""

from __future__ import annotations

from typing import NamedTuple

_HERE = "flaxoptim_compat.legacy.calls.jax_answers:"
_INTEGERS = "integers for integers"
_AS_FLOATS = "x.astype(float)"


class OtherAnswer(NamedTuple):
    """A call that is one of today, so that nothing serves it: a program can only be warned.

    Args:
      call: how it is written.
      today: what it gives today.
      before: what to write for what it gave.
      told_by: ``module:function`` that tells from the answer and the arguments whether it was
        another one; "" if only the numbers in arrays tell, which may be traced.
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
        """What a program is told that makes such a call."""
        return (
            f"{self.name} answers otherwise than on jax 0.4.13: it gives {self.today}. For what it"
            f" gave, write {self.before}"
        )


OTHER_ANSWERS = (
    *(
        OtherAnswer(
            f"{module}.solve(a, b)",
            "one solution for all of b, which was a batch of vectors then",
            f"{module}.solve(a, b[..., None])[..., 0]",
            f"{_HERE}is_one_solution_for_all",
        )
        for module in ("jax.numpy.linalg", "jax.scipy.linalg")
    ),
    *(
        OtherAnswer(
            f"jax.numpy.{name}(x)",
            _INTEGERS,
            f"jax.numpy.{name}({_AS_FLOATS})",
            f"{_HERE}is_of_integers",
        )
        for name in ("ceil", "floor", "trunc")
    ),
    OtherAnswer(
        "jax.numpy.polyval(p, x)",
        _INTEGERS,
        f"jax.numpy.polyval(p, {_AS_FLOATS})",
        f"{_HERE}is_of_integers",
    ),
    OtherAnswer(
        "jax.numpy.sign(z)",
        "z / abs(z) for complex numbers",
        "jax.numpy.where(z.real == 0, jax.numpy.sign(z.imag), jax.numpy.sign(z.real)) + 0j",
        f"{_HERE}is_complex",
    ),
    OtherAnswer(
        "jax.numpy.sort_complex(x)",
        "the last axis sorted",
        "jax.numpy.sort(x, 0) + 0j",
    ),
    OtherAnswer(
        "jax.numpy.unique(x, return_inverse=True)",
        "indices in the shape of the array",
        "indices.ravel()",
        f"{_HERE}has_indices_in_rows",
    ),
    OtherAnswer(
        "jax.scipy.linalg.toeplitz(c)",
        "a matrix for each row",
        "jax.scipy.linalg.toeplitz(c.ravel())",
        f"{_HERE}has_matrices",
    ),
    OtherAnswer("x // 0.0", "infinity", "jax.numpy.full_like(x, jax.numpy.nan)"),
    OtherAnswer(
        "jax.scipy.special.gamma(x)",
        "a sign below zero",
        "jax.numpy.abs(jax.scipy.special.gamma(x))",
    ),
    *(
        OtherAnswer(
            f"{name}(x)",
            "NaN outside of 0 to 1, for infinity",
            f"{name}(jax.numpy.clip(x, 0, 1))",
        )
        for name in ("jax.scipy.special.ndtri", "jax.scipy.stats.norm.ppf")
    ),
    OtherAnswer(
        "jax.scipy.stats.poisson.logpmf(k, mu)",
        "-inf between whole numbers",
        "k * jax.numpy.log(mu) - jax.scipy.special.gammaln(k + 1) - mu",
    ),
    *(
        OtherAnswer(
            f"jax.numpy.{name}(3)",
            "an error for a number",
            f"jax.numpy.{name}(jax.numpy.atleast_1d(3))",
        )
        for name in ("nonzero", "where")
    ),
)
