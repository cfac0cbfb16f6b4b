"""The API server's bookkeeping, with the engine played by the test."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from minisgl.core import SamplingParams
from minisgl.message import (
    AbortMsg,
    BaseFrontendMsg,
    BaseTokenizerMsg,
    BatchFrontendMsg,
    StatsReply,
    TokenizedReply,
    TokenizeMsg,
    UserReply,
)
from minisgl.server.errors import ApiError
from minisgl.server.frontend import FrontendManager
from minisgl.server.job import Job
from minisgl.server.limits import EngineLimits
from minisgl.utils.mp import ZmqAsyncPullQueue, ZmqPullQueue, ZmqPushQueue

ONE = SamplingParams(max_tokens=100)


class Engine:
    """All that is behind the API server: the test says what it answers."""

    def __init__(self, folder: Path, tokenizers: int) -> None:
        self.queues: list[ZmqPullQueue[BaseTokenizerMsg]] = [
            ZmqPullQueue(f"ipc://{folder}/t{i}", True, BaseTokenizerMsg.decoder) for i in range(tokenizers)
        ]
        recv = ZmqAsyncPullQueue(f"ipc://{folder}/f", True, BaseFrontendMsg.decoder)
        self._push = ZmqPushQueue(f"ipc://{folder}/f", False, BaseFrontendMsg.encoder)
        send = [
            ZmqPushQueue(f"ipc://{folder}/t{i}", False, BaseTokenizerMsg.encoder) for i in range(tokenizers)
        ]
        self.frontend = FrontendManager(send, recv, EngineLimits(100, 64, 63), max_queue=8)
        self._listener = asyncio.create_task(self.frontend.listen())
        self._open: list[Any] = [*self.queues, recv, self._push, *send]

    async def tell(self, *msgs: BaseFrontendMsg) -> None:
        """Send messages, and wait until the server has handled them."""
        mark = StatsReply(0, 0, 0, 0, 0, 0, 0)
        self._push.put(BatchFrontendMsg([*msgs, mark]))
        while self.frontend.metrics.stats is None:
            await asyncio.sleep(0)
            if self._listener.done():
                self._listener.result()
        self.frontend.metrics.stats = None

    def heard(self, tokenizer: int = 0) -> list[BaseTokenizerMsg]:
        """What the server has told a tokenizer since the last call."""
        msgs = []
        while not self.queues[tokenizer].empty(timeout=0.2):
            msgs.append(self.queues[tokenizer].get())
        return msgs

    def close(self) -> None:
        self._listener.cancel()
        for queue in self._open:
            queue.stop()


Play = Callable[[Callable[[Engine], Awaitable[None]]], None]


@pytest.fixture(params=[1])
def play(request: Any, tmp_path: Path) -> Play:
    """Runs a scene with an engine."""

    def run(scene: Callable[[Engine], Awaitable[None]]) -> None:
        async def whole() -> None:
            engine = Engine(tmp_path, request.param)
            try:
                await asyncio.wait_for(scene(engine), 30)
            finally:
                engine.close()

        asyncio.run(whole())

    return run


def token(uid: int, text: str, reason: str | None = None, **more: Any) -> UserReply:
    return UserReply(uid, text, 1, reason is not None, reason, **more)


async def error_of(job: Job) -> ApiError:
    with pytest.raises(ApiError) as info:
        await job.take()
    return info.value


def test_a_request_and_its_end(play: Play) -> None:
    async def scene(engine: Engine) -> None:
        job = engine.frontend.submit(["a"], ONE)
        assert engine.heard() == [TokenizeMsg(job.uid, "a", ONE)]
        await engine.tell(TokenizedReply(job.uid, 3), token(job.uid, "x"))
        (reply,) = await job.take()
        assert (reply["text"], reply["finish_reason"], job.prompt_tokens) == ("x", None, 3)
        await engine.tell(token(job.uid, "y", "length"))
        assert not job.is_drained
        assert (await job.take())[0]["finish_reason"] == "length" and job.is_drained
        engine.frontend.finish(job)
        assert engine.frontend.num_requests == 0 and engine.heard() == []

    play(scene)


def test_a_client_that_does_not_read_costs_one_reply_a_choice(play: Play) -> None:
    async def scene(engine: Engine) -> None:
        job = engine.frontend.submit(["a"], SamplingParams(n=2))
        await engine.tell(TokenizedReply(job.uid, 1))
        for i in range(100):
            await engine.tell(token(job.uid, f"{i},"), token(job.uid + 1, "z"))
        await engine.tell(token(job.uid, "", "stop"), token(job.uid + 1, "", "length"))
        first, second = await job.take()
        assert first["text"] == "".join(f"{i}," for i in range(100)) and second["text"] == "z" * 100
        assert (first["tokens"], first["finish_reason"], second["finish_reason"]) == (101, "stop", "length")
        assert job.is_drained

    play(scene)


def test_only_what_is_not_done_is_aborted(play: Play) -> None:
    async def scene(engine: Engine) -> None:
        job = engine.frontend.submit(["a", "b"], SamplingParams(n=2))
        assert [msg.uid for msg in engine.heard() if isinstance(msg, TokenizeMsg)] == [job.uid, job.uid + 2]
        await engine.tell(TokenizedReply(job.uid, 1), TokenizedReply(job.uid + 2, 1))
        await engine.tell(token(job.uid + 1, "x", "stop"))
        engine.frontend.finish(job)
        engine.frontend.finish(job)  # a second time: nothing
        assert engine.heard() == [AbortMsg(job.uid), AbortMsg(job.uid + 2), AbortMsg(job.uid + 3)]
        await engine.tell(token(job.uid, "late"), token(job.uid, "", "abort"))
        assert engine.frontend.num_requests == 0

    play(scene)


def test_a_stop_string_ends_the_engine_s_work(play: Play) -> None:
    async def scene(engine: Engine) -> None:
        job = engine.frontend.submit(["a"], SamplingParams(stop=("END",)))
        engine.heard()
        await engine.tell(TokenizedReply(job.uid, 1), token(job.uid, "xE"), token(job.uid, "NDy"))
        assert engine.heard() == [AbortMsg(job.uid)]
        await engine.tell(token(job.uid, "late"), token(job.uid, "", "abort"))
        (reply,) = await job.take()
        assert (reply["text"], reply["finish_reason"]) == ("x", "stop") and job.is_drained

    play(scene)


def test_a_prompt_that_is_none_fails_the_whole_request(play: Play) -> None:
    async def scene(engine: Engine) -> None:
        job = engine.frontend.submit(["a", "b"], ONE)
        engine.heard()
        await engine.tell(TokenizedReply(job.uid, 1), token(job.uid, "x"))
        await engine.tell(TokenizedReply(job.uid + 1, 0, "the prompt is bad"))
        error = await error_of(job)
        assert (error.status, error.message, error.param) == (400, "the prompt is bad", "prompt")
        engine.frontend.finish(job)
        assert engine.heard() == [AbortMsg(job.uid)]  # the engine has never heard of the other
        chat = engine.frontend.submit([[{"role": "user", "content": "a"}]], ONE)
        await engine.tell(TokenizedReply(chat.uid, 0, "the chat is bad"))
        assert (await error_of(chat)).param == "messages"

    play(scene)


def test_an_error_of_the_engine_is_the_server_s(play: Play) -> None:
    async def scene(engine: Engine) -> None:
        job = engine.frontend.submit(["a"], ONE)
        engine.heard()
        await engine.tell(
            TokenizedReply(job.uid, 1), token(job.uid, "", "error", error="logits are no numbers")
        )
        assert ((await error_of(job)).status, (await error_of(job)).message) == (500, "logits are no numbers")
        engine.frontend.finish(job)
        assert engine.heard() == []

    play(scene)


def test_too_much_is_refused_and_room_comes_back(play: Play) -> None:
    async def scene(engine: Engine) -> None:
        with pytest.raises(ApiError) as info:
            engine.frontend.submit(["a"], SamplingParams(n=9))
        assert info.value.status == 400
        jobs = [engine.frontend.submit(["a"], SamplingParams(n=4)) for _ in range(2)]
        assert not engine.frontend.has_room(1)
        with pytest.raises(ApiError) as info:
            engine.frontend.submit(["a"], ONE)
        assert info.value.status == 503
        engine.frontend.finish(jobs[0])
        assert engine.frontend.has_room(4)

    play(scene)


def test_what_cannot_be_sent_leaves_nothing(play: Play) -> None:
    async def scene(engine: Engine) -> None:
        with pytest.raises(ValueError, match="integer"):
            engine.frontend.submit([[10**30]], ONE)
        assert engine.frontend.num_requests == 0

    play(scene)


def test_the_end_of_the_server_is_everybody_s(play: Play) -> None:
    async def scene(engine: Engine) -> None:
        done, waiting = engine.frontend.submit(["a"], ONE), engine.frontend.submit(["b"], ONE)
        await engine.tell(TokenizedReply(done.uid, 1), token(done.uid, "x", "stop"))
        engine.frontend.fail_all(ApiError(503, "shutting down"))
        assert (await done.take())[0]["text"] == "x"  # it was complete
        assert (await error_of(waiting)).message == "shutting down"
        with pytest.raises(ApiError, match="shutting down"):
            engine.frontend.submit(["c"], ONE)

    play(scene)


@pytest.mark.parametrize("play", [3], indirect=True)
def test_an_abort_goes_the_way_of_its_request(play: Play) -> None:
    async def scene(engine: Engine) -> None:
        jobs = [engine.frontend.submit(["a"], SamplingParams(n=n)) for n in (1, 2, 1, 3)]
        for job in jobs:
            engine.frontend.finish(job)
        heard = [engine.heard(i) for i in range(3)]
        for job in jobs:
            (mine,) = [msgs for msgs in heard if any(msg.uid == job.uid for msg in msgs)]
            uids = range(job.uid, job.uid + job.params.n)
            about = [msg for msg in mine if msg.uid in uids]
            assert about == [TokenizeMsg(job.uid, "a", job.params), *(AbortMsg(uid) for uid in uids)]
        assert sum(bool(msgs) for msgs in heard) > 1

    play(scene)
