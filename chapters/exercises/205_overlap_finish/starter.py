from minisgl.core import ChunkedReq
from minisgl.engine import NO_TOKEN
from minisgl.message import DetokenizeMsg
from minisgl.scheduler.utils import recorded_cache_req


def why_finished(req, token, eos_token_id):
    """Why a request ends with the token that it has just got; None when it goes on."""
    params = req.sampling_params
    if (token == eos_token_id and not params.ignore_eos) or token in params.stop_token_ids:
        return "stop"
    return None if req.can_decode else "length"


def _process_last_data(self, last_data):
    """Hand out the tokens of a batch, end the requests that are done, cache what prefill has computed."""
    if last_data is None:
        return
    batch, output = last_data[0].batch, last_data[1]
    if output.copy_done_event is not None:
        output.copy_done_event.synchronize()
    self._batch_done()
    reply = []
    ended = set()
    with self.cache_manager.lazy_free_region():
        next_tokens = output.next_tokens_cpu.split(1)
        for i, (req, token) in enumerate(zip(batch.reqs, output.next_tokens_cpu.tolist(), strict=True)):
            if isinstance(req, ChunkedReq):
                continue
            if token == NO_TOKEN:  # the logits were no numbers: the request is ended with an error
                ended.add(req)
                reply.append(self._fail(req))
                continue
            req.append_host(next_tokens[i])
            reason = why_finished(req, token, self.eos_token_id)
            reply.append(DetokenizeMsg(req.uid, token, bool(reason), reason, None, *output.logprob_of(i)))
            if reason is not None and req not in self.finished_reqs:
                ended.add(req)
                self.decode_manager.remove_req(req)
                self._free_req_resources(req)
            elif batch.is_prefill and i >= batch.num_decodes:
                with recorded_cache_req(req, finished=False):  # for the animation
                    self.cache_manager.cache_req(req, finished=False)
    self.finished_reqs = ended
    self.send_result(reply)
