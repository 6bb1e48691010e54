"""Reading old source code; none of it is executed."""
