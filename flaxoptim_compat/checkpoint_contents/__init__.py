"""What a checkpoint holds: its optimizers, found without importing jax, and shown as text."""
