"""Whatever `LLM` and `generate` are given: one clear error and all pages back, or right tokens."""

import signal
import sys
from types import FrameType
from typing import Any

import numpy as np
import pytest
import torch

from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.models.tiny import prompt

GREEDY = SamplingParams(max_tokens=6, ignore_eos=True)


@pytest.fixture
def llm(tiny) -> LLM:
    return LLM(tiny(), num_page_override=64)


def serves(llm: LLM, reference) -> bool:
    """Whether nothing is left of what went before, and the next request gets its tokens."""
    llm.cache_manager.check_integrity()
    assert not (llm.inbox or llm.outbox or llm.prefill_manager.runnable or llm.decode_manager.runnable)
    assert llm.table_manager.available_size == llm.config.max_running_req
    assert llm.cache_manager.prefix_cache.size_info.protected_size == 0
    return llm.generate([prompt(0, 5)], GREEDY)[0]["token_ids"] == reference("qwen3", prompt(0, 5), 6)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", "hot"),
        ("temperature", None),
        ("temperature", True),
        ("temperature", torch.tensor(0.5)),
        ("top_p", None),
        ("top_p", "0.9"),
        ("top_p", True),
        ("min_p", None),
        ("min_p", False),
        ("top_k", None),
        ("top_k", np.int64(3)),
        ("ignore_eos", "false"),
        ("ignore_eos", None),
        ("max_tokens", np.int64(3)),
        ("max_tokens", "5"),
        ("seed", np.int64(3)),
    ],
)
def test_a_setting_of_another_type_is_named(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{field} must be "):
        SamplingParams(**{field: value})


@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": 1e-320},
        {"temperature": 1e308},
        {"temperature": np.float32(0.5)},
        {"top_p": 1e-50},
        {"top_p": 1e-320, "min_p": 1 - 1e-12},
        {"top_k": 2**70},
        {"min_p": 1e-320},
        {"seed": 2**80},
        {"seed": -5},
        {"max_tokens": 10**30},
    ],
)
def test_extreme_settings_are_served(settings: dict, llm: LLM, reference) -> None:
    params = SamplingParams(**{"temperature": 0.9, "max_tokens": 4, "ignore_eos": True} | settings)
    tokens = llm.generate([prompt(0, 5)], params)[0]["token_ids"]
    assert len(tokens) == min(params.max_tokens, 59) and all(0 <= token < 512 for token in tokens)
    if "top_p" in settings or settings.get("temperature") == 1e-320:
        assert tokens == reference("qwen3", prompt(0, 5), 4)
    assert serves(llm, reference)


@pytest.mark.parametrize(
    ("prompts", "message"),
    [
        (({1: 2} for _ in range(2)), "prompts must be .* not generator"),
        (np.array([[1, 2]]), "prompts must be .* not ndarray"),
        (torch.tensor([[1, 2]]), "prompts must be .* not Tensor"),
        (b"abc", "prompt 0 .* not int"),
        ([[1], np.array([1, 2])], "prompt 1 .* not ndarray"),
        ([torch.tensor([1, 2])], "prompt 0 .* not Tensor"),
        ([b"abc"], "prompt 0 .* not bytes"),
        ([bytearray(b"abc")], "prompt 0 .* not bytearray"),
        ([{1, 2}], "prompt 0 .* not set"),
        ([None], "prompt 0 .* not NoneType"),
        ([[1, 2.0]], r"prompt 0 holds 2\.0 at position 1, which is no int"),
        ([[True]], "prompt 0 holds True at position 0, which is no int"),
        ([[np.int64(3)]], r"prompt 0 holds np\.int64\(3\) at position 0"),
        ([["a"]], "prompt 0 holds 'a' at position 0"),
        ([[1], [[1]]], r"prompt 1 holds \[1\] at position 0"),
    ],
)
def test_what_is_no_prompt_is_named(prompts: object, message: str, llm: LLM, reference) -> None:
    with pytest.raises(TypeError, match=message):
        llm.generate(prompts, GREEDY)  # type: ignore[arg-type]
    assert serves(llm, reference)


def test_a_token_id_of_any_size_is_refused(llm: LLM, reference) -> None:
    for token in (-1, 512, 2**31, 2**63, -(10**30)):
        with pytest.raises(ValueError, match=rf"prompt 1 holds {token} at position 2, a token id outside"):
            llm.generate([[1], [3, 4, token]], GREEDY)
    assert serves(llm, reference)


def test_other_sequences_of_ints_are_prompts(llm: LLM) -> None:
    lists, others = [[1, 2, 3], [4, 5]], ((1, 2, 3), range(4, 6))
    expected = [r["token_ids"] for r in llm.generate(lists, GREEDY)]
    assert [r["token_ids"] for r in llm.generate(others, (GREEDY, GREEDY))] == expected


def test_generate_is_not_entered_twice(llm: LLM, reference) -> None:
    refused = []

    def again(index: int, token: int) -> None:
        with pytest.raises(RuntimeError, match="generate is running already") as info:
            llm.generate([prompt(1, 5)], GREEDY)
        refused.append(str(info.value))

    result = llm.generate([prompt(0, 5)], GREEDY, on_token=again)[0]
    assert result["token_ids"] == reference("qwen3", prompt(0, 5), 6) and len(refused) == 6
    with pytest.raises(RuntimeError, match="generate is running already"):
        llm.generate([prompt(0, 5)], GREEDY, on_token=lambda i, t: llm.generate([[1]]))
    assert serves(llm, reference)


