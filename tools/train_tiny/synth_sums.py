"""Small arithmetic: sums, comparisons, counting and primes, plain and as questions."""

from __future__ import annotations

from random import Random

_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"]  # fmt: skip
_CHINESE = [
    "零",
    "一",
    "二",
    "三",
    "四",
    "五",
    "六",
    "七",
    "八",
    "九",
    "十",
    "十一",
    "十二",
    "十三",
    "十四",
    "十五",
    "十六",
    "十七",
    "十八",
    "十九",
    "二十",
]
_SIGN = {
    "en": {"+": "plus", "-": "minus", "*": "times", "/": "divided by"},
    "zh": {"+": "加", "-": "减", "*": "乘", "/": "除以"},
}
_NAMES = {
    "en": ["Mia", "Tom", "Anna", "Leo", "Nora", "Wei"],
    "zh": ["小明", "小美", "小红", "小林", "冬冬", "朵朵"],
}
_THINGS = {
    "en": ["apples", "books", "stones", "stamps", "pears", "coins", "eggs"],
    "zh": ["个苹果", "本书", "块石头", "张邮票", "个梨", "枚硬币", "个鸡蛋"],
}
PRIMES = [n for n in range(2, 200) if all(n % d for d in range(2, n))]


def number(n: int, lang: str) -> str:
    """``n`` (0 to 20) as a word."""
    return _WORDS[n] if lang == "en" else _CHINESE[n]


