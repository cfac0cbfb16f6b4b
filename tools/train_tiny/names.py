"""Names for heroes beyond the grammars' own, so that the model learns to repeat a name it has just read."""

from __future__ import annotations

from random import Random

from .records import rows

_CASES = {"she": ("her", "her", "girl"), "he": ("his", "him", "boy")}
_FIRST = ["小", "小", "小", "阿", "阿", "大"]
_GIVEN = {
    "她": "红美丽芳静雪梅兰荷菊柳桃杏梨月晴春秋玉珠燕莺宁慧敏霞云朵秀巧",
    "他": "明刚强伟杨松柏山川江海波舟石铁虎龙鹏武杰勇义雷田福禄寿康牛文斌涛军",
    "": "华洋林雨竹果禾麦谷湖星阳晨晓岚风夏冬青蓝白金银宝喜乐安和顺利吉庆鹤鱼鹿马羊智仁信平",
}
_SURNAME = "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕"
_KIDS = {"她": ["女孩", "姑娘", "小姑娘", "小女孩"], "他": ["男孩", "少年", "小伙子", "小男孩"]}


_STARTS = ["B", "Br", "Ch", "D", "Dr", "F", "G", "H", "J", "K", "L", "M", "N", "P", "R", "S", "Sh", "T", "Tr"]
_STARTS += ["V", "W", "X", "Y", "Z", "Zh"]
_VOWELS = ["a", "e", "i", "o", "u", "ai", "an", "ao", "en", "ia", "in", "ing", "o", "ong", "u"]


def _syllables(rng: Random) -> str:
    """A name that nobody has written down: one or two parts of one or two syllables."""
    parts = [
        "".join(rng.choice(_STARTS) + rng.choice(_VOWELS) for _ in range(rng.choice([1, 2, 2])))
        for _ in range(rng.choice([1, 1, 2]))
    ]
    return " ".join(part.capitalize() for part in parts)


def english_name(rng: Random) -> tuple[str, str]:
    """(name, "she" or "he"): three in ten are made of syllables, to be copied and not remembered."""
    if rng.random() < 0.3:
        return _syllables(rng), rng.choice(["she", "he"])
    name, pronoun = rng.choice(rows("names"))
    return name, pronoun


def chinese_name(rng: Random) -> tuple[str, str]:
    """(name, "她" or "他"): 小明, 明明, 王明 and their like."""
    pronoun = rng.choice(["她", "他"])
    given = _GIVEN[pronoun] + _GIVEN[""]
    kind = rng.random()
    if kind < 0.55:
        return rng.choice(_FIRST) + rng.choice(given), pronoun
    if kind < 0.7:
        return rng.choice(given) * 2, pronoun
    return rng.choice(_SURNAME) + rng.choice(given) + (
        rng.choice(given) if rng.random() < 0.5 else ""
    ), pronoun


def name(rng: Random, lang: str) -> str:
    """A name in the language."""
    return (english_name(rng) if lang == "en" else chinese_name(rng))[0]


def hero(rng: Random, lang: str) -> dict[str, str]:
    """The slots of a grammar's hero: name, pronouns, and the word for a child."""
    if lang == "en":
        name, p = english_name(rng)
        h, m, kid = _CASES[p]
        return {"n": name, "p": p, "h": h, "m": m, "kid": kid}
    name, p = chinese_name(rng)
    return {"n": name, "p": p, "kid": rng.choice(_KIDS[p])}
