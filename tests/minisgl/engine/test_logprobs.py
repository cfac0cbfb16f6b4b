"""Log-probabilities of tokens, one batch at a time."""

from __future__ import annotations

import pytest
import torch

from minisgl.core import Batch, Req, SamplingParams
from minisgl.engine import NO_TOKEN, Sampler

VOCAB = 30


def reported(logits: torch.Tensor, tokens: list[int], *params: SamplingParams):
    sampler = Sampler(torch.device("cpu"), VOCAB, 0, num_rows=len(params))
    ids = torch.zeros(3, dtype=torch.int32)
    batch = Batch([Req(ids, i, 0, 9, i, p, None) for i, p in enumerate(params)], "prefill")
    return sampler.logprobs(logits, torch.tensor(tokens, dtype=torch.int32), sampler.prepare(batch))


def test_nothing_is_computed_when_nobody_asks() -> None:
    assert reported(torch.zeros(2, VOCAB), [0, 0], SamplingParams(), SamplingParams(temperature=1.0)) is None


def test_each_request_gets_what_it_asked_for() -> None:
    logits = torch.randn(4, VOCAB, generator=torch.Generator().manual_seed(0)) * 3
    result = reported(
        logits,
        [7, 8, 9, 10],
        SamplingParams(logprobs=3),
        SamplingParams(),
        SamplingParams(logprobs=0, temperature=2.0, top_k=3),
        SamplingParams(logprobs=5),
    )
    assert result is not None
    values = logits.log_softmax(-1)
    assert result.of(1) == (None, None)
    chosen, top = result.of(2)
    assert chosen == pytest.approx(values[2, 9].item()) and top == []
    for i, token, count in ((0, 7, 3), (3, 10, 5)):
        chosen, top = result.of(i)
        best = values[i].topk(count)
        assert chosen == pytest.approx(values[i, token].item())
        assert [entry[0] for entry in top] == best.indices.tolist()
        assert [entry[1] for entry in top] == pytest.approx(best.values.tolist())


def test_a_small_vocabulary_has_no_more_to_report() -> None:
    result = reported(torch.zeros(1, 4), [1], SamplingParams(logprobs=20))
    assert result is not None and len(result.of(0)[1]) == 4


def test_a_failed_request_does_not_disturb() -> None:
    logits = torch.zeros(2, VOCAB)
    logits[0] = float("nan")
    result = reported(logits, [NO_TOKEN, 4], SamplingParams(logprobs=1), SamplingParams(logprobs=1))
    assert result is not None and result.of(1)[0] == pytest.approx(-torch.tensor(float(VOCAB)).log().item())
