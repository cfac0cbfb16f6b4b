"""Builds what Python in the tab is made of: see web/README.md."""
