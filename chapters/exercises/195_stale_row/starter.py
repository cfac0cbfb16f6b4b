from minisgl.core import Req


def cache_req(self, req: Req, *, finished: bool) -> None:
    """Hand the KV that a request has computed to the prefix cache, and free the pages that nobody needs."""
    old, end = req.cache_handle, req.cached_len
    row = self.page_table[req.table_idx]
    cached_len, new = self.prefix_cache.insert_prefix(req.input_ids[:end], row[:end].clone())
    self.unlock(old)
    self._free(row[old.cached_len : cached_len])
    if finished:
        self._free(row[new.cached_len : end])
    else:
        req.cache_handle = new
        self.lock(new)
