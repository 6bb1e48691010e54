"""What takes the place of each name that jax, flax and numpy dropped."""
