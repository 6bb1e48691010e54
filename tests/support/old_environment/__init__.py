"""Scripts that run beside the genuine flax 0.5.3, in the environment that oracle/ makes."""