def test_another_engine_may_run_in_the_callback(tiny, llm: LLM, reference) -> None:
    other, tokens = LLM(tiny("llama"), num_page_override=64, page_size=4), []

    def elsewhere(index: int, token: int) -> None:
        tokens.append(other.generate([prompt(1, 5)], GREEDY)[0]["token_ids"])

    result = llm.generate([prompt(0, 5)], GREEDY, on_token=elsewhere)[0]
    assert result["token_ids"] == reference("qwen3", prompt(0, 5), 6)
    assert tokens == [reference("llama", prompt(1, 5), 6)] * 6


def test_shutting_down(llm: LLM, reference) -> None:
    with pytest.raises(RuntimeError, match="generate is running: shut down when it has returned"):
        llm.generate([prompt(0, 5)], GREEDY, on_token=lambda i, t: llm.shutdown())
    assert serves(llm, reference)
    llm.shutdown()
    llm.shutdown()
    with pytest.raises(RuntimeError, match="was shut down: make a new one"):
        llm.generate([prompt(0, 5)], GREEDY)
    with pytest.raises(RuntimeError, match="was shut down: make a new one"):
        llm.reset()


def test_resetting(llm: LLM, reference) -> None:
    with pytest.raises(RuntimeError, match="generate is running: reset when it has returned"):
        llm.generate([prompt(0, 5)], GREEDY, on_token=lambda i, t: llm.reset())
    assert serves(llm, reference)
    llm.reset()
    assert llm.cache_manager.prefix_cache.size_info.evictable_size == 0
    assert serves(llm, reference)


def test_a_callback_that_is_no_function_is_refused_at_once(llm: LLM, reference) -> None:
    with pytest.raises(TypeError, match="on_token must be a function, not int"):
        llm.generate([prompt(0, 5)], GREEDY, on_token=3)  # type: ignore[arg-type]
    assert serves(llm, reference)


@pytest.mark.parametrize("step", range(12))
def test_a_callback_may_raise_at_any_token(step: int, llm: LLM, reference) -> None:
    seen = []

    def failing(index: int, token: int) -> None:
        seen.append(token)
        if len(seen) > step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        llm.generate([prompt(0, 5), prompt(1, 5)], GREEDY, on_token=failing)
    assert serves(llm, reference)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_are_no_numbers_end_with_an_error(temperature: float, tiny, reference) -> None:
    llm = LLM(tiny(), num_page_override=64)
    norm = llm.engine.model.model.norm.weight
    kept, norm[:] = norm.clone(), float("inf")
    params = SamplingParams(temperature=temperature, max_tokens=4)
    with pytest.raises(RuntimeError, match=r"request 0: the model's logits are not finite .*float32"):
        llm.generate([prompt(0, 5)], params)
    norm[:] = kept
    assert serves(llm, reference)


class Interrupter:
    """Raises KeyboardInterrupt at the n-th line that the code of some files comes to; see sys.settrace."""

    def __init__(self, n: int, files: tuple[str, ...]) -> None:
        self.left = n
        self.files = files

    def __call__(self, frame: FrameType, event: str, arg: object) -> "Interrupter | None":
        if not frame.f_code.co_filename.endswith(self.files):
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self


PLAIN = {"num_page_override": 16, "page_size": 4}
ALL_AT_ONCE = {  # with these, a prompt is cut and a request retracted
    "num_page_override": 9,
    "page_size": 2,
    "overlap": True,
    "mixed": True,
    "admission": "optimistic",
    "watermark": 0,
    "max_extend_tokens": 5,
}


@pytest.mark.parametrize(
    ("files", "stride", "settings"),
    [
        (("engine.py",), 1, PLAIN),
        (("scheduler/cache.py",), 2, PLAIN),
        (("scheduler.py", "io.py", "decode.py", "table.py"), 3, PLAIN),
        (("core.py", "prefill.py", "radix_cache.py", "utils.py"), 11, PLAIN),
        (("scheduler.py", "scheduler/cache.py", "decode.py", "prefill.py", "retract.py"), 43, ALL_AT_ONCE),
    ],
)
def test_an_interrupt_at_any_line_leaves_everything_in_order(
    files: tuple[str, ...], stride: int, settings: dict[str, Any], tiny, reference
) -> None:
    llm = LLM(tiny(), **settings)
    prompts, max_tokens = [prompt(0, 9), prompt(0, 9)], 2
    if settings is ALL_AT_ONCE:
        prompts, max_tokens = [prompt(0, 5), prompt(1, 4), prompt(0, 5)], 5
    n, interrupted = 1, 0
    while True:
        interrupter = Interrupter(n, tuple("/" + file for file in files))
        sys.settrace(interrupter)
        try:
            llm.generate(prompts, SamplingParams(max_tokens=max_tokens, ignore_eos=True))
        except KeyboardInterrupt:
            interrupted += 1
        finally:
            sys.settrace(None)
        if interrupter.left > 0:
            break
        llm.cache_manager.check_integrity()
        n += stride
    assert interrupted > 20
    assert serves(llm, reference)


@pytest.mark.skipif(not hasattr(signal, "raise_signal"), reason="needs signals")
def test_control_c(llm: LLM, reference) -> None:
    with pytest.raises(KeyboardInterrupt):
        llm.generate([prompt(0, 5)], GREEDY, on_token=lambda i, t: signal.raise_signal(signal.SIGINT))
    assert serves(llm, reference)
