"""What the text of a program is: its files, notebooks and imports, read and parsed."""
