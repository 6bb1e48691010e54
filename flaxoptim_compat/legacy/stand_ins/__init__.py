"""What serves a name that has no successor which takes the same arguments."""
