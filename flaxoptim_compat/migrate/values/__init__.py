"""The values that the expressions of a program can hold, as far as they matter to optimizers."""
