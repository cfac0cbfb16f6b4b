"""Small exchanges that depend on what was said: names, repetition, and things the model has not learned."""

from __future__ import annotations

from random import Random

from .grammar import english
from .names import name
from .records import rows
from .synth_story import tale

Turns = list[tuple[str, str]]
_UNKNOWN = {
    "en": ["What is {}?", "How does {} work?", "Tell me about {}.", "Who invented {}?", "Explain {}.", "What do you know about {}?",
           "Where can I buy {}?", "Is {} expensive?", "When was {} discovered?", "Why is {} important?"],
    "zh": ["什么是{}？", "{}是什么？", "{}是怎么回事？", "讲讲{}。", "谁发明了{}？", "解释一下{}。", "你知道{}吗？", "哪里能买到{}？", "{}贵吗？",
           "{}为什么重要？"],
}  # fmt: skip
_NOT_LEARNED = {
    "en": ["I do not know that. I have only learned short stories, capitals, small sums, simple Python, and the terms of this course.",
           "I am sorry, I have not learned anything about that.", "That is beyond me. I am a very small model."],
    "zh": ["这个我不知道。我只学过短故事、各国首都、小的加减法、简单的 Python，还有这门课的术语。", "对不起，这个我没有学过。",
           "这个超出我的能力了，我是一个很小的模型。"],
}  # fmt: skip


def ask_unknown(rng: Random, lang: str) -> tuple[str, str]:
    """Something that the model has not learned, and that it says so."""
    thing = rng.choice(rows("unknown"))[0 if lang == "en" else 1]
    if lang == "zh" and thing.isascii():
        thing = f" {thing} "
    return rng.choice(_UNKNOWN[lang]).format(thing).strip(), rng.choice(_NOT_LEARNED[lang])


def ask_repeat(rng: Random, lang: str) -> tuple[str, str]:
    """Repeat a sentence, or greet somebody."""
    if rng.random() < 0.4:
        who = name(rng, lang)
        if lang == "en":
            return rng.choice([f"Say hello to {who}.", f"Greet {who}."]), f"Hello, {who}!"
        return rng.choice([f"向{who}问好。", f"跟{who}打个招呼。"]), f"你好，{who}！"
    text = tale(rng, lang).replace("\n\n", " " if lang == "en" else "")
    stop = ". " if lang == "en" else "。"
    sentence = text.split(stop)[0].rstrip(".。") + stop.strip()
    if lang == "en":
        return rng.choice([f"Repeat: {sentence}", f"Say this again: {sentence}"]), sentence
    return rng.choice([f"请重复：{sentence}", f"跟我说：{sentence}"]), sentence


def introduction(rng: Random, lang: str) -> Turns:
    """Somebody says a name, and sometimes asks for it again."""
    who = name(rng, lang)
    if lang == "en":
        asked = rng.choice(
            [
                f"My name is {who}.",
                f"I am {who}.",
                f"Hello, I am {who}.",
                f"Hi, my name is {who}. Who are you?",
            ]
        )
        turns = [(asked, f"Nice to meet you, {who}! I am minisgl-tiny.")]
        if rng.random() < 0.6:
            turns.append(
                (
                    rng.choice(["What is my name?", "Do you know my name?", "Who am I?"]),
                    f"Your name is {who}.",
                )
            )
        return turns
    asked = rng.choice([f"我叫{who}。", f"我是{who}。", f"你好，我是{who}。", f"你好，我叫{who}，你呢？"])
    turns = [(asked, f"很高兴认识你，{who}！我叫 minisgl-tiny。")]
    if rng.random() < 0.6:
        turns.append((rng.choice(["我叫什么名字？", "你知道我叫什么吗？", "我是谁？"]), f"你叫{who}。"))
    return turns


def wrapped(question: str, rng: Random, lang: str) -> str:
    """The question as people also put it: politely, in haste, with a request for brevity."""
    kind = rng.random()
    if kind > 0.3 or question[-1] not in "?？":
        return question
    if lang == "en":
        if kind < 0.1:
            return (
                rng.choice(
                    [
                        "Please tell me: ",
                        "Can you tell me: ",
                        "I have a question. ",
                        "Hello! ",
                        "Quick question: ",
                    ]
                )
                + question
            )
        if kind < 0.18:
            return question + rng.choice(
                [
                    " Please answer briefly.",
                    " Answer in one sentence.",
                    " Please.",
                    " Thanks!",
                    " Explain simply.",
                ]
            )
    else:
        if kind < 0.1:
            return (
                rng.choice(["请问，", "请告诉我：", "我想知道，", "你好，", "问一下，", "我有个问题："])
                + question
            )
        if kind < 0.18:
            return question + rng.choice(
                ["请简单说说。", "用一句话回答。", "谢谢！", "请简短回答。", "说得简单一点。"]
            )
    if kind < 0.24:
        question = question.rstrip("?.？。")
    if question[:2].istitle() and kind > 0.22:
        question = question[0].lower() + question[1:]
    return english(question) if lang == "en" else question
