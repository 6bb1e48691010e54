"""What a program does with its optimizers, and what of it can be written with a TrainState."""
