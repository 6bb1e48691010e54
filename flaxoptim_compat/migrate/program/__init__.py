"""The files of a program: which of them an import means, and which are to be read together."""
