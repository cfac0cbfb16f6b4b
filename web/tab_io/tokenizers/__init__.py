"""Byte-level BPE in Python alone: what minisgl asks of the library of that name.

It reads the `tokenizer.json` of GPT-2's family (Qwen, Llama 3, SmolLM, the bundled model): a byte-level
pre-tokenizer behind an optional split by a pattern, merges, added tokens. A file that asks for more is
refused.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ._bpe import BPE
from ._pattern import compiled
from ._spelling import CHAR_OF_BYTE, GPT2_PATTERN, bytes_of

__version__ = "0.0.0+minisgl"


class AddedToken:
    """A token that stands in the text as it is, and is looked for before all else."""

    def __init__(
        self, content: str, single_word: bool = False, lstrip: bool = False, rstrip: bool = False,
        normalized: bool = True, special: bool = False,
    ) -> None:  # fmt: skip
        self.content, self.special, self.normalized = content, special, normalized
        self.single_word, self.lstrip, self.rstrip = single_word, lstrip, rstrip

    def __str__(self) -> str:
        return self.content

    def __repr__(self) -> str:
        return f"AddedToken({self.content!r}, special={self.special})"


class Encoding:
    """The result of `encode`."""

    def __init__(self, ids: list[int], tokens: list[str]) -> None:
        self.ids, self.tokens = ids, tokens

    def __len__(self) -> int:
        return len(self.ids)


class _Decoder:
    """Stands for the library's decoder, whose state is its JSON."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config

    def __getstate__(self) -> bytes:
        return json.dumps(self._config).encode()


