"""The engine program: one LLM, its generate calls with the learner's function installed, and what came of it.

Runs inside a box, and for comparison in a box without a learner. A job is plain data, see engine_run.py:

- ``exercise``: slug, place, target, members. Its slug says whether it is the one-file engine that runs.
- ``model``: ``{"tiny_seed": int, "head_dim": int}`` (T0) or ``{"name": str}`` (a folder of a model). T0 may
  have ``rope`` (kind and fields of a rope scaling) and ``shuffled`` (its tensors come in random order).
- ``calls``: for each generate call the prompts, lists of token ids; ``sampling``: fields of SamplingParams.
  There may be ``own_sampling``, more of these, which the prompts of a call take in turn.
- ``dtype``: a name of torch's, and ``settings``: what the LLM is made with. ``trace``: whether to send all.
  There may be ``free_memory``: two lists of bytes, what the ranks report as free before and after loading.
- ``aborts``: for each generate call the step before which its first request is aborted; see EngineJob.
- ``margins``: whether to watch how close the two best tokens are.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import lru_cache
from itertools import count
from types import SimpleNamespace
from typing import Any

import torch

from judge.swap.install import SwapError, SwapSpec, install, replaced
from judge.swap.one_file import SLUGS, OneFileEngine
from minisgl.core import SamplingParams
from minisgl.engine import engine as engine_module
from minisgl.llm import LLM
from minisgl.message import AbortBackendMsg, DetokenizeMsg
from minisgl.models import ModelConfig, resolve_model
from minisgl.models.checkpoint import iter_safetensors
from minisgl.models.locate import BUNDLED
from minisgl.models.tiny import tiny_config, tiny_state_dict
from minisgl.scheduler.cache import CacheManager
from minisgl.utils import trace

Emit = Callable[[dict[str, Any]], None]
_EVENTS_A_FRAME = 200
_ROUNDS = 12  # as in the rehearsal of a box


def run(job: dict[str, Any], functions: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    """Run ``job`` with ``functions`` (by the target's name) and return plain data.

    ``emit`` gets ``{"tokens": [call, prompt, token]}`` for each token as it is generated and, when asked for,
    ``{"trace": [events]}``. Returns ``tokens`` (call, prompt, token ids), ``schedule``, ``admitted``,
    ``evicted``, ``pages``, ``left``, ``integrity`` (empty or what is wrong), ``margin``; or ``{"told":
    {"key", "values"}}`` when the engine cannot do what the function says.
    """
    spec = SwapSpec.of(job["exercise"])
    recorder = trace.Recorder()
    margins = _Margins()
    with ExitStack() as stack:
        if spec.place == "engine":  # it may belong to what makes an engine
            stack.enter_context(install(None, spec, functions))
        llm = _engine(job)
        if isinstance(llm, LLM):
            stack.enter_context(replaced(llm, "run_when_idle", lambda: None))  # looked at once, at the end
        if job["margins"]:
            stack.enter_context(margins.watching(llm))
        for name in _files(functions):
            stack.enter_context(trace.learner_file(name))
        if spec.place != "engine":
            stack.enter_context(install(llm, spec, functions))
        stack.enter_context(trace.recording(recorder))
        try:
            tokens = _generate(llm, job, emit)
        except SwapError as error:
            return {"told": {"key": error.key, "values": error.values}}
    if job["trace"]:
        for start in range(0, len(recorder.events), _EVENTS_A_FRAME):
            emit({"trace": recorder.events[start : start + _EVENTS_A_FRAME]})
    return {
        "tokens": tokens,
        "margin": margins.least,
        **_decisions(recorder),
        **(_pages(llm) if isinstance(llm, LLM) else llm.pages()),
        "setup": _setup(llm) if isinstance(llm, LLM) else llm.setup(),
    }


def warm() -> None:
    """Load what every run needs before boxes are forked: the engine's code, the bundled model's weights."""
    tiny = _model({"tiny_seed": 0, "head_dim": 16})
    LLM(model=tiny, dtype=torch.float32, num_page_override=8, max_seq_len_override=8)
    _model({"name": BUNDLED})
    for _ in range(_ROUNDS):
        for kind in ("naive", "radix"):
            _handle_pages(kind)


def _handle_pages(kind: str) -> None:
    """What exercises do most, so that no box does it for the first time."""
    manager = CacheManager(8, 2, torch.zeros((3, 8), dtype=torch.int32), kind)
    req = SimpleNamespace(uid=0, table_idx=1, cached_len=0, device_len=5, cache_handle=None)
    for ids in (torch.arange(5, dtype=torch.int32), torch.tensor([0, 1, 7, 8, 9], dtype=torch.int32)):
        manager.allocate_paged([req])  # type: ignore[list-item]
        held, handle = manager.prefix_cache.insert_prefix(ids, manager.page_table[1, :5].clone())
        manager.lock(handle)
        found = manager.prefix_cache.match_prefix(ids).cuda_handle
        manager.page_table[1, :held] = found.get_matched_indices()[:held]
        manager.unlock(handle)
        manager._free(manager.page_table[1, found.cached_len : 6].clone())
        sorted(manager.free_slots.tolist())


def _engine(job: dict[str, Any]) -> LLM | OneFileEngine:
    model = _model(job["model"])
    if job["exercise"]["slug"] in SLUGS:
        return OneFileEngine(model)
    with _reporting(job.get("free_memory")):
        return LLM(model=model, dtype=getattr(torch, job["dtype"]), **job["settings"])


@contextmanager
def _reporting(free_memory: Sequence[list[int]] | None) -> Iterator[None]:
    """Ranks report these free bytes to an engine that is made meanwhile, one list each time it asks."""
    if not free_memory:
        yield
        return
    reports = iter(free_memory)
    with replaced(engine_module, "all_gather_int", lambda own: next(reports)):
        yield


def _generate(llm: LLM | OneFileEngine, job: dict[str, Any], emit: Emit) -> list[list[list[int]]]:
    own = job.get("own_sampling") or [{}]
    choices = [SamplingParams(**{**job["sampling"], **one}) for one in own]
    tokens: list[list[list[int]]] = []
    aborts: list[int] = job.get("aborts", [])
    for number, prompts in enumerate(job["calls"]):

        def on_token(index: int, token: int, number: int = number) -> None:
            emit({"tokens": [number, index, token]})

        with ExitStack() as stack:
            if number < len(aborts) and isinstance(llm, LLM):
                stack.enter_context(_client_leaves(llm, sum(map(len, tokens)), aborts[number]))
            params: Any = [choices[i % len(choices)] for i in range(len(prompts))]
            if len(choices) == 1:
                params = choices[0]
            results: Sequence[Any] = llm.generate(prompts, params, on_token=on_token)
        tokens.append([result["token_ids"] for result in results])
    return tokens


@contextmanager
def _client_leaves(llm: LLM, uid: int, at: int) -> Iterator[None]:
    """Before step ``at`` the request is aborted, and nobody waits for it any more."""
    step, numbers = llm.step, count()

    def watched(last_data: Any) -> Any:
        if next(numbers) == at:
            llm.inbox.append(AbortBackendMsg(uid))
            llm.outbox.append(DetokenizeMsg(uid, 0, True, "stop"))
        return step(last_data)

    with replaced(llm, "step", watched):
        yield


@lru_cache(maxsize=1)
def _loaded(name: str) -> tuple[Any, dict[str, torch.Tensor]]:
    """A model folder as a model in memory, so that a forked box need not read files."""
    folder = resolve_model(name)
    weights = iter_safetensors(folder, torch.device("cpu"))
    return ModelConfig.from_folder(folder), {name: tensor.float() for name, tensor in weights}


def _model(model: dict[str, Any]) -> tuple[Any, dict[str, torch.Tensor]]:
    if "name" in model:
        return _loaded(model["name"])
    size = model["head_dim"]
    rotary = replace(tiny_config().rotary_config, head_dim=size)
    if rope := model.get("rope"):
        scaling = {name: value for name, value in rope.items() if name != "kind"}
        rotary = replace(rotary, kind=rope["kind"], scaling=scaling)
    config = tiny_config(head_dim=size, rotary_config=rotary)
    weights = tiny_state_dict(config, model["tiny_seed"])
    if model.get("shuffled"):
        names = list(weights)
        random.Random(model["tiny_seed"]).shuffle(names)
        weights = {name: weights[name] for name in names}
    return config, weights


def _files(functions: Mapping[str, Any]) -> set[str]:
    """The learner's file, as its code objects name it."""
    values = [*functions.values()]
    for value in functions.values():
        if isinstance(value, type):
            values += [getattr(member, "fget", None) or member for member in vars(value).values()]
    codes = [getattr(value, "__code__", None) for value in values]
    return {code.co_filename for code in codes if code is not None}


def _decisions(recorder: trace.Recorder) -> dict[str, Any]:
    """What the scheduler did: of each step phase, uids and token counts; admissions; evicted counts."""
    return {
        "schedule": [[e["phase"], e["uids"], e["tokens"]] for e in recorder.of_type("batch")],
        "admitted": [[e["req"], e["cached_len"]] for e in recorder.of_type("admitted")],
        "evicted": [len(e["locations"]) for e in recorder.of_type("evict")],
    }


def _pages(llm: LLM) -> dict[str, Any]:
    """Which pages are free and which are cached, once nothing runs; each by its first token location.

    ``left``: rows of the page table that are still taken, cached tokens that are still locked.
    """
    manager = llm.cache_manager
    integrity = ""
    try:
        manager.check_integrity()
    except RuntimeError as error:
        integrity = str(error)
    cached = manager.prefix_cache.cached_locations()[:: manager.page_size]
    pages = {"total": manager.num_pages, "free": manager.free_slots.tolist(), "cached": cached.tolist()}
    rows = llm.config.max_running_req - llm.table_manager.available_size
    left = [rows, manager.prefix_cache.size_info.protected_size]
    return {"integrity": integrity, "pages": pages, "left": left}


def _setup(llm: LLM) -> dict[str, Any]:
    """See EngineSetup in judge/types.py."""
    engine = llm.engine
    attention, device = engine.attn_backend, engine.device
    return {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "dtype": str(engine.dtype).removeprefix("torch."),
        "prefill": _name_of(getattr(attention, "prefill_backend", attention)),
        "decode": _name_of(getattr(attention, "decode_backend", attention)),
        "graphs": list(engine.graph_runner.graph_bs_list),
        "overlap": llm.overlap,
    }


def _name_of(backend: Any) -> str:
    return type(backend).__name__.removesuffix("Backend")


class _Margins:
    """The least distance of the two best logits, over the logits' standard deviation, of all steps."""

    def __init__(self) -> None:
        self.least = float("inf")

    @contextmanager
    def watching(self, llm: LLM | OneFileEngine) -> Iterator[None]:
        """Look at the logits on their way to the sampler."""
        if isinstance(llm, OneFileEngine):
            llm.on_logits = lambda logits: self._see(torch.tensor([logits]))
            yield
            return
        sample = llm.engine.sampler.sample

        def watched(logits: torch.Tensor, *args: Any) -> torch.Tensor:
            self._see(logits.float())
            return sample(logits, *args)

        with replaced(llm.engine.sampler, "sample", watched):
            yield

    def _see(self, logits: torch.Tensor) -> None:
        best = logits.topk(2, dim=-1).values
        self.least = min(self.least, float(((best[:, 0] - best[:, 1]) / logits.std(dim=-1)).min()))
