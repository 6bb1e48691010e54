"""A constructor call of flax.optim as the text of the optax transformation that does the same."""
