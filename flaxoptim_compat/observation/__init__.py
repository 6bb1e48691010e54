"""Where a running program uses optimizers, and with which numbers; comparisons of two runs.

A process that finds a folder in ``FLAXOPTIM_COMPAT_OBSERVE`` or ``FLAXOPTIM_COMPAT_NUMBERS`` writes
a file of its own into it.
"""
