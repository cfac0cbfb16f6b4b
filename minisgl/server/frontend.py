"""Between HTTP and the engine: hands requests to the tokenizers and sorts what comes back."""

from __future__ import annotations

from collections.abc import Sequence

from ..core import SamplingParams
from ..message import (
    AbortMsg,
    BaseFrontendMsg,
    BaseTokenizerMsg,
    BatchFrontendMsg,
    DetokenizerStats,
    StatsReply,
    TokenizedReply,
    TokenizeMsg,
    UserReply,
)
from ..utils.mp import ZmqAsyncPullQueue, ZmqPushQueue
from .errors import ApiError
from .job import Job
from .limits import EngineLimits
from .metrics import Metrics
from .protocol import Prompt


class FrontendManager:
    """Knows every request that is on its way.

    Args:
        send_into_tokenizer: one queue a tokenizer; all messages of a job take the same one, so that an abort
            never overtakes its request.
        recv: what the other processes send to the API server.
        max_queue: most texts that may be on their way; a request that would exceed it is refused.
    """

    def __init__(
        self,
        send_into_tokenizer: Sequence[ZmqPushQueue[BaseTokenizerMsg]],
        recv: ZmqAsyncPullQueue[BaseFrontendMsg],
        limits: EngineLimits,
        max_queue: int,
    ) -> None:
        self.limits = limits
        self.metrics = Metrics()
        self.closing: ApiError | None = None  # why no request is accepted any more
        self._tokenizers = send_into_tokenizer
        self._recv = recv
        self._max_queue = max_queue
        self._next_uid = 0
        self._jobs: dict[int, Job] = {}  # by uid

    @property
    def num_requests(self) -> int:
        """Texts that clients wait for, or have not read to the end."""
        return len(self._jobs)

    def has_room(self, wanted: int) -> bool:
        """Whether so many more texts would be accepted now."""
        return self.closing is None and self.num_requests + wanted <= self._max_queue

    def submit(self, prompts: Sequence[Prompt], params: SamplingParams) -> Job:
        """Send the prompts of a request on their way. `finish` must be called in the end.

        Raises:
            ApiError: the server is ending, or has too much to do.
        """
        if self.closing is not None:
            raise self.closing
        wanted = len(prompts) * params.n
        if wanted > self._max_queue:
            raise ApiError(400, f"{wanted} texts in one request are more than the {self._max_queue} allowed")
        if not self.has_room(wanted):
            raise ApiError(503, "the server has too many requests, try again later", code="overloaded")
        job = Job(self._next_uid, prompts, params)
        self._next_uid += wanted
        for choice in job.choices:
            self._jobs[job.uid + choice.index] = job
        try:
            for i, prompt in enumerate(prompts):
                uid = job.uid + i * params.n
                self._tokenizer_of(job).put(TokenizeMsg(uid, prompt, params))
        except BaseException:
            self.finish(job)
            raise
        return job

    def finish(self, job: Job) -> None:
        """Forget a request. What the engine still does for it is broken off."""
        for choice in job.choices:
            uid = job.uid + choice.index
            if self._jobs.pop(uid, None) is not None and not choice.is_done:
                self._abort(job, uid)

    def fail_all(self, error: ApiError) -> None:
        """Every request ends with this error, and no other is accepted."""
        self.closing = error
        for job in set(self._jobs.values()):
            job.fail(error)

    async def listen(self) -> None:
        """Sort what comes back, for ever."""
        while True:
            msg = await self._recv.get()
            for each in msg.data if isinstance(msg, BatchFrontendMsg) else [msg]:
                self._handle(each)

    def _handle(self, msg: BaseFrontendMsg) -> None:
        if isinstance(msg, StatsReply):
            self.metrics.stats = msg
        elif isinstance(msg, DetokenizerStats):
            self.metrics.detokenizer_requests = msg.requests
        elif isinstance(msg, TokenizedReply):
            self._handle_tokenized(msg)
        elif isinstance(msg, UserReply):
            self._handle_reply(msg)
        else:
            raise TypeError(f"the API server does not know messages of type {type(msg).__name__}")

    def _handle_tokenized(self, msg: TokenizedReply) -> None:
        job = self._jobs.get(msg.uid)
        if job is None:
            return
        if msg.error is not None:
            job.fail(ApiError(400, msg.error, param=job.prompt_param))
            for uid in range(msg.uid, msg.uid + job.params.n):  # the engine never hears of these
                job.choices[uid - job.uid].is_done = True
        else:
            self.metrics.prompt_tokens.inc(msg.prompt_tokens)
            job.tokenized(msg.prompt_tokens)

    def _handle_reply(self, msg: UserReply) -> None:
        job = self._jobs.get(msg.uid)
        choice = None if job is None else job.choices[msg.uid - job.uid]
        if job is None or choice is None or choice.is_done:
            return  # these tokens were on their way when the client went, or when a stop string came
        self.metrics.generated_tokens.inc(msg.tokens)
        if msg.error is not None:
            job.fail(ApiError(500, msg.error))
            choice.is_done = True
            return
        reply, must_abort = choice.add(msg)
        if must_abort:
            self._abort(job, msg.uid)
        self.metrics.observe(choice, job)
        job.add(reply)

    def _abort(self, job: Job, uid: int) -> None:
        self._tokenizer_of(job).put(AbortMsg(uid))

    def _tokenizer_of(self, job: Job) -> ZmqPushQueue[BaseTokenizerMsg]:
        return self._tokenizers[job.uid % len(self._tokenizers)]
