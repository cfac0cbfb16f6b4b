"""Put a learner's functions into a running engine. Runs inside the box and in the browser tab as well.

Nothing here knows of hidden tests, references or verdicts; of the judge it imports nothing else.
"""

from judge.swap.install import SwapError, SwapSpec, install

__all__ = ["SwapError", "SwapSpec", "install"]
