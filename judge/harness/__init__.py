"""Run hidden cases on the reference, the mutants and the boxed submission, and compare."""
