"""The names in a file, and what they refer to."""