def calculation(rng: Random) -> tuple[int, str, int, int]:
    """(a, sign, b, result): half of them sums of two numbers up to 20, so that each occurs very often."""
    kind = rng.random()
    if kind < 0.5:
        a, b = rng.randint(0, 20), rng.randint(0, 20)
        return a, "+", b, a + b
    if kind < 0.62:
        a, b = rng.randint(0, 99), rng.randint(0, 99)
        return a, "+", b, a + b
    if kind < 0.68:
        unit = rng.choice([1, 10, 100])
        a, b = unit * rng.randint(0, 999 // unit), unit * rng.randint(0, 999 // unit)
        return a, "+", b, a + b
    if kind < 0.85:
        top = 20 if rng.random() < 0.7 else 99
        a = rng.randint(0, top)
        b = rng.randint(0, a)
        return a, "-", b, a - b
    a, b = rng.randint(0, 12), rng.randint(0, 12)
    if kind < 0.96 or not b:
        return a, "*", b, a * b
    return a * b, "/", b, a


def _line(rng: Random) -> str:
    a, sign, b, c = calculation(rng)
    shape = rng.random()
    if sign == "*" and shape < 0.3:
        sign = "×"
    return f"{a}{sign}{b}={c}" if shape > 0.85 else f"{a} {sign} {b} = {c}"


def _spoken(rng: Random, lang: str) -> str:
    a, sign, b, c = calculation(rng)
    word = _SIGN[lang][sign]
    if max(a, b, c) <= 20 and rng.random() < 0.5:
        x, y, z = (number(n, lang) for n in (a, b, c))
    else:
        x, y, z = str(a), str(b), str(c)
    if lang == "en":
        return f"{x.capitalize()} {word} {y} {rng.choice(['is', 'equals', 'makes'])} {z}."
    return f"{x}{word}{y}等于{z}。" if not x.isdigit() else f"{x} {word} {y} 等于 {z}。"


def ask_sum(rng: Random, lang: str) -> tuple[str, str]:
    """A small calculation as a question."""
    a, sign, b, c = calculation(rng)
    word = _SIGN[lang][sign]
    formula = f"{a} {sign} {b} = {c}"
    if lang == "en":
        question = rng.choice([f"What is {a} {sign} {b}?", f"{a} {sign} {b} = ?", f"What is {a} {word} {b}?",
                               f"Calculate {a} {sign} {b}.", f"How much is {a} {sign} {b}?", f"{a}{sign}{b}=?",
                               f"{a} {sign} {b}"])  # fmt: skip
        return question, f"{formula}."
    question = rng.choice([f"{a} {sign} {b} 等于几？", f"{a} {word} {b} 等于多少？", f"{a} {sign} {b} = ?", f"算一算 {a} {sign} {b}。",
                           f"{a}{sign}{b}等于几？", f"请计算 {a} {sign} {b}。", f"{a}{sign}{b}=?"])  # fmt: skip
    return question, f"{formula}。"


def ask_story_sum(rng: Random, lang: str) -> tuple[str, str]:
    """A word problem with apples and the like."""
    who, i = rng.choice(_NAMES[lang]), rng.randrange(len(_THINGS[lang]))
    what = _THINGS[lang][i]
    a, b = rng.randint(2, 12), rng.randint(2, 9)
    if rng.random() < 0.5:
        if lang == "en":
            return (f"{who} has {a} {what} and gets {b} more. How many {what} does {who} have now?",
                    f"{a} + {b} = {a + b}. {who} has {a + b} {what}.")  # fmt: skip
        return (
            f"{who}有 {a} {what}，又得到 {b} {what[0]}，现在一共有多少{what}？",
            f"{a} + {b} = {a + b}。{who}一共有 {a + b} {what}。",
        )
    a += b
    if lang == "en":
        return (f"{who} has {a} {what} and gives away {b}. How many {what} are left?",
                f"{a} - {b} = {a - b}. There are {a - b} {what} left.")  # fmt: skip
    return (
        f"{who}有 {a} {what}，送出去 {b} {what[0]}，还剩多少{what}？",
        f"{a} - {b} = {a - b}。还剩 {a - b} {what}。",
    )


def ask_compare(rng: Random, lang: str) -> tuple[str, str]:
    """Which of two numbers is larger or smaller?"""
    a, b = rng.sample(range(100), 2)
    large = rng.random() < 0.5
    best = max(a, b) if large else min(a, b)
    other = a + b - best
    if lang == "en":
        word = "larger" if large else "smaller"
        return f"Which number is {word}, {a} or {b}?", f"{best} is {word} than {other}."
    word = "大" if large else "小"
    return f"{a} 和 {b} 哪个{word}？", f"{best} 比 {other} {word}。"


def ask_prime(rng: Random, lang: str) -> tuple[str, str]:
    """Is n a prime number? With a divisor if it is not."""
    n = rng.randint(2, 30) if rng.random() < 0.7 else rng.randint(2, 100)
    if lang == "en":
        question = rng.choice([f"Is {n} a prime number?", f"Is {n} prime?", f"Is the number {n} a prime?"])
        if n in PRIMES:
            return question, f"Yes, {n} is a prime number."
        d = next(d for d in range(2, n) if n % d == 0)
        return question, f"No, {n} is not a prime number, because {n} = {d} * {n // d}."
    question = rng.choice([f"{n} 是质数吗？", f"{n} 是不是质数？", f"数字 {n} 是质数吗？"])
    if n in PRIMES:
        return question, f"是的，{n} 是质数。"
    d = next(d for d in range(2, n) if n % d == 0)
    return question, f"不是，{n} 不是质数，因为 {n} = {d} * {n // d}。"


def _series(rng: Random, lang: str) -> tuple[str, list[int]]:
    kind, n = rng.random(), rng.randint(3, 10)
    if kind < 0.5:
        title = {"en": [f"List {number(n, lang)} prime numbers", f"The first {number(n, lang)} prime numbers",
                        f"List the first {n} primes", f"Name {number(n, lang)} prime numbers"],
                 "zh": [f"列出{_counted(n)}个质数", f"前{number(n, lang)}个质数", f"列出前 {n} 个质数", f"说出{_counted(n)}个质数"]}  # fmt: skip
        return rng.choice(title[lang]), PRIMES[:n]
    if kind < 0.6:
        return {"en": f"Prime numbers below {10 * n}", "zh": f"{10 * n} 以内的质数"}[lang], [
            p for p in PRIMES if p < 10 * n
        ]
    if kind < 0.75:
        return {"en": f"Count from 1 to {n}", "zh": f"从 1 数到 {n}"}[lang], list(range(1, n + 1))
    if kind < 0.82:
        return {"en": f"Count backwards from {n}", "zh": f"从 {n} 倒着数"}[lang], list(range(n, 0, -1))
    if kind < 0.9:
        return {"en": f"List the first {n} even numbers", "zh": f"列出前 {n} 个偶数"}[lang], [
            2 * i for i in range(1, n + 1)
        ]
    if kind < 0.95:
        return {"en": f"List the first {n} odd numbers", "zh": f"列出前 {n} 个奇数"}[lang], [
            2 * i + 1 for i in range(n)
        ]
    return {"en": f"List the first {n} square numbers", "zh": f"列出前 {n} 个平方数"}[lang], [
        i * i for i in range(1, n + 1)
    ]


def _counted(n: int) -> str:
    return "两" if n == 2 else _CHINESE[n]


def ask_series(rng: Random, lang: str) -> tuple[str, str]:
    """Primes, counting, even, odd and square numbers in a row."""
    title, numbers = _series(rng, lang)
    joined = ", ".join(map(str, numbers)) if lang == "en" else "、".join(map(str, numbers))
    return title + (rng.choice([".", "", ":"]) if lang == "en" else rng.choice(["。", "", "："])), joined + (
        "." if lang == "en" else "。"
    )


def _table(rng: Random) -> str:
    """Lines that go on in a regular way: one number grows, or both do."""
    a, b = rng.randint(0, 20), rng.randint(0, 20)
    count = rng.randint(2, 10)
    kind = rng.random()
    if kind < 0.5:
        lines = [f"{a} + {b + i} = {a + b + i}" for i in range(count)]
    elif kind < 0.65:
        lines = [f"{a + i} + {b} = {a + b + i}" for i in range(count)]
    elif kind < 0.8:
        lines = [f"{i} + {i} = {2 * i}" for i in range(a, a + count)]
    elif kind < 0.9:
        lines = [f"{a + b} - {b - i} = {a + i}" for i in range(min(count, b + 1))]
    else:
        lines = [f"{a} * {b % 6 + i} = {a * (b % 6 + i)}" for i in range(count)]
    return "\n".join(lines)


def sums(rng: Random, lang: str) -> str:
    """Lines of calculation, spoken sums, or a series after a colon."""
    kind = rng.random()
    if kind < 0.2:
        return _line(rng)
    if kind < 0.3:
        return "\n".join(_line(rng) for _ in range(rng.choice([2, 3, 5])))
    if kind < 0.6:
        return _table(rng)
    if kind < 0.65:
        a = rng.randint(1, 12)
        return "\n".join(f"{a} * {b} = {a * b}" for b in range(1, 13))
    if kind < 0.82:
        return (" " if lang == "en" else "").join(_spoken(rng, lang) for _ in range(rng.choice([1, 2, 4])))
    title, numbers = _series(rng, lang)
    if lang == "en":
        return f"{title}: {', '.join(map(str, numbers))}."
    return f"{title}：{'、'.join(map(str, numbers))}。"
