"""What the tab does with learner code: samples, runs in the engine, free code, lint.

Runs inside Pyodide, and in tests on an ordinary Python. It reports and never grades.
"""
