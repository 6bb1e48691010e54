"""The committed files that are made of other files: ``python -m tests.generate`` remakes them.

Each module here has one ``GENERATOR``; ``tests/guide/test_generated.py`` holds what is committed to
what they make. What takes another machine or an installation of its own is recorded by hand:
``record_summaries`` beside TensorFlow, ``python -m tests.benchmarks --json`` on a quiet machine.
"""
