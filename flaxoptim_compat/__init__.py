"""flax.optim on today's jax, flax and optax, and a way out of it."""
