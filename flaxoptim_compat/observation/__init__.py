"""The use of optimizers in a running program: where in its text, and with which numbers.

A process that finds a folder in ``FLAXOPTIM_COMPAT_OBSERVE`` or ``FLAXOPTIM_COMPAT_NUMBERS`` writes
a file of its own into it.
"""
