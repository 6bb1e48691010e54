"""What two runs print: which differences count, and which are noise of a run."""

from __future__ import annotations

import pytest

from flaxoptim_compat.observation.printed_lines import Closeness, compare

SAME_BITS = Closeness(1e-6, is_rounded=False)
ROUNDED = Closeness(1e-4, is_rounded=True)

# Without a third run: the old program, and the new one.
NOISE = {
    "a duration": ("Training took 3 s", "Training took 4 s"),
    "a time by its name": ("epoch 1, loss 0.25, time: 3", "epoch 1, loss 0.25, time: 4"),
    "a speed": ("step 10 (12.3 it/s)", "step 10 (1.4 it/s)"),
    "steps per second": ("steps_per_sec=12.5 loss=0.5", "steps_per_sec=9 loss=0.5"),
    "a log of absl": (
        "I1129 05:01:15.123456 140 train.py:33] loss = 0.4",
        "I1130 05:01:16.987654 151 train.py:35] loss = 0.4",
    ),
    "a log of Python": (
        "2026-11-29 05:01:15,123 INFO root train.py:7 loss=0.4",
        "2026-11-29 05:01:17,003 INFO root train.py:9 loss=0.4",
    ),
    "a bar of tqdm": (
        "\r  0%|   | 0/9 [00:00<?, ?it/s]\r100%|███| 9/9 [00:00<00:00, 95.1it/s, loss=0.25]",
        "\r100%|███| 9/9 [00:01<00:00,  7.31it/s, loss=0.25]",
    ),
    "a warning": ("t.py:9: FutureWarning: gone\n  optim.Adam()\nloss 0.5", "loss 0.5"),
    "a warning of XLA": (
        "loss 0.5\n2026-11-29 05:01:15.1: W external/xla/service/platform.cc:211] no TPU",
        "W0000 00:00:1732 140 compiler.cc:42] slow\nloss 0.5",
    ),
    "our closing line": ("flaxoptim-compat: used flax.optim.Adam (1x).", ""),
    "an object": ("<Model object at 0x7f01aa>", "<Model object at 0x7f99bb>"),
    "pytest": (
        "== warnings summary ==\na.py:3: gone\n-- Docs: https\n== 2 passed, 1 warning in 1.2s ==",
        "=== 2 passed in 13.92s ===",
    ),
    "two processes": ("[0] loss 0.5\n[1] loss 0.25", "[1] loss 0.25\n[0] loss 0.5"),
    "alignment": ("[ 1.5  2.5]", "[1.5 2.5]"),
    "one number": ("loss 1.50, step 3", "loss 1.5, step 3.0"),
    "a rounding": ("loss 0.12345678", "loss 0.12345679"),
}
# With a third one, which is another run of the old program.
DRAWN = {
    "names": (
        "run happy-fox: 7 steps\nloss 0.5",
        "run sad-cat: 7 steps\nloss 0.5",
        "run mad-dog: 7 steps\nloss 0.5",
    ),
    "a column": ("1,0.5,0.013\n2,0.4,0.011", "1,0.5,0.01\n2,0.4,0.012", "1,0.5,0.02\n2,0.4,0.017"),
    "lines of a progress": ("waiting...\nwaiting...\nloss 1", "loss 1", "waiting...\nloss 1"),
    "temporary files": ("saved to /tmp/tmpa1_x", "saved to /tmp/tmpqq7", "saved to /tmp/tmp99z"),
}
DIFFERENT = {
    "a loss": ("loss 0.5", "loss 0.51"),
    "a step": ("step 3: 0.5 in 3 s", "step 4: 0.5 in 3 s"),
    "a line more": ("loss 0.5", "loss 0.5\nloss 0.5"),
    "a line less": ("epoch 1\nloss 0.5", "epoch 1"),
    "not a number": ("loss 0.5", "loss nan"),
    "time steps": ("timesteps 1000", "timesteps 2000"),
    "a sign": ("return -1.5", "return 1.5"),
    "which process": ("[0] loss 0.5\n[1] loss 0.25", "[0] loss 0.25\n[1] loss 0.5"),
    "a class": ("Optimizer(step=3)", "TrainState(step=3)"),
    "a size": ("accuracy 0.9", "accuracy 0.8"),
}


@pytest.mark.parametrize("name", NOISE)
def test_what_a_run_does_to_its_output(name: str) -> None:
    old, new = NOISE[name]
    for closeness in (SAME_BITS, ROUNDED):
        assert compare(old, new, None, closeness).differing == []
        assert compare(old, new, old, closeness).differing == []


@pytest.mark.parametrize("name", DRAWN)
def test_a_third_run_shows_what_is_drawn(name: str) -> None:
    old, new, again = DRAWN[name]
    assert compare(old, new, None, SAME_BITS).differing
    assert compare(old, new, again, SAME_BITS).differing == []
    # All else counts.
    old, new, again = (
        f"{each}\nreturn {last}" for each, last in zip(DRAWN[name], "121", strict=True)
    )
    assert compare(old, new, again, SAME_BITS).differing == [("return 1", "return 2")]


@pytest.mark.parametrize("name", DIFFERENT)
@pytest.mark.parametrize("closeness", [SAME_BITS, ROUNDED])
def test_what_the_program_does(name: str, closeness: Closeness) -> None:
    old, new = DIFFERENT[name]
    for again in (None, old):
        assert compare(old, new, again, closeness).differing


def test_where_the_optimizers_are_rounded_a_last_digit_may_be() -> None:
    assert compare("loss 0.1234", "loss 0.1235", None, SAME_BITS).differing
    assert not compare("loss 0.1234", "loss 0.1235", None, ROUNDED).differing
    assert compare("loss 0.1234", "loss 0.1237", None, ROUNDED).differing
    assert compare("1234 right", "1235 right", None, ROUNDED).differing


def test_all_lines_are_the_same_or_only_what_counts_of_them() -> None:
    same = compare("b\na", "a\nb\n\n", None, SAME_BITS)
    assert (same.compared, same.is_exact) == (2, True)
    assert not compare("1 s", "2 s", None, SAME_BITS).is_exact
