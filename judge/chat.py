"""Questions as the bundled model was trained on them. The browser runs this file, too."""

from __future__ import annotations

_SYSTEM = {"zh": "你是一个乐于助人的助手。", "en": "You are a helpful assistant."}


def chat(question: str, lang: str) -> str:
    """A question and the beginning of its answer; questions of a language share a prefix."""
    turns = (("system", _SYSTEM[lang]), ("user", question))
    said = "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in turns)
    return said + "<|im_start|>assistant\n"


def chat_of(question: str) -> str:
    """The same in the question's own language: Chinese where it has a Chinese character."""
    return chat(question, "zh" if any("\u4e00" <= character <= "\u9fff" for character in question) else "en")
