"""What a terminal shows of a comparison."""

from __future__ import annotations

import numpy as np
import pytest

from flaxoptim_compat.parity.renderings.table import table
from tests.support import parity_reports
from tests.support.parity_reports import DECAY, EPS, report, track


def rows_of(text: str) -> list[list[str]]:
    """The cells of the table of leaves, which are two spaces or more apart."""
    lines = text.splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("leaf "))
    end = lines.index("", start)
    return [line.replace("  ", "\t").replace("\t\t", "\t").split() for line in lines[start:end]]


def words(text: str) -> str:
    """The text without its line ends, which move with the width of what is in it."""
    return " ".join(text.split())


def test_two_runs_that_part() -> None:
    assert str(parity_reports.small()) == table(parity_reports.small())
    text = words(table(parity_reports.small()))
    assert text.startswith(
        "The two runs PART at step 6 of 20, in dense/kernel. There two elements are 48 units in"
        " the last place apart, with an error of 2.84e-06 where 2.34e-06 is allowed. The first bit"
        " differs at step 1 of 20, in dense/kernel: there two elements are 3 units in the last"
        " place apart."
    )
    assert "dense/kernel[2, 1]: first optim.RMSProp(0.01) 0.5 second" in text
    assert "second optax.rmsprop(0.01) 0.50000286" in text


def test_two_runs_that_agree_but_not_bit_for_bit() -> None:
    text = words(table(parity_reports.agreeing()))
    assert text.startswith("The two runs agree within the tolerance at each of 20 steps. The first")
    assert "The first bit differs at step 4 of 20, in dense/kernel: there two elements are 1 unit"
    assert "PART" not in text and "cause" not in text


def test_two_identical_runs() -> None:
    text = table(parity_reports.identical())
    assert text.startswith("The two runs are identical, bit for bit, at each of 20 steps.\n")
    assert "cause" not in text and "differs" not in text
    assert rows_of(text)[1] == ["dense/kernel", "parameter", "0", "0", "0", "0", "-"]
    assert rows_of(text)[2] == ["dense/kernel", "grad_ema", "/", "mu", "0", "0", "0", "0", "-"]


def test_the_columns_are_the_worst_of_each_metric() -> None:
    errors = {3: 0.25, 7: 0.5}
    largest = [1.0] * 7 + [8.0] * 14
    text = table(report(track(error=errors, largest=largest, distance=[0.0] + [0.5] * 20)))
    # Step 7 has the larger error and the larger part of the distance, step 3 the larger part of
    # the largest value, which is then 1, so that 2**-23 is the unit in its last place.
    ulps = f"{0.25 * 2**23:.2e}"
    assert rows_of(text)[1] == [
        *("dense/kernel", "parameter", "5.00e-01", "2.50e-01", ulps, "1.00e+00", "3")
    ]


def test_those_that_part_come_first_then_parameters_then_the_worst() -> None:
    text = table(
        report(
            track("a", 1e-8),
            track("b", 2e-8),
            track("b", 3e-8, "mu"),
            track("c", 1e-3, "nu"),
            track("d", 1e-4),
            track("e", {9: 1e-2}),
        )
    )
    order = [(row[0], row[1]) for row in rows_of(text)[1:]]
    parting = [("e", "parameter"), ("d", "parameter"), ("c", "nu")]
    assert order == [*parting, ("b", "parameter"), ("a", "parameter"), ("b", "mu")]


@pytest.mark.parametrize(
    ("errors", "last"),
    [
        ([1e-3] * 20 + [1e-9] * 5, "and 5 more, none of which parts"),
        ([1e-3] * 21, "and 1 more, 1 of which parts"),
        ([1e-3] * 23 + [1e-9], "and 4 more, 3 of which part"),
        ([1e-9] + [0.0] * 1219, "and 1,200 more, identical bit for bit"),
        ([1e-3] * 20, None),
    ],
)
def test_twenty_rows_and_what_the_rest_is(errors: list[float], last: str | None) -> None:
    lines = table(report(*(track(f"leaf{i}", each) for i, each in enumerate(errors)))).splitlines()
    assert sum(line.startswith("leaf") for line in lines) == 1 + 20
    assert [line for line in lines if line.startswith("and ")] == ([last] if last else [])


def test_what_is_not_finite_reads_so() -> None:
    text = table(parity_reports.with_nan())
    assert words(text).startswith(
        "The two runs PART at step 700 of 1000, in dense/kernel. There the second side alone is not"
        " finite. The first bit differs at step 1 of 1000, in norm/bias:"
    )
    rows = [" ".join(row) for row in rows_of(text)]
    assert rows[1] == "dense/kernel parameter NaN in the second only, step 700 700"
    assert rows[2] == "dense/bias parameter NaN on one side only, step 900 900"
    assert rows[3] == "norm/scale parameter infinity, not on both sides, step 950 950"
    assert rows[4].split()[0] == "norm/bias"
    assert "inf " not in text


