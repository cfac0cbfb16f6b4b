"""The part of the judge that runs inside a box, next to the learner's code. It holds no secret."""
