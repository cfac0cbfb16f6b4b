"""The tokenizer that a GGUF file describes, as one of the tokenizers library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_CONTROL, _USER_DEFINED = 3, 4  # kinds of tokens that are found in a text as a whole

# How a text is cut before its pieces are merged, by the name that GGUF gives it: a pattern, or None for the
# library's own, that of GPT-2. The patterns are those of the models' tokenizer.json.
_LETTERS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
_OTHERS = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_CUTS = {
    "gpt-2": None,
    "smollm": None,
    "llama-bpe": rf"{_LETTERS}|\p{{N}}{{1,3}}|{_OTHERS}",
    "qwen2": rf"{_LETTERS}|\p{{N}}|{_OTHERS}",
}
_CUTS["deepseek-r1-qwen"] = _CUTS["qwen2"]


class UnsupportedTokenizerError(ValueError):
    """The file has a tokenizer of another kind. Its model can be served all the same, with token ids."""


def tokenizer_from_gguf(fields: Mapping[str, Any]) -> Tokenizer:
    """Build the tokenizer of a GGUF file's metadata.

    Raises:
        UnsupportedTokenizerError: it is not a byte-level BPE, or cuts texts in a way that is not known.
        ValueError: its parts do not fit together.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

    kind, cut = fields.get("tokenizer.ggml.model"), fields.get("tokenizer.ggml.pre", "default")
    if kind != "gpt2" or cut not in list(_CUTS):
        raise UnsupportedTokenizerError(
            f"its tokenizer is of the kind {kind!r}, {cut!r}; only byte-level BPE, 'gpt2', with one of"
            f" {', '.join(_CUTS)} is supported"
        )
    tokens, joined = _texts(fields, "tokens"), _texts(fields, "merges")
    vocab = {token: i for i, token in enumerate(tokens)}
    if len(vocab) != len(tokens):
        raise ValueError("some token stands twice in its vocabulary")
    try:
        merges: list[Any] = [tuple(merge.split(" ")) for merge in joined]
        tokenizer = Tokenizer(models.BPE(vocab, merges, ignore_merges=cut == "llama-bpe"))
    except Exception as error:  # the library raises nothing more specific
        raise ValueError(f"its vocabulary and merges do not fit together: {error}") from error
    pattern = _CUTS[cut]
    steps: list[Any] = []
    if cut == "smollm":
        steps.append(pre_tokenizers.Digits(individual_digits=True))
    if pattern is not None:
        steps.append(pre_tokenizers.Split(Regex(pattern), behavior="isolated"))
    steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.ByteLevel()
    if pattern is not None and pattern == _CUTS["qwen2"]:
        tokenizer.normalizer = normalizers.NFC()
    kinds = fields.get("tokenizer.ggml.token_type")
    if not isinstance(kinds, list):
        kinds = []
    for wanted, special in ((_CONTROL, True), (_USER_DEFINED, False)):
        found = [token for token, kind in zip(tokens, kinds, strict=False) if kind == wanted]
        tokenizer.add_tokens([AddedToken(token, special=special, normalized=False) for token in found])
    _surround(tokenizer, fields, adds_bos=cut == "llama-bpe")
    return tokenizer


def special_tokens(fields: Mapping[str, Any]) -> dict[str, str]:
    """The tokens that a chat template may name, such as `bos_token`."""
    if "tokenizer.ggml.tokens" not in fields:
        return {}
    tokens = dict(enumerate(_texts(fields, "tokens")))
    ids = {name: fields.get(f"tokenizer.ggml.{name}_token_id") for name in ("bos", "eos")}
    return {f"{name}_token": tokens[i] for name, i in ids.items() if type(i) is int and i in tokens}


def _texts(fields: Mapping[str, Any], name: str) -> list[str]:
    texts = fields[f"tokenizer.ggml.{name}"]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"tokenizer.ggml.{name} is no list of texts")
    return texts


def _surround(tokenizer: Tokenizer, fields: Mapping[str, Any], adds_bos: bool) -> None:
    """Have the tokens added that the model expects around a text."""
    from tokenizers import processors

    around = special_tokens(fields)
    bos = around.get("bos_token") if fields.get("tokenizer.ggml.add_bos_token", adds_bos) else None
    eos = around.get("eos_token") if fields.get("tokenizer.ggml.add_eos_token", False) else None
    if bos is None and eos is None:
        return
    template = [token for token in (bos, "$A", eos) if token is not None]
    ids = [(token, tokenizer.token_to_id(token)) for token in {bos, eos} if token is not None]
    tokenizer.post_processor = processors.TemplateProcessing(single=template, special_tokens=ids)
