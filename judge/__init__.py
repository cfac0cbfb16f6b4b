"""Judge a learner's function with hidden tests, then run it inside the engine."""
