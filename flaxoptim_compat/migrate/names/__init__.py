"""What the names in a file refer to."""
