"""The names in a file, and the modules and objects that they refer to."""
