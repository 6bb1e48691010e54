"""A report as text, as a page, as a plot, and for programs."""
