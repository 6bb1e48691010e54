"""What the expressions of a program can hold, as far as it matters to optimizers."""
