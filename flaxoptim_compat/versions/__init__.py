"""Which versions of Python and of other packages are allowed, and in what these differ.

Nothing else asks for a version. What an old one lacks, or says in another way, has its one place
here; of jax it is looked for by what it can do, so that the oldest that are allowed are the only
numbers.
"""
