"""The committed files that are made of other files: ``python -m tests.generate`` remakes them.

Each module here has one ``GENERATOR``; ``tests/guide/test_generated.py`` holds what is committed to
what they make. What takes a quiet machine is recorded by hand: ``python -m tests.benchmarks
--json``.
"""
