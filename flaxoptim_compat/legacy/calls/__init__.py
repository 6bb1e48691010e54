"""Functions and methods that are still there and take other arguments than they did: as tables."""
