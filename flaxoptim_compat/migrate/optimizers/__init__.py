"""The uses of optimizers in a program, and which of them a TrainState can replace."""
