"""Measuring a server from outside, as a client meets it."""
