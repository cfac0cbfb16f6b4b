"""Chats in the model's own template, put together from every kind of question."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from .synth_code import ask_code
from .synth_facts import ask_capital, ask_word
from .synth_story import ask_story
from .synth_sums import ask_compare, ask_prime, ask_series, ask_story_sum, ask_sum
from .synth_talk import ask_repeat, ask_unknown, introduction, wrapped
from .synth_terms import ask_listed, ask_term

Asker = Callable[[Random, str], tuple[str, str]]
_ASKERS: list[tuple[Asker, float]] = [
    (ask_term, 0.2),
    (lambda rng, lang: ask_listed("qa_course", rng, lang), 0.14),
    (lambda rng, lang: ask_listed("qa_chat", rng, lang), 0.15),
    (ask_capital, 0.09),
    (ask_sum, 0.09),
    (ask_story_sum, 0.03),
    (ask_compare, 0.01),
    (ask_prime, 0.03),
    (ask_series, 0.04),
    (ask_word, 0.05),
    (ask_code, 0.06),
    (ask_story, 0.08),
    (ask_unknown, 0.04),
    (ask_repeat, 0.02),
]
_SYSTEM = {
    "en": ["You are a helpful assistant.", "You are a friendly assistant. Answer briefly.",
           "You are a teacher who explains how serving engines work.", "Answer in one or two sentences.",
           "You are minisgl-tiny, a small model for a course."],
    "zh": ["你是一个乐于助人的助手。", "你是一个友好的助手，请简短地回答。", "你是一位老师，讲解推理引擎是怎么工作的。", "请用一两句话回答。",
           "你是 minisgl-tiny，一门课程里的小模型。"],
}  # fmt: skip


def render(messages: list[tuple[str, str]]) -> str:
    """Messages (role, text) as one text, exactly as the exported chat template writes them."""
    return "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in messages)


def pair(rng: Random, lang: str) -> tuple[str, str]:
    """One question of any kind and its answer."""
    asker = rng.choices([a for a, _ in _ASKERS], [w for _, w in _ASKERS])[0]
    question, answer = asker(rng, lang)
    return (question if asker is ask_repeat else wrapped(question, rng, lang)), answer


def chat(rng: Random, lang: str) -> str:
    """A conversation of one to four turns, sometimes with a system prompt; one in twenty begins with a name."""
    messages: list[tuple[str, str]] = []
    if rng.random() < 0.35:
        messages.append(("system", rng.choice(_SYSTEM[lang])))
    turns = introduction(rng, lang) if rng.random() < 0.05 else []
    count = rng.choice([1, 1, 1, 1, 2, 2, 3, 4])
    turns += [pair(rng, lang) for _ in range(max(0, count - len(turns)))]
    for question, answer in turns:
        messages += [("user", question), ("assistant", answer)]
    return render(messages)


def plain_qa(rng: Random, lang: str) -> str:
    """The same questions without chat marks."""
    asked, answered = rng.choice(
        [("Question: ", "Answer: "), ("Q: ", "A: ")]
        if lang == "en"
        else [("问题：", "回答："), ("问：", "答：")]
    )
    return "\n\n".join(
        f"{asked}{q}\n{answered}{a}" for q, a in (pair(rng, lang) for _ in range(rng.choice([1, 1, 2, 3])))
    )
