"""The contents of a checkpoint: its optimizers, found without importing jax, and shown as text."""
