"""Record the event file that Flax's own SummaryWriter makes (runs beside TensorFlow)."""

from __future__ import annotations

import tempfile
from pathlib import Path

from flax.metrics.tensorboard import SummaryWriter

from tests.data.goldens import DIRECTORY
from tests.support.summaries import calls


def main() -> None:
    """Record everything."""
    with tempfile.TemporaryDirectory() as directory:
        writer = SummaryWriter(directory)
        for method, positional, named in calls():
            getattr(writer, method)(*positional, **named)
        writer.close()
        (events,) = Path(directory).iterdir()
        (DIRECTORY / "summaries.tfevents").write_bytes(events.read_bytes())


if __name__ == "__main__":
    main()
