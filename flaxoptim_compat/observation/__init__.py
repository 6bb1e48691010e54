"""What a running program does with its optimizers: where in its text, and with which numbers."""
