"""What programs do with their optimizers, noted while they run, and two runs compared.

A process that finds a folder in ``FLAXOPTIM_COMPAT_OBSERVE`` writes a file of its own into it.
"""
