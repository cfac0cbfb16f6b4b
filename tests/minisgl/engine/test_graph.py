"""Padding to a captured size, and the emulated graph, which shows an input that nobody copied."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from minisgl.core import Batch, SamplingParams
from minisgl.engine import EngineConfig
from minisgl.engine.graph import GraphCaptureBuffer, GraphRunner, choose_graph_sizes
from minisgl.llm import LLM
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict
from minisgl.utils import trace

MODEL = (tiny_config(), tiny_state_dict(tiny_config(), 0))
PROMPTS = [prompt(0, 5), prompt(1, 5), prompt(2, 4)]
GREEDY = SamplingParams(max_tokens=8, ignore_eos=True)


def make_llm(**settings: object) -> LLM:
    return LLM(MODEL, num_page_override=64, max_running_req=4, **settings)


def tokens(llm: LLM, prompts: Sequence[Sequence[int]] = PROMPTS) -> list[list[int]]:
    return [result["token_ids"] for result in llm.generate(prompts, GREEDY)]


def test_sizes_of_the_chapter() -> None:
    assert len(choose_graph_sizes(256)) == 35 and len(choose_graph_sizes(160)) == 23
    assert choose_graph_sizes(24) == [1, 2, 4, 8, 16, 24]
    assert choose_graph_sizes(0) == []


@given(st.integers(1, 300))
def test_sizes_rise_to_the_largest(largest: int) -> None:
    sizes = choose_graph_sizes(largest)
    assert sizes == sorted(set(sizes)) and sizes[-1] == largest


@pytest.mark.parametrize(
    ("sizes", "phase", "size", "padded"),
    [
        ([4, 2, 1], "decode", 1, 1),
        ([4, 2, 1], "decode", 3, 4),
        ([4, 2, 1], "decode", 4, 4),
        ([4, 2, 1], "decode", 5, 5),
        ([4, 2, 1], "prefill", 3, 3),
        ([], "decode", 3, 3),
    ],
)
def test_pad_batch(sizes: list[int], phase: str, size: int, padded: int) -> None:
    dummy = object()
    runner = SimpleNamespace(graph_bs_list=sorted(sizes), max_graph_bs=max(sizes, default=0), dummy_req=dummy)
    reqs = [object() for _ in range(size)]
    batch = Batch(list(reqs), phase)  # type: ignore[arg-type]
    GraphRunner.pad_batch(runner, batch)  # type: ignore[arg-type]
    assert batch.padded_reqs == reqs + [dummy] * (padded - size)
    assert batch.reqs == reqs and batch.padded_reqs is not batch.reqs


def test_inputs_are_copied_in_place_and_the_rest_stays() -> None:
    buffer = GraphCaptureBuffer(4, torch.device("cpu"))
    places = {name: getattr(buffer, name).data_ptr() for name in ("input_ids", "out_loc", "positions")}
    batch = Batch([object()], "decode")  # type: ignore[list-item]
    batch.padded_reqs = [object()] * 2  # type: ignore[list-item]
    batch.input_ids = torch.tensor([5, 6], dtype=torch.int32)
    batch.out_loc = torch.tensor([7, 8], dtype=torch.int32)
    batch.positions = torch.tensor([9, 10], dtype=torch.int32)
    buffer.copy_from(batch)
    assert buffer.input_ids.tolist() == [5, 6, 0, 0]
    assert buffer.out_loc.tolist() == [7, 8, 0, 0]
    assert buffer.positions.tolist() == [9, 10, 0, 0]
    assert places == {name: getattr(buffer, name).data_ptr() for name in places}


def test_chapter_example(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three requests, eight tokens: one prefill, then seven replays padded to four."""
    expected = tokens(make_llm())
    llm = make_llm(emulate_graph=True, cuda_graph_bs=[1, 2, 4])
    sizes = []
    runner = llm.engine.graph_runner
    replay = runner.replay
    monkeypatch.setattr(runner, "replay", lambda batch: (sizes.append(batch.padded_size), replay(batch))[1])
    assert tokens(llm) == expected
    assert sizes == [4] * 7


