"""What a run has found, kept for the next one, for files that have not changed."""
