"""The text of a program: its files, notebooks and imports, read and parsed."""
