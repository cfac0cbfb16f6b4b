"""Write and tokenise the training mixture.

    python -m tools.train_tiny.data build/train_tiny --tokens 250e6

writes ``pool.bin`` (uint16 tokens, documents in random order), ``starts.npy`` (where each begins) and
``val.npz`` (the held-out tokens of each source). Fetched texts are repeated until they have their share.
"""

from __future__ import annotations

import argparse
import os
import re
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from .mix import SOURCES, fetched, written
from .tokenizer import END

Tokens = npt.NDArray[np.uint16]
_CHUNK = 2000  # documents a worker writes at a time
_MARK = re.compile(r"<\|\w+\|>")
_HELD_OUT = 50  # one in so many documents of a fetched text is held out


@dataclass
class Documents:
    """Tokens of many documents, one after the other, each ended by END; one length a document."""

    tokens: Tokens
    lengths: npt.NDArray[np.int64]


def encode(texts: list[str], tokenizer: Tokenizer) -> Documents:
    """Tokenise; a text may hold the chat's special tokens."""
    return _documents([encoding.ids for encoding in tokenizer.encode_batch(texts)], tokenizer)


def encode_cut(texts: list[str], tokenizer: Tokenizer, rng: Random) -> Documents:
    """Tokenise half of the texts in two pieces, cut anywhere.

    A prompt may end inside what would be one token in a longer text; a model that has never seen such a split
    goes astray there. Half of the cuts are near the beginning, where prompts end.
    """
    pieces: list[str] = []
    counts: list[int] = []
    for text in texts:
        cut = (
            rng.randrange(min(len(text), 40) if rng.random() < 0.5 else len(text))
            if rng.random() < 0.5
            else 0
        )
        if cut and not any(mark.start() < cut < mark.end() for mark in _MARK.finditer(text)):
            pieces += [text[:cut], text[cut:]]
            counts.append(2)
        else:
            pieces.append(text)
            counts.append(1)
    encoded = iter(tokenizer.encode_batch(pieces))
    return _documents([[i for _ in range(count) for i in next(encoded).ids] for count in counts], tokenizer)


def _documents(ids: list[list[int]], tokenizer: Tokenizer) -> Documents:
    end = tokenizer.token_to_id(END)
    flat = np.fromiter((i for one in ids for i in (*one, end)), dtype=np.uint16)
    return Documents(flat, np.array([len(one) + 1 for one in ids], dtype=np.int64))


def _chunk(name: str, seed: str, count: int, path: str) -> Documents:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    return encode_cut(written(name, seed, count), Tokenizer.from_file(path), Random(f"{name} {seed} cuts"))


def _join(parts: list[Documents]) -> Documents:
    return Documents(np.concatenate([p.tokens for p in parts]), np.concatenate([p.lengths for p in parts]))


def _repeat(documents: Documents, tokens: float, rng: np.random.Generator) -> Documents:
    """Whole repetitions, and a part of one more, up to about ``tokens`` tokens."""
    whole, rest = divmod(tokens, len(documents.tokens))
    part = _take(
        documents,
        rng.permutation(len(documents.lengths))[: int(rest / len(documents.tokens) * len(documents.lengths))],
    )
    return _join([documents] * int(whole) + [part])


def _take(documents: Documents, order: npt.NDArray[np.int64]) -> Documents:
    """The documents at these places, in this order."""
    if not len(order):
        return Documents(documents.tokens[:0], documents.lengths[:0])
    starts = np.cumsum(documents.lengths) - documents.lengths
    slices = [documents.tokens[starts[i] : starts[i] + documents.lengths[i]] for i in order]
    return Documents(np.concatenate(slices), documents.lengths[order])


def build(folder: Path, tokens: float, workers: int, held_out: int = 400) -> None:
    """Write the pool of about ``tokens`` tokens and the held-out tokens; prints tokens by source.

    Raises FileNotFoundError: the tokenizer was not trained. Sources that were not fetched are left out.
    """
    path = str(folder / "tokenizer.json")
    tokenizer = Tokenizer.from_file(path)
    rng = np.random.default_rng(0)
    parts: list[Documents] = []
    held: dict[str, Tokens] = {}
    with ProcessPoolExecutor(workers) as pool:
        for source in SOURCES:
            wanted = source.share / sum(s.share for s in SOURCES) * tokens
            if source.write is None:
                texts = fetched(source.name, folder)
                if not texts:
                    print(f"{source.name:12s} not fetched")
                    continue
                test = texts[::_HELD_OUT][:held_out]
                train = encode([t for i, t in enumerate(texts) if i % _HELD_OUT], tokenizer)
                made = _repeat(train, wanted, rng)
                note = f"{len(made.tokens) / len(train.tokens):.2f} epochs"
            else:
                test = written(source.name, "held out", held_out)
                mean = len(encode(test, tokenizer).tokens) / held_out
                count = max(1, round(wanted / mean))
                seeds = range(0, count, _CHUNK)
                jobs = [pool.submit(_chunk, source.name, str(s), min(_CHUNK, count - s), path) for s in seeds]
                made = _join([job.result() for job in jobs])
                note = f"{count} documents"
            held[source.name] = encode(test, tokenizer).tokens
            parts.append(made)
            print(f"{source.name:12s} {len(made.tokens) / 1e6:8.2f}M tokens, {note}", flush=True)
    everything = _join(parts)
    shuffled = _take(everything, rng.permutation(len(everything.lengths)))
    shuffled.tokens.tofile(folder / "pool.bin")
    np.save(folder / "starts.npy", np.cumsum(shuffled.lengths) - shuffled.lengths)
    np.savez(folder / "val.npz", allow_pickle=False, **held)
    print(f"{'pool':12s} {len(shuffled.tokens) / 1e6:8.2f}M tokens, {len(shuffled.lengths)} documents")


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tokens", type=float, default=250e6)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    build(options.folder, options.tokens, options.workers)


if __name__ == "__main__":
    main()
