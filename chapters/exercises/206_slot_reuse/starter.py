from minisgl.scheduler.utils import recorded_cache_req


def _free_req_resources(self, req):
    """Give back what a request holds: its pages, and its row of the page table."""
    with recorded_cache_req(req, finished=True):  # for the animation
        self.cache_manager.cache_req(req, finished=True)
    self.table_manager.free(req.table_idx)
