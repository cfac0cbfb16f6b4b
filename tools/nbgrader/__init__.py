"""Course folders for nbgrader."""
