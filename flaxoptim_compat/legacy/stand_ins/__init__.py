"""Code that serves names without a successor that takes the same arguments."""
