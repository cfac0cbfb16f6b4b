"""Capitals, words in two languages and kinds of things, plain and as questions."""

from __future__ import annotations

from random import Random

from .grammar import english
from .records import rows, terms

_KIND = {
    "fruit": ("fruit", "水果"),
    "animal": ("animal", "动物"),
    "color": ("color", "颜色"),
    "season": ("season", "季节"),
}


def _country(rng: Random) -> list[str]:
    table = rows("countries")
    # the few countries that everybody asks about come twice as often
    return rng.choice(table) if rng.random() < 0.7 else rng.choice(table[:6] + table[25:30])


def capitals(rng: Random, lang: str) -> str:
    """One or more plain sentences about countries and capitals."""
    shape, count = rng.random(), rng.choice([1, 1, 2, 3, 5])
    chosen = [_country(rng) for _ in range(count)]
    if lang == "en":
        if shape < 0.15:
            return "\n".join(f"{c[0].removeprefix('the ')}: {c[2]}" for c in chosen)
        return " ".join(_capital_en(c, rng) for c in chosen)
    if shape < 0.15:
        return "\n".join(f"{c[1]}：{c[3]}" for c in chosen)
    if shape < 0.25:
        return "，".join(f"{c[1]}的首都是{c[3]}" for c in chosen) + "。"
    return "".join(_capital_zh(c, rng) for c in chosen)


def _capital_en(c: list[str], rng: Random) -> str:
    country, capital, continent = c[0], c[2], c[4]
    first = country[0].upper() + country[1:]
    return rng.choice([
        f"The capital of {country} is {capital}.",
        f"The capital of {country} is {capital}.",
        f"The capital of {country} is {capital}. {first} is a country in {continent}.",
        f"{capital} is the capital of {country}.",
        f"{first} is a country in {continent}. Its capital is {capital}.",
        f"{first} is in {continent}, and its capital is {capital}.",
    ])  # fmt: skip


def _capital_zh(c: list[str], rng: Random) -> str:
    country, capital, continent = c[1], c[3], c[5]
    return rng.choice([
        f"{country}的首都是{capital}。",
        f"{country}的首都是{capital}。",
        f"{country}的首都是{capital}，{country}在{continent}。",
        f"{capital}是{country}的首都。",
        f"{country}在{continent}，首都是{capital}。",
        f"{country}位于{continent}，它的首都是{capital}。",
    ])  # fmt: skip


def ask_capital(rng: Random, lang: str) -> tuple[str, str]:
    """The capital of a country, the country of a capital, or a country's continent."""
    country, land, capital, city, continent, part = _country(rng)
    kind = rng.random()
    first = country[0].upper() + country[1:]
    if lang == "en":
        if kind < 0.7:
            question = rng.choice([
                f"What is the capital of {country}?", f"Which city is the capital of {country}?",
                f"Name the capital of {country}.", f"Capital of {country}?", f"What's the capital of {country}?",
                f"Tell me the capital of {country}.", f"Do you know the capital of {country}?"])  # fmt: skip
            return question, f"The capital of {country} is {capital}."
        if kind < 0.85:
            return f"{capital} is the capital of which country?", f"{capital} is the capital of {country}."
        return f"Where is {country}?", f"{first} is in {continent}."
    if kind < 0.7:
        question = rng.choice([
            f"{land}的首都是哪里？", f"{land}的首都是什么？", f"{land}的首都叫什么？", f"请问{land}的首都是哪里？",
            f"{land}首都是哪个城市？", f"你知道{land}的首都吗？", f"{land}的首都"])  # fmt: skip
        return question, f"{land}的首都是{city}。"
    if kind < 0.85:
        return f"{city}是哪个国家的首都？", f"{city}是{land}的首都。"
    return f"{land}在哪个洲？", f"{land}在{part}。"


def ask_word(rng: Random, lang: str) -> tuple[str, str]:
    """Translate a word or a term, name its opposite, or say what kind of thing it is."""
    word, chinese, kind = rng.choice(rows("words"))
    choice = rng.random()
    if choice < 0.25:
        term = rng.choice([t for t in terms() if t.name["en"] != t.name["zh"]])
        word, chinese = term.name["en"], term.name["zh"]
    elif kind.startswith("opposite:"):
        other = kind.split(":")[1]
        if choice < 0.8 and lang == "en":
            return f"What is the opposite of {word}?", f"The opposite of {word} is {other}."
        if choice < 0.8:
            other = next(c for e, c, _ in rows("words") if e == other)
            return f"“{chinese}”的反义词是什么？", f"“{chinese}”的反义词是“{other}”。"
    elif kind in _KIND and choice < 0.6:
        return _kind_of(word, chinese, kind, rng, lang)
    if lang == "en":
        if rng.random() < 0.4:
            return f'What does "{chinese}" mean?', f'"{chinese}" means "{word}".'
        quoted = rng.choice(['"{}"', "'{}'", "{}"]).format(word)
        asked = rng.choice(["How do you say {} in Chinese?", "Translate {} into Chinese.", "Translate {} to Chinese.",
                            "What is {} in Chinese?"])  # fmt: skip
        return asked.format(quoted), f'"{word}" is "{chinese}" in Chinese.'
    if rng.random() < 0.5:
        asked = rng.choice(
            ["“{}”用英文怎么说？", "{}用英语怎么说？", "把“{}”翻译成英文。", "“{}”的英文是什么？"]
        )
        return asked.format(chinese), f"“{chinese}”的英文是 {word}。"
    return f"{word} 是什么意思？", f"{word} 的意思是“{chinese}”。"


def _kind_of(word: str, chinese: str, kind: str, rng: Random, lang: str) -> tuple[str, str]:
    name = _KIND[kind]
    members = [(e, c) for e, c, k in rows("words") if k == kind]
    if rng.random() < 0.5:
        some = rng.sample(members, 3)
        if lang == "en":
            plural = name[0] if kind == "fruit" else name[0] + "s"
            return f"Name three {plural}.", f"{some[0][0].capitalize()}, {some[1][0]}, and {some[2][0]}."
        return f"说出三种{name[1]}。", "、".join(c for _, c in some) + "。"
    if lang == "zh":
        return f"{chinese}是什么？", f"{chinese}是一种{name[1]}。"
    noun = word.capitalize() if kind in ("color", "season") else english(f"A {word}")
    return (f"What is {english('a ' + word) if noun[0] == 'A' and ' ' in noun else word}?",
            english(f"{noun} is a {name[0]}."))  # fmt: skip
