from minisgl.kvcache import MatchResult
from minisgl.scheduler.utils import PendingReq


def match_req(self, req: PendingReq) -> MatchResult:
    """Find the cached prefix of a prompt. ValueError when the prompt is empty."""
    if req.input_len == 0:
        raise ValueError(f"request {req.uid}: the prompt is empty")
    return self.prefix_cache.match_prefix(req.input_ids)
