"""Answers about the course's terms and everyday questions, plain and as questions."""

from __future__ import annotations

from random import Random

from .grammar import english
from .records import Term, questions, terms

_ASK = {
    "en": ["What is {a}?", "What is {a}?", "Explain {a}.", "What does {n} mean?", "Can you explain {a}?",
           "Tell me about {a}.", "Define {n}.", "{n}?", "Please explain {n}.", "In one sentence, what is {a}?",
           "How does {a} work?", "Why is {a} useful?", "What is {a} good for?", "Why do we need {a}?", "Explain {n} to a child.",
           "What do you know about {a}?", "{n}", "I do not understand {n}."],
    "zh": ["什么是{n}？", "什么是{n}？", "{n}是什么？", "解释一下{n}。", "{n}是什么意思？", "请解释{n}。", "能讲讲{n}吗？", "用一句话说说{n}。",
           "{n}？", "告诉我什么是{n}。", "{n}有什么用？", "{n}是怎么工作的？", "为什么需要{n}？", "{n}是做什么的？", "{n}", "我不懂{n}。",
           "介绍一下{n}。"],
}  # fmt: skip
_NO_ARTICLE = {
    "paged attention", "fragmentation", "prefill", "decode", "continuous batching", "static batching",
    "chunked prefill", "admission", "retraction", "eviction", "LRU", "BPE", "detokenization", "logits", "sampling",
    "greedy decoding", "temperature", "top-k", "top-p", "attention", "query, key and value",
    "grouped-query attention", "RoPE", "RMSNorm", "throughput", "latency", "TTFT", "TPOT", "overlap scheduling",
    "tensor parallelism", "bf16", "training", "quantization", "speculative decoding", "FlashAttention",
    "data parallelism", "memory bandwidth", "streaming", "out of memory", "weights"}  # fmt: skip


def _asked(term: Term, lang: str, rng: Random) -> str:
    name = term.name[lang]
    if lang == "zh":
        if name != term.name["en"] and rng.random() < 0.12:
            name = term.name["en"]
        spaced = f" {name} " if name.isascii() else (name if not name[0].isascii() else f" {name}")
        text = rng.choice(_ASK["zh"]).format(n=spaced).strip()
        if text.isascii():  # nothing would say that the answer is to be Chinese
            text = f"什么是 {name}？"
        return text.replace(" ？", "？").replace(" 。", "。")
    article = name if name in _NO_ARTICLE else english(f"a {name}")
    if name in (
        "softmax",
        "engine",
        "scheduler",
        "page size",
        "reserved size",
        "waiting queue",
        "vocabulary",
    ):
        article = f"the {name}"
    text = rng.choice(_ASK["en"]).format(a=article, n=name)
    return text[0].upper() + text[1:]


def _answer(term: Term, lang: str, rng: Random, more: float = 0.6) -> str:
    parts = [rng.choice(term.definitions[lang])]
    further = term.further[lang]
    if further and rng.random() < more:
        parts += rng.sample(further, rng.randint(1, len(further)))
    return (" " if lang == "en" else "").join(parts)


def ask_term(rng: Random, lang: str) -> tuple[str, str]:
    """A question about one term of the course, and its definition."""
    term = rng.choice(terms())
    asked = _asked(term, lang, rng)
    reason = any(word in asked for word in ("How", "Why", "good for", "有什么用", "怎么", "为什么"))
    return asked, _answer(term, lang, rng, 1.0 if reason else 0.6)


def ask_listed(name: str, rng: Random, lang: str) -> tuple[str, str]:
    """A question of ``text/<name>.txt`` in the language asked for."""
    while True:
        asked, answers = rng.choice(questions(name))
        question = rng.choice(asked)
        if any("\u4e00" <= c <= "\u9fff" for c in question) == (lang == "zh"):
            return question, rng.choice(answers)


def glossary(rng: Random, lang: str) -> str:
    """One to five terms as plain sentences or as entries of a glossary."""
    chosen = rng.sample(terms(), rng.choice([1, 1, 2, 3, 5]))
    if rng.random() < 0.35:
        colon = ": " if lang == "en" else "："
        return "\n".join(
            t.name[lang][0].upper() + t.name[lang][1:] + colon + _answer(t, lang, rng) for t in chosen
        )
    if rng.random() < 0.5:
        return "\n\n".join(_answer(t, lang, rng) for t in chosen)
    return (" " if lang == "en" else "").join(_answer(t, lang, rng) for t in chosen)
