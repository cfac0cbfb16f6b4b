"""Simple Python: functions with and without docstring and example, questions about them, short programs."""

from __future__ import annotations

import re
from random import Random

from .records import Function, Snippet, functions, snippets

_ASK = {
    "en": ["Write a Python function that returns {d}.", "Write a function to compute {d}.", "Write a function {n}({a}) in Python.",
           "How do I write a Python function that returns {d}?", "Show me {n} in Python.", "Define {n}({a}), which returns {d}."],
    "zh": ["用 Python 写一个函数，返回{d}。", "用 Python 写一个函数，求{d}。", "用 Python 写函数 {n}({a})。", "怎么用 Python 写一个返回{d}的函数？", "写一个 Python 函数 {n}，返回{d}。",
           "给我看看 {n} 的 Python 代码。"],
}  # fmt: skip
_TRY = {
    "en": ["For example, {c} gives {r}.", "{c} returns {r}."],
    "zh": ["比如，{c} 的结果是 {r}。", "{c} 返回 {r}。"],
}


def _spaced(text: str) -> str:
    """A space between a Chinese character and a letter or digit, as Chinese typesetting has it."""
    return re.sub(r"(?<=[\u4e00-\u9fff])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[\u4e00-\u9fff])", " ", text)


def _doc(f: Function, lang: str) -> str:
    return f"Return {f.returns['en']}." if lang == "en" else _spaced(f"返回{f.returns['zh']}。")


def _import(f: Function) -> str:
    return "import math\n\n\n" if "math." in f.body else ""


def _plain(snippet: Snippet, lang: str, rng: Random) -> str:
    """A snippet, with a comment before it or its output after it."""
    text = snippet.source
    if rng.random() < 0.3:
        text = f"# {snippet.about[lang]}\n{text}"
    if snippet.output and rng.random() < 0.4:
        text += "\n" + "".join(f"# {line}\n" for line in snippet.output)
    return text


def code(rng: Random, lang: str) -> str:
    """One to three functions as a module; comments and docstrings in ``lang``."""
    if rng.random() < 0.25:
        return _plain(rng.choice(snippets()), lang, rng)
    parts = []
    for f in rng.sample(functions(), rng.choice([1, 1, 1, 2, 3])):
        text = f.source(_doc(f, lang) if rng.random() < 0.4 else "")
        call, result = rng.choice(f.examples)
        shape = rng.random()
        if shape < 0.3:
            text += f"\n\nprint({call})  # {result}\n"
        elif shape < 0.4:
            text += f"\n\nassert {call} == {result}\n"
        elif shape < 0.5:
            text = f">>> {call}\n{result}\n"
            text = f.source(_doc(f, lang) + "\n\n    " + text.replace("\n", "\n    "))
        if rng.random() < 0.15:
            text = f"# {_doc(f, lang)}\n" + text
        parts.append(_import(f) + text)
    return "\n\n".join(parts)


def ask_code(rng: Random, lang: str) -> tuple[str, str]:
    """A request for a function and the function in a code block, or what a call gives."""
    if rng.random() < 0.15:
        return _ask_snippet(rng, lang)
    f = rng.choice(functions())
    call, result = rng.choice(f.examples)
    if rng.random() < 0.2:
        question = {"en": f"What does {f.name}({f.args}) do?", "zh": f"{f.name}({f.args}) 是做什么的？"}[lang]
        return question, {
            "en": f"It returns {f.returns['en']}.",
            "zh": _spaced(f"它返回{f.returns['zh']}。"),
        }[lang]
    question = rng.choice(_ASK[lang]).format(
        n=f.name, a=f.args, d=rng.choice([f.returns[lang], *f.also[lang]])
    )
    if any(word in question for word in ("whether", "是不是", "是否")):
        question = question.replace("compute whether", "check whether").replace("求", "判断")
    question = _spaced(question) if lang == "zh" else question
    source = _import(f) + f.source(_doc(f, lang) if rng.random() < 0.3 else "")
    answer = f"```python\n{source}```"
    if rng.random() < 0.4:
        answer += "\n\n" + rng.choice(_TRY[lang]).format(c=f"`{call}`", r=f"`{result}`")
    return question, answer


def _ask_snippet(rng: Random, lang: str) -> tuple[str, str]:
    snippet = rng.choice(snippets())
    about = snippet.about[lang]
    asked = {
        "en": [
            "Show me {} in Python.",
            "How do I write {} in Python?",
            "Give an example of {}.",
            "Python: {}",
        ],
        "zh": ["用 Python 写一个{}的例子。", "Python 里的{}怎么写？", "给我看一个{}的例子。"],
    }
    question = rng.choice(asked[lang]).format(about)
    answer = f"```python\n{snippet.source}```"
    if snippet.output:
        printed = "\n".join(snippet.output)
        answer += {"en": "\n\nIt prints:", "zh": "\n\n它会打印："}[lang] + f"\n\n```\n{printed}\n```"
    return (_spaced(question) if lang == "zh" else question), answer
