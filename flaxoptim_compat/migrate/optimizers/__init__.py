"""Which expressions of a program are optimizers, and which of them can become TrainStates."""
