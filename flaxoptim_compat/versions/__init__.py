"""The versions of Python and of other packages that are allowed, and how they differ.

What an old one lacks, or says in another way, has its one place here; of jax it is looked for by
what it can do, so that the oldest that are allowed are the only numbers. Since when a function
refuses lists, or a lost module is of no use, is in ``legacy``, with the other tables of its kind.
"""
