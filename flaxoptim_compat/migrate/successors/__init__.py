"""The successors of the names that jax, flax and numpy dropped."""
