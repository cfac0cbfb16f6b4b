"""From a chapter source to its notebook: the learner's with skeletons, and a solved one to run in tests."""
