from minisgl.core import Batch


def schedule_next_batch(self) -> Batch | None:
    """One token for each running request; None when nothing runs."""
    if not self.running_reqs:
        return None
    return Batch(list(self.running_reqs), "decode")
