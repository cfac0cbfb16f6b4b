"""Text in, text out: a model folder with its tokenizer, and the bundled model."""

import json
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
