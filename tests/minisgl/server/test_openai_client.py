"""OpenAI's own Python client against a real server with the bundled model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from minisgl import SamplingParams
from minisgl.llm import LLM

MODEL = "minisgl-tiny"
QUESTION: Any = [{"role": "user", "content": "What is a KV cache?"}]
ANSWER = "A KV cache keeps the keys and values of all earlier tokens in memory"


@pytest.fixture(scope="module")
def client(server: Any) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0, timeout=60) as client:
        yield client


@pytest.fixture(scope="module")
def llm() -> Iterator[LLM]:
    """The same model, offline."""
    llm = LLM(MODEL, num_page_override=4096)
    yield llm
    llm.shutdown()


def test_models(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == [MODEL]
    assert client.models.retrieve(MODEL).owned_by == "minisgl"
    with pytest.raises(openai.NotFoundError, match="there is no model 'gpt'") as info:
        client.models.retrieve("gpt")
    assert info.value.code == "model_not_found"


def test_a_chat(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(model=MODEL, messages=QUESTION, temperature=0)
    (choice,) = answer.choices
    assert choice.message.role == "assistant" and choice.message.content is not None
    assert choice.message.content.startswith(ANSWER) and choice.finish_reason == "stop"
    assert answer.usage is not None and answer.usage.prompt_tokens == 16
    assert answer.usage.total_tokens == 16 + answer.usage.completion_tokens


def test_a_streamed_chat_says_the_same(client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(model=MODEL, messages=QUESTION, temperature=0)
    chunks = list(
        client.chat.completions.create(
            model=MODEL, messages=QUESTION, temperature=0, stream=True, stream_options={"include_usage": True}
        )
    )
    assert chunks[0].choices[0].delta.role == "assistant"
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == whole.choices[0].message.content
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert chunks[-1].usage == whole.usage and not chunks[-1].choices
    assert len({chunk.id for chunk in chunks}) == 1
    assert len(chunks) > 10, "it came in one piece"


def test_without_stream_there_is_one_json_body(server: Any) -> None:
    """Defect 7: `stream=false` was ignored."""
    import httpx

    for stream, media_type in ((False, "application/json"), (True, "text/event-stream; charset=utf-8")):
        body = {"prompt": [5, 6, 7, 8, 9], "max_tokens": 8, "ignore_eos": True, "stream": stream}
        answer = httpx.post(server.url + "/v1/completions", json=body, timeout=60)
        assert answer.headers["content-type"] == media_type
        if stream:
            assert answer.text.endswith("data: [DONE]\n\n")
        else:
            assert answer.json()["usage"] == {"prompt_tokens": 5, "completion_tokens": 8, "total_tokens": 13}


@pytest.mark.parametrize("stream", [False, True])
def test_the_server_writes_what_the_offline_engine_writes(
    client: openai.OpenAI, llm: LLM, stream: bool
) -> None:
    prompts: list[Any] = ["The capital of France is", "从前，在海边的一个小村子里，住着", "def fibonacci(n):"]
    expected = llm.generate(prompts, SamplingParams(max_tokens=40))
    settings: Any = {"model": MODEL, "temperature": 0, "max_tokens": 40, "stream": stream}
    answer = client.completions.create(prompt=prompts, **settings)
    texts = ["", "", ""]
    for part in answer if stream else [answer]:
        for choice in part.choices:
            texts[choice.index] += choice.text
    assert texts == [generation["text"] for generation in expected]
    assert not any("\ufffd" in text for text in texts)


def test_prompts_as_ids_and_lists(client: openai.OpenAI, llm: LLM) -> None:
    assert llm.tokenizer is not None
    ids = llm.tokenizer.encode("1 + 1 =")
    forms: list[Any] = ["1 + 1 =", ids, ["1 + 1 =", "1 + 1 ="], [ids, ids]]
    for prompt in forms:
        answer = client.completions.create(model=MODEL, prompt=prompt, temperature=0, max_tokens=2)
        assert {choice.text for choice in answer.choices} == {" 2"}
        assert [choice.index for choice in answer.choices] == list(range(len(answer.choices)))
        assert answer.usage is not None and answer.usage.prompt_tokens == len(ids) * len(answer.choices)


def test_a_seed_gives_the_same_text_again_and_n_gives_others(client: openai.OpenAI) -> None:
    def ask(seed: int) -> list[str | None]:
        answer = client.chat.completions.create(
            model=MODEL,
            messages=[{"role": "user", "content": "Tell me a story."}],
            n=3,
            seed=seed,
            max_tokens=24,
        )
        return [choice.message.content for choice in answer.choices]

    first = ask(5)
    assert ask(5) == first and len(set(first)) == 3
    assert ask(6)[:2] == first[1:], "the i-th text has the seed plus i"


def test_n_texts_can_be_streamed(client: openai.OpenAI) -> None:
    settings: Any = {
        "model": MODEL,
        "messages": QUESTION,
        "n": 2,
        "seed": 1,
        "max_tokens": 12,
        "temperature": 1.5,
    }
    whole = client.chat.completions.create(**settings)
    texts = ["", ""]
    reasons = {}
    for chunk in client.chat.completions.create(**settings, stream=True):
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
            if choice.finish_reason:
                reasons[choice.index] = choice.finish_reason
    assert texts == [choice.message.content for choice in whole.choices]
    assert reasons == {choice.index: choice.finish_reason for choice in whole.choices}


@pytest.mark.parametrize("stream", [False, True])
def test_stop_strings(client: openai.OpenAI, server: Any, stream: bool) -> None:
    settings: Any = {
        "model": MODEL,
        "messages": QUESTION,
        "temperature": 0,
        "stop": ["values of", "zzz"],
        "stream": stream,
    }
    answer = client.chat.completions.create(**settings)
    if stream:
        chunks = list(answer)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        reason = chunks[-1].choices[0].finish_reason
    else:
        text, reason = answer.choices[0].message.content, answer.choices[0].finish_reason
    assert (text, reason) == ("A KV cache keeps the keys and ", "stop")
    server.wait_idle()


def test_stop_token_ids(client: openai.OpenAI, llm: LLM) -> None:
    assert llm.tokenizer is not None
    (stop,) = llm.tokenizer.encode(" keeps")
    answer = client.chat.completions.create(
        model=MODEL, messages=QUESTION, temperature=0, extra_body={"stop_token_ids": [stop]}
    )
    assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == ("A KV cache", "stop")


def test_logprobs(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(
        model=MODEL, messages=QUESTION, temperature=0, max_tokens=5, logprobs=True, top_logprobs=2
    )
    (choice,) = answer.choices
    assert choice.logprobs is not None and choice.logprobs.content is not None
    assert "".join(entry.token for entry in choice.logprobs.content) == choice.message.content
    for entry in choice.logprobs.content:
        assert len(entry.top_logprobs) == 2 and entry.top_logprobs[0].logprob == entry.logprob <= 0
        assert bytes(entry.bytes or []).decode() == entry.token

    text = client.completions.create(
        model=MODEL, prompt="一加一等于", temperature=0, max_tokens=3, logprobs=1
    )
    logprobs = text.choices[0].logprobs
    assert logprobs is not None and logprobs.tokens is not None and logprobs.text_offset is not None
    assert "".join(logprobs.tokens) == text.choices[0].text
    assert logprobs.text_offset[0] == 0 and logprobs.token_logprobs is not None
    assert all(value is not None and value <= 0 for value in logprobs.token_logprobs)


def test_length_is_what_was_asked_for(client: openai.OpenAI) -> None:
    answer = client.completions.create(model=MODEL, prompt="a", max_tokens=7, extra_body={"ignore_eos": True})
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage is not None and answer.usage.completion_tokens == 7


def test_a_sequence_ends_where_the_context_does(client: openai.OpenAI) -> None:
    answer = client.completions.create(
        model=MODEL, prompt=[7] * 2040, max_tokens=100, extra_body={"ignore_eos": True}
    )
    assert answer.usage is not None
    assert (answer.usage.completion_tokens, answer.choices[0].finish_reason) == (8, "length")


def test_errors_arrive_as_the_client_knows_them(client: openai.OpenAI) -> None:
    def refused(**settings: Any) -> openai.BadRequestError:
        with pytest.raises(openai.BadRequestError) as info:
            client.chat.completions.create(**{"model": MODEL, "messages": QUESTION, **settings})
        return info.value

    assert refused(temperature=-1).param == "temperature"
    assert refused(n=0).param == "n"
    assert refused(max_tokens=0).param == "max_tokens"
    assert refused(messages=[]).param == "messages"
    assert refused(extra_body={"surprise": 1}).code == "unknown_parameter"
    assert refused(stream=True, messages=[{"role": "user", "content": "a " * 5000}]).param == "messages"
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="gpt", messages=QUESTION)
