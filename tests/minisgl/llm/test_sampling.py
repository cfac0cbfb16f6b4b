"""Sampling parameters through the whole engine, against transformers and against formulas."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
import torch
import transformers
from peer_models import peer_model

from minisgl.core import SamplingParams
from minisgl.engine import NO_TOKEN, Sampler
from minisgl.llm import LLM, Generation
from minisgl.message import UserMsg
from minisgl.models.tiny import prompt, tiny_config
from minisgl.utils import trace

ARCHS = ("qwen3", "qwen2", "llama")


def make(tiny, arch: str = "qwen3", **settings) -> LLM:
    return LLM(tiny(arch), **{"num_page_override": 512} | settings)


def peer(arch: str, tiny) -> transformers.PreTrainedModel:
    return peer_model(*tiny(arch))


@torch.inference_mode()
def logits_of(model: transformers.PreTrainedModel, ids: list[int]) -> torch.Tensor:
    return model(torch.tensor([ids])).logits[0]


@pytest.mark.parametrize("arch", ARCHS)
def test_a_repetition_penalty_writes_what_transformers_writes(arch: str, tiny) -> None:
    model, llm = peer(arch, tiny), make(tiny, arch)
    prompts = [prompt(i, 4 + 3 * i) for i in range(4)]
    penalties = [1.3, 1.0, 0.7, 2.5]
    params = [SamplingParams(repetition_penalty=r, max_tokens=16, ignore_eos=True) for r in penalties]
    results = llm.generate(prompts, params)
    for ids, penalty, result in zip(prompts, penalties, results, strict=True):
        output = model.generate(
            torch.tensor([ids]),
            attention_mask=torch.ones(1, len(ids), dtype=torch.long),
            max_new_tokens=16,
            min_new_tokens=16,
            do_sample=False,
            repetition_penalty=penalty,
            pad_token_id=0,
        )
        assert result["token_ids"] == output[0, len(ids) :].tolist()


def test_presence_and_frequency_write_what_openais_formula_gives(tiny) -> None:
    model, llm = peer("qwen3", tiny), make(tiny)
    prompts = [prompt(i, 5) for i in range(3)]
    settings = [(-2.0, 0.0), (0.0, -1.5), (0.5, -1.1)]
    params = [
        SamplingParams(presence_penalty=p, frequency_penalty=f, max_tokens=16, ignore_eos=True)
        for p, f in settings
    ]
    results = llm.generate(prompts, params)
    plain = llm.generate(prompts, SamplingParams(max_tokens=16, ignore_eos=True))
    for ids, (presence, frequency), result, other in zip(prompts, settings, results, plain, strict=True):
        expected: list[int] = []
        for _ in range(16):
            logits = logits_of(model, ids + expected)[-1].clone()
            for token, count in Counter(expected).items():
                logits[token] -= count * frequency + presence
            expected.append(int(logits.argmax()))
        assert result["token_ids"] == expected != other["token_ids"]  # they are not without effect


def test_penalized_and_other_requests_share_batches(tiny, reference) -> None:
    params = SamplingParams(max_tokens=8, ignore_eos=True)
    penalized = replace(params, repetition_penalty=1.4, presence_penalty=0.3)
    llm = make(tiny)
    alone = llm.generate([prompt(1, 6)], penalized)[0]["token_ids"]
    mixed = llm.generate([prompt(0, 5), prompt(1, 6), prompt(2, 7)], [params, penalized, params])
    assert mixed[1]["token_ids"] == alone
    assert mixed[0]["token_ids"] == reference("qwen3", prompt(0, 5), 8)
    assert mixed[2]["token_ids"] == reference("qwen3", prompt(2, 7), 8)


def tokens_of(results: list[Generation]) -> list[list[int]]:
    return [result["token_ids"] for result in results]


SAMPLED = SamplingParams(temperature=0.9, seed=11, max_tokens=12, ignore_eos=True)
KINDS = {
    "plain": SAMPLED,
    "filtered": replace(SAMPLED, top_k=40, top_p=0.9),
    "min_p": replace(SAMPLED, min_p=0.02),
    "penalized": replace(SAMPLED, repetition_penalty=1.3, frequency_penalty=0.4),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_decides_alone_in_a_batch_and_with_a_cached_prefix(kind: str, tiny) -> None:
    params, ids = KINDS[kind], prompt(5, 40)
    alone = tokens_of(make(tiny).generate([ids], params))[0]
    llm = make(tiny, page_size=4)
    others = [SamplingParams(temperature=1.0, max_tokens=3 + i, ignore_eos=True) for i in range(8)]
    many = [ids, *(prompt(i, 3 + i) for i in range(15))]
    settings = [params, *others, *list(KINDS.values()) * 2][: len(many)]
    assert tokens_of(llm.generate(many, settings))[0] == alone
    order = [3, 7, 0, 1, 9]
    assert tokens_of(llm.generate([many[i] for i in order], [settings[i] for i in order]))[2] == alone
    assert tokens_of(make(tiny, emulate_graph=True).generate([ids, ids], params)) == [alone, alone]
    assert tokens_of(make(tiny, cache_type="naive").generate([ids], params))[0] == alone
    assert tokens_of(make(tiny).generate([ids], replace(params, seed=12)))[0] != alone


def test_without_a_seed_each_request_has_its_own_numbers_and_each_engine_repeats_them(tiny) -> None:
    params = replace(SAMPLED, seed=None)
    runs = [tokens_of(make(tiny, seed=seed).generate([prompt(0, 5)] * 3, params)) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
    assert len({tuple(tokens) for tokens in runs[0]}) == 3


def test_n_results_a_prompt_come_one_after_the_other(tiny) -> None:
    llm = make(tiny)
    prompts, seen = [prompt(0, 5), prompt(1, 7)], []
    results = llm.generate(
        prompts, [replace(SAMPLED, n=3), SAMPLED], on_token=lambda index, token: seen.append(index)
    )
    one_by_one = [llm.generate([prompts[0]], replace(SAMPLED, seed=11 + i))[0]["token_ids"] for i in range(3)]
    assert tokens_of(results) == [*one_by_one, llm.generate([prompts[1]], SAMPLED)[0]["token_ids"]]
    assert [result["uid"] for result in results] == [0, 1, 2, 3]
    assert Counter(seen) == dict.fromkeys(range(4), 12)
    unseeded = llm.generate([prompts[0]], replace(SAMPLED, n=4, seed=None))
    assert len({tuple(tokens) for tokens in tokens_of(unseeded)}) == 4
    greedy = llm.generate([prompts[0]], SamplingParams(max_tokens=5, ignore_eos=True, n=3))
    assert tokens_of(greedy)[0] == tokens_of(greedy)[1] == tokens_of(greedy)[2]


@pytest.mark.parametrize("arch", ARCHS)
def test_logprobs_are_those_of_transformers(arch: str, tiny) -> None:
    """Of the raw logits, whatever the token was drawn from."""
    model, llm = peer(arch, tiny), make(tiny, arch)
    prompts = [prompt(i, 4 + i) for i in range(4)]
    params = [
        SamplingParams(max_tokens=6, ignore_eos=True, logprobs=3),
        SamplingParams(max_tokens=9, ignore_eos=True),
        replace(KINDS["penalized"], logprobs=0),
        replace(KINDS["filtered"], logprobs=20),
    ]
    results = llm.generate(prompts, params)
    assert results[1]["logprobs"] is None
    for ids, own, result in zip(prompts, params, results, strict=True):
        if own.logprobs is None:
            continue
        logprobs, tokens = result["logprobs"], result["token_ids"]
        assert logprobs is not None and [entry["token_id"] for entry in logprobs] == tokens
        values = logits_of(model, ids + tokens)[len(ids) - 1 : -1].log_softmax(-1)
        for entry, row in zip(logprobs, values, strict=True):
            assert entry["logprob"] == pytest.approx(float(row[entry["token_id"]]), abs=1e-4)
            best = row.topk(own.logprobs)
            assert [token for token, _ in entry["top"]] == best.indices.tolist()
            assert [value for _, value in entry["top"]] == pytest.approx(best.values.tolist(), abs=1e-4)
    without = llm.generate(prompts, [replace(own, logprobs=None) for own in params])
    assert tokens_of(without) == tokens_of(results), "asking for them changed what was written"


def test_the_token_that_ends_a_text_has_no_logprob(tiny, reference) -> None:
    tokens = reference("qwen3", prompt(0, 5), 6)
    assert tokens[3] not in tokens[:3]
    _, state_dict = tiny()
    llm = LLM((tiny_config(eos_token_ids=(tokens[3],)), state_dict), num_page_override=64)
    [result] = llm.generate([prompt(0, 5)], SamplingParams(logprobs=1))
    assert result["logprobs"] is not None and len(result["logprobs"]) == len(result["token_ids"]) == 3


@pytest.mark.parametrize("ignore_eos", [True, False])
def test_a_stop_id_ends_a_text_and_is_not_part_of_it(ignore_eos: bool, tiny, reference) -> None:
    tokens, llm = reference("qwen3", prompt(0, 5), 6), make(tiny)
    assert tokens[3] not in tokens[:3]
    params = SamplingParams(max_tokens=6, ignore_eos=ignore_eos, stop_token_ids=(511, tokens[3]))
    result, other = llm.generate([prompt(0, 5)] * 2, [params, replace(params, stop_token_ids=())])
    assert (result["token_ids"], result["finish_reason"]) == (tokens[:3], "stop")
    assert (other["token_ids"], other["finish_reason"]) == (tokens, "length")
    last = replace(params, max_tokens=4)
    assert llm.generate([prompt(0, 5)], last)[0]["finish_reason"] == "stop"


def test_stop_strings_need_a_tokenizer(tiny) -> None:
    llm = make(tiny)
    with pytest.raises(ValueError, match="stop strings need a tokenizer"):
        llm.generate([[1]], SamplingParams(stop=("x",)))
    assert llm.generate([[1]], SamplingParams(max_tokens=1))[0]["text"] == ""


MODES = {
    "chunked": {"max_extend_tokens": 7},
    "overlap": {"overlap": True},
    "mixed": {"mixed": True, "max_extend_tokens": 16},
    "overlap, mixed, chunked, graph": {
        "overlap": True,
        "mixed": True,
        "max_extend_tokens": 9,
        "emulate_graph": True,
    },
    "retracted": {"admission": "optimistic", "num_page_override": 64, "watermark": 0},
    "retracted under overlap": {"admission": "optimistic", "num_page_override": 64, "overlap": True},
}


@pytest.mark.parametrize("mode", MODES)
def test_no_way_of_scheduling_changes_what_a_seed_writes(mode: str, tiny) -> None:
    """Nor what penalties count, nor which log-probabilities are reported."""
    kinds = [replace(params, max_tokens=24, logprobs=2) for params in KINDS.values()]
    prompts = [prompt(i, 6 + 5 * i) for i in range(4)]
    expected = make(tiny).generate(prompts, kinds)
    with trace.recording(trace.Recorder()) as recorder:
        results = make(tiny, **MODES[mode]).generate(prompts, kinds)
    assert bool(recorder.of_type("retract")) == mode.startswith("retracted")
    assert tokens_of(results) == tokens_of(expected)
    for result, other in zip(results, expected, strict=True):
        for entry, same in zip(result["logprobs"] or [], other["logprobs"] or [], strict=True):
            assert entry["token_id"] == same["token_id"]
            assert entry["logprob"] == pytest.approx(same["logprob"], abs=1e-4)


@pytest.mark.parametrize("overlap", [False, True])
def test_logits_that_are_no_numbers_end_one_request(overlap: bool, tiny) -> None:
    """The others of its batch go on, and nothing of it is found in the cache later."""
    llm = make(tiny, overlap=overlap)
    expected = tokens_of(llm.generate([prompt(0, 5), prompt(1, 6), prompt(2, 7)], SAMPLED))
    llm, sample, step = make(tiny, overlap=overlap), Sampler.sample, 0

    def failing(self, logits, args, tokens=None):
        nonlocal step
        step += 1
        if step == 4:
            logits = logits.clone()
            logits[1] = float("nan")
        return sample(self, logits, args, tokens)

    llm.engine.sampler.sample = failing.__get__(llm.engine.sampler)  # type: ignore[method-assign]
    for uid in range(3):
        llm.inbox.append(UserMsg(uid, torch.tensor(prompt(uid, 5 + uid), dtype=torch.int32), SAMPLED))
    data = None
    while llm.is_busy:
        data = llm.step(data)
    llm.run_when_idle()
    msgs = {uid: [msg for msg in llm.outbox if msg.uid == uid] for uid in range(3)}
    for uid in (0, 2):
        assert [msg.next_token for msg in msgs[uid]] == expected[uid]
    *before, last = msgs[1]
    assert [msg.next_token for msg in before] == expected[1][:3]
    assert (last.next_token, last.finished, last.finish_reason) == (NO_TOKEN, True, "error")
    assert last.error is not None and "not finite" in last.error
