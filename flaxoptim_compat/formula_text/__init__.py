"""The formulas of the optimizers as program text: optax's functions, and their arguments."""
