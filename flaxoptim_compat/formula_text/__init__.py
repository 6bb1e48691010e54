"""What the formulas of the optimizers are in a text: optax's functions, and their arguments."""
