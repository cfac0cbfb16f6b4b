"""Text in, text out: a model folder with its tokenizer, and the bundled model."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import safetensors.torch
import tokenizers
import torch

from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.models import resolve_model
from minisgl.models.tiny import hf_config_dict, tiny_config, tiny_state_dict

PARAMS = SamplingParams(max_tokens=6, ignore_eos=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tiny model whose first 256 tokens are bytes."""
    config = tiny_config()
    (tmp_path / "config.json").write_text(json.dumps(hf_config_dict(config)), encoding="utf-8")
    safetensors.torch.save_file(tiny_state_dict(config, 0), tmp_path / "model.safetensors")
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocab = {symbol: index for index, symbol in enumerate(alphabet)}
    vocab |= {f"<{index}>": index for index in range(len(vocab), config.vocab_size)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocab, merges=[]))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def test_texts_and_token_ids_are_the_same_prompt(folder: Path) -> None:
    llm = LLM(folder, num_page_override=64)
    assert llm.tokenizer is not None
    text = "a 中🙂"
    ids = llm.tokenizer.encode(text)
    assert len(ids) == 9 and llm.tokenizer.decode(ids) == text
    from_text, from_ids = llm.generate([text, ids], PARAMS)
    assert from_text["token_ids"] == from_ids["token_ids"]
    assert from_text["text"] == llm.tokenizer.decode(from_text["token_ids"]) == from_ids["text"]


def test_token_ids_need_no_tokenizer_to_run(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    llm = LLM(folder, num_page_override=64)
    with pytest.raises(
        ValueError, match="prompt 0 is a text, but the model has no tokenizer: give token ids"
    ):
        llm.generate(["a text"], PARAMS)
    result = llm.generate([[1, 2, 3]], PARAMS)[0]
    assert len(result["token_ids"]) == 6 and result["text"] == ""


def test_an_empty_text_is_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="prompt 0: the prompt is empty"):
        LLM(folder, num_page_override=64).generate([""], PARAMS)


def _bundled() -> bool:
    try:
        resolve_model("minisgl-tiny")
    except FileNotFoundError:
        return False
    return True


@pytest.mark.skipif(not _bundled(), reason="the bundled model is not in this tree")
@pytest.mark.parametrize(("page_size", "cache_type"), [(1, "radix"), (4, "naive"), (16, "radix")])
def test_the_bundled_model_writes_what_transformers_writes(page_size: int, cache_type: str) -> None:
    import transformers

    llm = LLM(page_size=page_size, num_page_override=1024 // page_size, cache_type=cache_type)
    texts = ["The capital of France is", "Once upon a time", "从前", "1 + 1 ="]
    results = llm.generate(texts, SamplingParams(max_tokens=16, ignore_eos=True))
    peer = transformers.AutoModelForCausalLM.from_pretrained(
        resolve_model("minisgl-tiny"), dtype=torch.float32
    )
    peer.generation_config.eos_token_id = None  # it, too, goes on after the end of a text
    assert llm.tokenizer is not None
    for text, result in zip(texts, results, strict=True):
        ids = torch.tensor([llm.tokenizer.encode(text)])
        mask = torch.ones_like(ids)
        output = peer.generate(ids, attention_mask=mask, max_new_tokens=16, do_sample=False)
        assert result["token_ids"] == output[0, ids.shape[1] :].tolist()
        assert result["text"] == llm.tokenizer.decode(result["token_ids"])


@pytest.mark.parametrize("overlap", [False, True])
def test_a_stop_string_ends_the_text_before_it(overlap: bool, folder: Path) -> None:
    llm = LLM(folder, num_page_override=256, overlap=overlap)
    params = SamplingParams(max_tokens=40, ignore_eos=True, temperature=1.0, seed=4)
    prompts = [[65, 66, 67], [68, 69], [70]]
    full = llm.generate(prompts, params)
    text = full[0]["text"]
    stop = text[12:15]
    assert text.index(stop) == 12
    seen: list[tuple[int, int]] = []
    results = llm.generate(
        prompts,
        [replace(params, stop=("not there", stop, text[20:22])), params, params],
        on_token=lambda index, token: seen.append((index, token)),
    )
    assert results[0]["text"] == text[:12] and results[0]["finish_reason"] == "stop"
    assert results[1:] == [{**old, "uid": new["uid"]} for old, new in zip(full[1:], results[1:], strict=True)]
    ids = results[0]["token_ids"]
    assert ids == full[0]["token_ids"][: len(ids)] == [token for index, token in seen if index == 0]
    assert llm.tokenizer is not None and stop in llm.tokenizer.decode(ids)
    assert stop not in llm.tokenizer.decode(ids[:-1])
    llm.cache_manager.check_integrity()
    assert llm.table_manager.available_size == llm.config.max_running_req


def test_a_stop_string_that_never_comes_changes_nothing(folder: Path) -> None:
    """Not even where the text ends in its beginning."""
    llm = LLM(folder, num_page_override=256)
    params = SamplingParams(max_tokens=20, ignore_eos=True, temperature=1.0, seed=4)
    [full] = llm.generate([[65, 66, 67]], params)
    [same] = llm.generate([[65, 66, 67]], replace(params, stop=(full["text"][-1] + "☃",)))
    assert (same["text"], same["token_ids"]) == (full["text"], full["token_ids"])
    assert same["finish_reason"] == "length"


def test_a_stop_string_may_end_with_the_last_token(folder: Path) -> None:
    llm = LLM(folder, num_page_override=256)
    params = SamplingParams(max_tokens=20, ignore_eos=True, temperature=1.0, seed=4)
    [full] = llm.generate([[65, 66, 67]], params)
    stop = full["text"][-3:]
    [cut] = llm.generate([[65, 66, 67]], replace(params, stop=stop))  # type: ignore[arg-type]
    assert cut["text"] == full["text"][: full["text"].index(stop)] and cut["finish_reason"] == "stop"
