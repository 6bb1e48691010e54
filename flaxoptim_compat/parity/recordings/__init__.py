"""A run recorded on one machine, to be compared with on another."""
