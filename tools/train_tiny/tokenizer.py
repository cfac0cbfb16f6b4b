"""Train the byte-level BPE tokenizer of minisgl-tiny and write its files.

    python -m tools.train_tiny.tokenizer build/train_tiny

writes ``tokenizer.json`` there. The split before BPE is Qwen's: single digits, words with the space before.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from random import Random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from .mix import SOURCES, fetched, written

VOCAB_SIZE = 6144
END, START_TURN, END_TURN = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
SPECIAL = (END, START_TURN, END_TURN)
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def train(texts: Iterable[str], vocab_size: int = VOCAB_SIZE) -> Tokenizer:
    """A tokenizer whose special tokens have the last ids.

    A token is at most 12 bytes long: Chinese has no spaces, and without a limit whole clauses of the grammars
    would become single tokens.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - len(SPECIAL),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        max_token_length=12,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL])
    return tokenizer


def sample(folder: Path, count: int, most: int = 100) -> list[str]:
    """Sentences to train on, each at most ``most`` times: the grammars repeat theirs again and again."""
    texts: list[str] = []
    for source in SOURCES:
        if source.write is None:
            some = fetched(source.name, folder)
            Random(1).shuffle(some)
            # no more of it than of a written source: real text has many rare words
            lengths = accumulate(len(text) for text in some)
            texts += [text for text, so_far in zip(some, lengths, strict=True) if so_far < 150 * count]
        else:
            texts += written(source.name, "tokenizer", count)
    marks = re.compile(r"<\|im_start\|>\w+\n|<\|im_end\|>\n")
    seen = Counter(
        s for text in texts for s in re.split(r"(?<=[。！？\n])|(?<=[.!?]) ", marks.sub("\n", text)) if s
    )
    return [s for s, times in seen.items() for _ in range(min(times, most))]


def main(folder: Path, count: int = 4000) -> None:
    """Train on a sample and save ``tokenizer.json``."""
    sentences = sample(folder, count)
    tokenizer = train(sentences)
    tokenizer.save(str(folder / "tokenizer.json"))
    print(f"{len(sentences)} sentences, vocabulary {tokenizer.get_vocab_size()}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
