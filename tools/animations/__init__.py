"""Builds the animations: one self-contained module each, which plays anywhere."""
