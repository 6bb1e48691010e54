"""The tables of names that are gone, one file for each package that had them."""
