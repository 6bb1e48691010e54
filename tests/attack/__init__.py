"""Damaged checkpoints, damaged sources and kills, drawn anew for each seed."""
