"""Code that serves lost names which have no successor with the same arguments."""