@pytest.mark.parametrize("forgotten", ["input_ids", "out_loc", "positions"])
def test_an_input_that_is_not_copied_shows(forgotten: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = tokens(make_llm())
    copy_from = GraphCaptureBuffer.copy_from

    def incomplete(self: GraphCaptureBuffer, batch: Batch) -> None:
        kept = getattr(self, forgotten).clone()
        copy_from(self, batch)
        getattr(self, forgotten).copy_(kept)

    monkeypatch.setattr(GraphCaptureBuffer, "copy_from", incomplete)
    llm = make_llm(emulate_graph=True)
    # The pool is not cleared: by chance it may be memory in which the run above left the right values.
    llm.engine.kv_cache.buffer.fill_(1.0)
    assert tokens(llm) != expected


@pytest.mark.parametrize("backend", ["torch", "torch,triton"])
def test_metadata_that_is_not_copied_shows(backend: str) -> None:
    expected = tokens(make_llm())
    llm = make_llm(emulate_graph=True, attention_backend=backend)
    assert tokens(llm) == expected
    llm.engine.attn_backend.prepare_for_replay = lambda batch: None  # type: ignore[method-assign]
    assert tokens(llm) != expected


@pytest.mark.parametrize("arch", ["qwen3", "qwen2", "llama"])
@pytest.mark.parametrize("page_size", [1, 4])
@pytest.mark.parametrize("backend", ["torch", "torch,triton"])
def test_graphs_change_no_token(arch: str, page_size: int, backend: str) -> None:
    """Requests come and go, so that every size is replayed after every other one."""
    config = tiny_config(arch)  # type: ignore[arg-type]
    prompts = [prompt(i, n) for i, n in enumerate((5, 17, 3, 9, 24, 5))]
    params = [SamplingParams(max_tokens=n, ignore_eos=True) for n in (3, 9, 1, 12, 6, 8)]
    sampled = [
        SamplingParams(max_tokens=7, ignore_eos=True, temperature=0.8, top_k=30, seed=1),
        SamplingParams(max_tokens=9, ignore_eos=True, temperature=1.2, seed=2, repetition_penalty=1.3),
        SamplingParams(max_tokens=8, ignore_eos=True, temperature=0.6, seed=3),
    ]
    results = []
    for settings in ({}, {"emulate_graph": True, "attention_backend": backend}):
        llm = LLM(
            (config, tiny_state_dict(config, 0)),
            num_page_override=128,
            page_size=page_size,
            max_running_req=3,
            **settings,
        )
        outputs = llm.generate([*prompts, *(prompt(7 + i, 6) for i in range(3))], [*params, *sampled])
        results.append([output["token_ids"] for output in outputs])
    assert results[0] == results[1]


@pytest.mark.parametrize("emulate", [False, True])
@pytest.mark.parametrize("backend", ["torch", "torch,triton"])
def test_inputs_by_one_kernel(emulate: bool, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU, by the kernel's reference."""
    params = [GREEDY, GREEDY, SamplingParams(max_tokens=8, ignore_eos=True, temperature=0.9, seed=4)]
    expected = make_llm().generate(PROMPTS, params)
    monkeypatch.setattr("minisgl.scheduler.scheduler.use_triton", lambda x: True)
    llm = make_llm(emulate_graph=emulate, attention_backend=backend)
    assert llm.generate(PROMPTS, params) == expected


def test_without_a_graph_of_its_size_a_batch_runs_as_it_is() -> None:
    llm = make_llm(emulate_graph=True, cuda_graph_bs=[2])
    assert tokens(llm) == tokens(make_llm())


def test_no_graph_is_for_more_requests_than_may_run() -> None:
    llm = make_llm(emulate_graph=True, cuda_graph_bs=[1, 8, 10**9])
    assert llm.engine.graph_runner.graph_bs_list == [1, 4]
    assert tokens(llm) == tokens(make_llm())


def test_no_graphs_unless_asked_for() -> None:
    assert make_llm().engine.graph_runner.graph_bs_list == []
    assert make_llm(emulate_graph=True, cuda_graph_max_bs=0).engine.graph_runner.graph_bs_list == []
    assert make_llm(emulate_graph=True, cuda_graph_max_bs=2).engine.graph_runner.graph_bs_list == [1, 2]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cuda_graph_max_bs", -1),
        ("cuda_graph_max_bs", 1.5),
        ("cuda_graph_bs", [0]),
        ("cuda_graph_bs", "12"),
        ("cuda_graph_bs", 4),
        ("emulate_graph", 1),
        ("attention_backend", "flash"),
        ("attention_backend", "fa,fi,torch"),
        ("attention_backend", ""),
    ],
)
def test_settings_are_checked(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be"):
        EngineConfig(model=MODEL, **{name: value})  # type: ignore[arg-type]


def test_captures_and_replays_are_traced() -> None:
    config = tiny_config()
    with trace.recording(trace.Recorder()) as recorder:
        llm = LLM(
            (config, tiny_state_dict(config, 0)),
            num_page_override=32,
            max_running_req=4,
            cuda_graph_bs=[1, 2, 4],
            emulate_graph=True,
        )
        llm.generate([prompt(i, 4) for i in range(3)], SamplingParams(max_tokens=3, ignore_eos=True))
    assert [event["size"] for event in recorder.of_type("graph_capture")] == [4, 2, 1]
    replays = [(event["size"], event["padded_size"]) for event in recorder.of_type("graph_replay")]
    assert replays == [(3, 4), (3, 4)]
