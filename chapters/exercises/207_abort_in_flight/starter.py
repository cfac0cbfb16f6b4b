def _abort_req(self, uid):
    """Stop a request wherever it is; nothing happens when it has ended already."""
    req = self.prefill_manager.abort_req(uid) or self.decode_manager.abort_req(uid)
    if req is not None:
        self._free_req_resources(req)
