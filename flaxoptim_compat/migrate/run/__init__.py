"""A run over files and folders, from what is asked to what is reported."""