@pytest.mark.parametrize(
    ("error", "side", "text"),
    [
        (float("nan"), "first", "NaN in the first only"),
        (float("nan"), "both", "NaN against infinity"),
        (float("inf"), "second", "infinity in the second only"),
        (float("inf"), "both", "infinities that differ"),
    ],
)
def test_which_side_is_not_finite(error: float, side: str, text: str) -> None:
    found = table(report(track(error=error), not_finite=side))
    assert f"{text}, step 1" in found
    alone = f"the {side} side alone is not finite"
    assert ("neither side is finite" if side == "both" else alone) in found


def test_an_error_that_there_is_nothing_to_measure_by() -> None:
    held = track(error=0.5, largest=0.0, distance=[0.0] * 21)
    text = table(report(held))
    cells = rows_of(text)[1]
    assert cells[2:4] == ["5.00e-01", "inf"] and cells[5] == "inf"
    assert "inf          the first side has not moved, so there is nothing to measure by" in text
    assert "inf  " not in table(parity_reports.small())


def test_causes() -> None:
    parts = track(error=1e-3)
    one = table(report(parts, causes=[EPS]))
    assert "Likely cause:\n  - The second side adds eps" in one
    assert "[eps-inside-root]\n    Remedy: optax.rmsprop(0.01, eps_in_sqrt=False)\n" in one
    several = table(report(parts, causes=[EPS, DECAY]))
    assert "Likely causes, all of them together:\n" in several
    assert several.index(EPS.remedy) < several.index(DECAY.remedy)
    assert "No known cause explains the difference." in table(report(parts))
    assert "No known cause" not in one + several


@pytest.mark.parametrize(
    ("tolerance", "dtypes", "text"),
    [
        (None, [np.float32], "5e-06 of the distance, or 8·√step ulp, whichever is more"),
        (None, [np.float32, np.float16], "5e-06 (float32) or 0.041 (float16) of the distance, or"),
        (0.01, [np.float32], "0.01 of the distance, or 8·√step ulp, whichever is more"),
        (0.0, [np.float32], "no difference at all"),
    ],
)
def test_what_is_allowed(tolerance: float | None, dtypes: list[type], text: str) -> None:
    tracks = [track(str(dtype), 1e-3, dtype=dtype) for dtype in dtypes]
    found = table(report(*tracks, tolerance=tolerance))
    assert f"allowed      {text}" in found
    apart = "units in the last place apart, and no difference is allowed."
    assert (apart in words(found)) == (tolerance == 0)


def test_what_else_the_reader_ought_to_know() -> None:
    text = table(report(track(), notes=["Only the first side keeps nu."], loop="open"))
    assert "\nNote: Only the first side keeps nu.\n" in text
    assert "\nBoth sides were given the same gradients.\n" in text
    assert text.endswith("jax 0.10.2, flax 0.12.8, optax 0.2.8, device cpu")


def test_a_moment_has_both_its_names() -> None:
    found = report(track("dense/kernel", 1e-3, "nu", ("grad_sq_ema", "nu")))
    text = table(found)
    assert "in grad_sq_ema / nu of dense/kernel." in text
    assert "  grad_sq_ema / nu of dense/kernel[2, 1]:\n" in text


def test_no_steps_one_bare_array_and_nothing_at_all() -> None:
    bare = table(parity_reports.bare())
    assert "identical, bit for bit, before the first step, and no step was done." in words(bare)
    assert "(the only array)  parameter" in bare
    nothing = table(report())
    assert nothing.startswith("There is nothing to compare: the parameters hold no arrays.\n")
    early = table(report(track("", error={0: 1e-3})))
    assert "The two runs PART before the first step, in (the only array)." in early


@pytest.mark.parametrize("name", ["small", "agreeing", "identical", "with_nan", "bare"])
def test_no_line_is_longer_than_a_hundred_columns(name: str) -> None:
    assert max(map(len, table(getattr(parity_reports, name)()).splitlines())) <= 100


def test_long_names_are_shortened_in_the_middle() -> None:
    path = "encoder/" + "layer/" * 30 + "kernel"
    found = report(
        track(path, 1e-3, "mu", ("m" * 50, "mu")),
        names=("optim.Adam(" + "1" * 200 + ")", "optax.adam(0.1)"),
    )
    lines = table(found).splitlines()
    # Only the verdict has the whole path, to be copied.
    assert [line for line in lines if len(line) > 100] == [line for line in lines if path in line]
    [row] = [line for line in lines if line.startswith("encoder/") and "mmm...mmm" in line]
    assert row.split()[0].endswith("layer/kernel") and "..." in row.split()[0]
    assert len(row) == 100


def test_nothing_in_a_name_moves_the_cursor() -> None:
    text = table(parity_reports.hostile())
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert "größe/层/ядро" in text and r"\x1b[2J" in text
