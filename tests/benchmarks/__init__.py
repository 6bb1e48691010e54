"""How fast the package is, beside the genuine flax.optim and optax written by hand.

``python -m tests.benchmarks`` measures and prints; no test asserts a time. What can be counted
(flops, bytes, compilations, imports) is asserted in the tests, with the same subjects.
"""
