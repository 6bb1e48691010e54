"""``python -m flaxoptim_compat``."""

from __future__ import annotations

import sys

from flaxoptim_compat.cli import main

sys.exit(main())