class Tokenizer:
    """A tokenizer read from `tokenizer.json`.

    Raises:
        ValueError: the file asks for what is not here; the message says what.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        model = _part(config, "model")
        if model.get("type") not in (None, "BPE") or "vocab" not in model or "merges" not in model:
            raise ValueError(f"the tab reads BPE tokenizers only, not {model.get('type')!r}")
        for name in (
            "dropout",
            "unk_token",
            "continuing_subword_prefix",
            "end_of_word_suffix",
            "byte_fallback",
        ):
            if model.get(name):
                raise ValueError(f"the tab's tokenizer does not know the setting {name} of the BPE model")
        self._vocab: dict[str, int] = dict(model["vocab"])
        self._bpe = BPE(self._vocab, model["merges"], bool(model.get("ignore_merges")))
        self._normalizers = _normalizers(config.get("normalizer"))
        self._split, self._add_prefix_space = _pre_tokenizer(config.get("pre_tokenizer"))
        self._before, self._after = _post_processor(config.get("post_processor"))
        self._decoder = _decoder(config.get("decoder"))
        self._added = {int(entry["id"]): _added_token(entry) for entry in config.get("added_tokens") or []}
        self._id_of_added = {token.content: i for i, token in self._added.items()}
        self._tokens = {i: token for token, i in self._vocab.items()}
        self._tokens.update({i: token.content for i, token in self._added.items()})
        self._raw_added = _any_of(token for token in self._added.values() if not token.normalized)
        self._normalized_added = _any_of(
            (token for token in self._added.values() if token.normalized), self._normalize
        )
        self._id_of_normalized = {
            self._normalize(token.content): i for i, token in self._added.items() if token.normalized
        }

    @classmethod
    def from_file(cls, path: str) -> Tokenizer:
        return cls.from_str(Path(path).read_text(encoding="utf-8"))

    @classmethod
    def from_str(cls, text: str) -> Tokenizer:
        try:
            config = json.loads(text)
            if not isinstance(config, dict):
                raise ValueError("it holds no JSON object")
            return cls(config)
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise ValueError(f"{type(error).__name__}: {error}") from error

    @property
    def decoder(self) -> _Decoder:
        return self._decoder

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        return len(set(self._tokens)) if with_added_tokens else len(self._vocab)

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        return self._vocab | (self._id_of_added if with_added_tokens else {})

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        return dict(self._added)

    def id_to_token(self, id: int) -> str | None:
        return self._tokens.get(id)

    def token_to_id(self, token: str) -> int | None:
        return self._id_of_added.get(token, self._vocab.get(token))

    def encode(self, sequence: str, add_special_tokens: bool = True) -> Encoding:
        """Token ids of a text. TypeError when it is none."""
        if not isinstance(sequence, str):
            raise TypeError(f"TextInputSequence must be str, not {type(sequence).__name__}")
        ids: list[int] = []
        for text, token in _cut(sequence, self._raw_added, self._id_of_added):
            if token is not None:
                ids.append(token)
                continue
            for part, inner in _cut(self._normalize(text), self._normalized_added, self._id_of_normalized):
                if inner is not None:
                    ids.append(inner)
                else:
                    self._encode_part(part, ids)
        if add_special_tokens:
            ids = [*self._before, *ids, *self._after]
        return Encoding(ids, [self._tokens[i] for i in ids])

    def decode(self, ids: Iterable[int], skip_special_tokens: bool = True) -> str:
        """The text of token ids; an id that there is not has none."""
        raw = bytearray()
        for i in ids:
            piece = self._tokens.get(i)
            if piece is None or (skip_special_tokens and i in self._added and self._added[i].special):
                continue
            raw += bytes_of(piece)
        return raw.decode("utf-8", "replace")

    def _normalize(self, text: str) -> str:
        for form in self._normalizers:
            text = unicodedata.normalize(form, text)
        return text

    def _encode_part(self, text: str, ids: list[int]) -> None:
        """Text without added tokens."""
        if self._add_prefix_space and not text.startswith(" "):
            text = " " + text
        for pattern in self._split[:1]:
            for match, is_match in _isolated(pattern, text):
                for word in self._words(match, is_match):
                    ids.extend(self._bpe.encode(word))
            return
        ids.extend(self._bpe.encode(_spelled(text)))

    def _words(self, text: str, is_match: bool) -> Iterable[str]:
        rest = self._split[1:]
        if not rest:
            yield _spelled(text)
            return
        for part, _ in _isolated(rest[0], text):
            yield _spelled(part)


def _spelled(text: str) -> str:
    return "".join([CHAR_OF_BYTE[byte] for byte in text.encode("utf-8")])


def _isolated(pattern: re.Pattern[str], text: str) -> Iterable[tuple[str, bool]]:
    """What matches, and what stands between."""
    at = 0
    for match in pattern.finditer(text):
        start, end = match.span()
        if start == end:
            continue
        if at < start:
            yield text[at:start], False
        yield match[0], True
        at = end
    if at < len(text):
        yield text[at:], False


def _cut(text: str, pattern: re.Pattern[str] | None, ids: dict[str, int]) -> Iterable[tuple[str, int | None]]:
    """Pieces of text, and ids of the added tokens between them."""
    if pattern is None:
        if text:
            yield text, None
        return
    at = 0
    for match in pattern.finditer(text):
        start, end = match.span()
        if at < start:
            yield text[at:start], None
        yield match[0], ids[match[0]]
        at = end
    if at < len(text):
        yield text[at:], None


def _any_of(tokens: Iterable[AddedToken], form: Any = str) -> re.Pattern[str] | None:
    contents = sorted({form(token.content) for token in tokens}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, contents))) if contents else None


def _part(config: dict[str, Any], name: str) -> dict[str, Any]:
    part = config.get(name)
    if not isinstance(part, dict):
        raise ValueError(f"it has no {name}")
    return part


def _steps(config: dict[str, Any] | None, inner: str) -> list[dict[str, Any]]:
    if config is None:
        return []
    if config["type"] == "Sequence":
        return [step for part in config[inner] for step in _steps(part, inner)]
    return [config]


def _normalizers(config: dict[str, Any] | None) -> list[Any]:
    forms = []
    for step in _steps(config, "normalizers"):
        if step["type"] not in ("NFC", "NFD", "NFKC", "NFKD"):
            raise ValueError(f"the tab's tokenizer does not know the normalizer {step['type']}")
        forms.append(step["type"])
    return forms


def _pre_tokenizer(config: dict[str, Any] | None) -> tuple[list[re.Pattern[str]], bool]:
    """Patterns to cut by, one after the other, and whether a space is put in front."""
    patterns, prefix, has_bytes = [], False, False
    for step in _steps(config, "pretokenizers"):
        if step["type"] == "Split":
            if step["behavior"] != "Isolated" or step.get("invert"):
                raise ValueError(f"the tab's tokenizer does not know the split {step['behavior']}")
            pattern = step["pattern"]
            patterns.append(
                compiled(pattern["Regex"]) if "Regex" in pattern else re.compile(re.escape(pattern["String"]))
            )
        elif step["type"] == "Digits":
            individual = step.get("individual_digits")
            patterns.append(compiled(r"\p{N}" if individual else r"\p{N}+"))
        elif step["type"] == "ByteLevel":
            has_bytes, prefix = True, bool(step.get("add_prefix_space"))
            if prefix and patterns:
                raise ValueError("the tab's tokenizer puts no space in front of each part of a text")
            if step.get("use_regex", True):
                patterns.append(compiled(GPT2_PATTERN))
        else:
            raise ValueError(f"the tab's tokenizer does not know the pre-tokenizer {step['type']}")
    if not has_bytes:
        raise ValueError("the tab's tokenizer is byte-level, and this one is not")
    if len(patterns) > 2:
        raise ValueError("the tab's tokenizer cuts by two patterns at most")
    return patterns, prefix


def _decoder(config: dict[str, Any] | None) -> _Decoder:
    if config is None or config["type"] != "ByteLevel":
        raise ValueError(f"the tab's tokenizer has a byte-level decoder, not {config and config['type']}")
    return _Decoder(config)


def _post_processor(config: dict[str, Any] | None) -> tuple[list[int], list[int]]:
    """Ids that stand before and behind each text."""
    before: list[int] = []
    after: list[int] = []
    for step in _steps(config, "processors"):
        if step["type"] == "ByteLevel":
            continue
        if step["type"] != "TemplateProcessing":
            raise ValueError(f"the tab's tokenizer does not know the post-processor {step['type']}")
        target = before
        for item in step["single"]:
            if "Sequence" in item:
                target = after
            else:
                target.extend(step["special_tokens"][item["SpecialToken"]["id"]]["ids"])
    return before, after


def _added_token(entry: dict[str, Any]) -> AddedToken:
    token = AddedToken(**{name: value for name, value in entry.items() if name != "id"})
    if token.single_word or token.lstrip or token.rstrip:
        raise ValueError(
            f"the tab's tokenizer does not know single_word, lstrip and rstrip of {token.content!r}"
        )
    return token
