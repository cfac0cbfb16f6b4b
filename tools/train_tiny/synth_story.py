"""Stories and everyday paragraphs from the grammars, and requests for them."""

from __future__ import annotations

import re
from functools import cache
from random import Random

from .grammar import Grammar, english, load
from .names import hero

# topic in English, topic in Chinese, rule, slot that the topic's word fills
_TOPICS = [
    ("a dragon", "龙", "plot_dragon", ""),
    ("a robot", "机器人", "plot_robot", ""),
    ("a bridge", "桥", "plot_bridge", ""),
    ("a star", "星星", "plot_wish", ""),
    ("a king", "国王", "plot_king", ""),
    ("a library", "图书馆", "plot_keeper", ""),
    ("a seed", "种子", "plot_seed", ""),
    ("friendship", "友谊", "plot_friend", ""),
    ("a new friend", "新朋友", "plot_friend", ""),
    ("honesty", "诚实", "plot_honest", ""),
    ("patience", "耐心", "plot_seed", ""),
    ("sharing", "分享", "plot_share", ""),
    ("winter", "冬天", "plot_share", ""),
    ("a race", "比赛", "plot_race", ""),
    ("learning", "学习", "plot_learn", ""),
    ("getting lost", "迷路", "plot_way", ""),
    ("kindness", "善良", "plot_hurt", ""),
    ("{animal}", "{animal}", "plot_lost", "animal"),
    ("{animal}", "{animal}", "plot_broken", "animal"),
    ("{animal}", "{animal}", "plot_away", "animal"),
    ("{o}", "{o}", "plot_lost", "o"),
    ("{o}", "{o}", "plot_broken", "o"),
    ("{n}", "{n}", "story", "n"),
]
_ASK = {
    "en": ["Tell me a story.", "Tell me a short story.", "Please write a story for children.", "I want a story.",
           "Write a short story.", "Can you tell me a story?", "Tell a story"],
    "zh": ["讲个故事吧。", "给我讲个故事。", "请写一个短故事。", "我想听故事。", "讲一个短故事。", "可以给我讲个故事吗？", "讲个故事"],
}  # fmt: skip
_ASK_ABOUT = {
    "en": ["Tell me a story about {}.", "Write a short story about {}.", "Please tell a story about {}.",
           "A story about {}, please.", "Can you write a story about {}?"],
    "zh": ["讲一个关于{}的故事。", "写一个关于{}的短故事。", "给我讲个{}的故事吧。", "我想听一个关于{}的故事。", "能写一个关于{}的故事吗？"],
}  # fmt: skip
_ASK_ON = {
    "en": ["Continue this story: {}", "How does this story go on? {}", "Please continue: {}"],
    "zh": ["请接着讲：{}", "续写这个故事：{}", "这个故事后来怎么样了？{}"],
}


@cache
def _grammar(name: str) -> Grammar:
    return load(name)


def _write(name: str, rule: str, lang: str, rng: Random, bound: dict[str, str] | None = None) -> str:
    text = _grammar(f"{name}_{lang}").expand(rule, rng, bound)
    return english(text) if lang == "en" else text


def _told(rule: str, lang: str, rng: Random, bound: dict[str, str]) -> str:
    """A story by the rule; more than half of the heroes get a name from outside the grammar."""
    if "n" not in bound and rng.random() < 0.6:
        bound = bound | hero(rng, lang)
    return _write("story", rule, lang, rng, bound)


def _from_the_middle(text: str, lang: str, rng: Random) -> str:
    """The text from one of its sentences on, so that any sentence may be a beginning."""
    stops = [m.end() for m in re.finditer(r"(?<=[a-z]\.) " if lang == "en" else r"(?<=。)(?!”)", text)]
    return text[rng.choice(stops[: max(1, len(stops) * 2 // 3)]) :].lstrip() if stops else text


def story(rng: Random, lang: str) -> str:
    """A short story of two or three paragraphs, one in eight from the middle on; ``lang`` is "en" or "zh"."""
    text = _told("story", lang, rng, {})
    return _from_the_middle(text, lang, rng) if rng.random() < 0.12 else text


def tale(rng: Random, lang: str) -> str:
    """A loosely built little tale, of great variety in its words."""
    return _write("tale", "tale", lang, rng)


def scene(rng: Random, lang: str) -> str:
    """One to five everyday sentences."""
    return _write("scene", "scene", lang, rng)


def life(rng: Random, lang: str) -> str:
    """A paragraph about a day, a season, a place, a letter, a common topic, or how an engine serves."""
    if rng.random() < 0.5:
        return _write("essay", "text", lang, rng)
    return _write("life", "text", lang, rng)


def ask_story(rng: Random, lang: str) -> tuple[str, str]:
    """A request for a story, with or without a topic or a beginning, and the story."""
    kind = rng.random()
    if kind < 0.35:
        told = tale(rng, lang) if rng.random() < 0.3 else _told("story", lang, rng, {})
        return rng.choice(_ASK[lang]), told
    if kind < 0.5:
        text = tale(rng, lang) if rng.random() < 0.5 else _told("story", lang, rng, {})
        stop = ". " if lang == "en" else "。"
        head, found, rest = text.partition(stop)
        if found and rest:
            return rng.choice(_ASK_ON[lang]).format(head + stop.strip()), rest.strip()
    if kind < 0.62:
        return _ask_tale(rng, lang)
    topic_en, topic_zh, rule, slot = rng.choice(_TOPICS)
    topic, bound = topic_en if lang == "en" else topic_zh, {}
    if slot:
        columns, rows = _grammar(f"story_{lang}").tables[slot]
        bound = dict(zip(columns, rng.choice(rows), strict=True))
        word = bound[slot]
        topic = word if lang == "zh" or slot == "n" else english(f"a {word}")
    return rng.choice(_ASK_ABOUT[lang]).format(topic), _told(rule, lang, rng, bound)


def _ask_tale(rng: Random, lang: str) -> tuple[str, str]:
    """A tale about one animal or person, or about two."""
    tables = _grammar(f"tale_{lang}").tables
    bound = dict(zip(tables["th"][0], rng.choice(tables["th"][1]), strict=True))
    topic = english(f"a {bound['th']}") if lang == "en" else bound["th"]
    if rng.random() < 0.3:
        if lang == "en":
            bound["oth"] = rng.choice(_grammar("tale_en").rules["oth"])
            topic += english(f" and a {bound['oth']}")
        else:
            bound |= dict(zip(tables["oth"][0], rng.choice(tables["oth"][1]), strict=True))
            topic += f"和{bound['oth']}"
        return rng.choice(_ASK_ABOUT[lang]).format(topic), _write("tale", "tale_two", lang, rng, bound)
    return rng.choice(_ASK_ABOUT[lang]).format(topic), _write("tale", "tale", lang, rng, bound)
