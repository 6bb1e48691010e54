"""Turning the optimizers in a checkpoint into another form, and leaving all else in it alone."""
