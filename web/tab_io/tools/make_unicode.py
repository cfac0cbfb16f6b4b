"""Write tokenizers/_unicode.py: what the tokenizers library counts as letters, numbers, marks and spaces.

    python web/tab_io/tools/make_unicode.py

The library itself is asked, so that the tab agrees with it whatever Unicode version the tab's Python has.
"""

from __future__ import annotations

from pathlib import Path

from tokenizers import Regex, pre_tokenizers

_CLASSES = {"L": r"\p{L}", "N": r"\p{N}", "M": r"\p{M}", "White_Space": r"\s"}
_SURROGATES = range(0xD800, 0xE000)


def members(pattern: str) -> list[int]:
    """Code points of a class, found by splitting all of them."""
    codes = [code for code in range(0x110000) if code not in _SURROGATES]
    split = pre_tokenizers.Split(Regex(f"{pattern}+"), "removed", invert=False)
    rest = split.pre_tokenize_str("".join(map(chr, codes)))
    others = {ord(char) for text, _ in rest for char in text}
    return [code for code in codes if code not in others]


def ranges(codes: list[int]) -> list[str]:
    """As they stand between the brackets of a pattern, one behind the other."""
    runs: list[list[int]] = []
    for code in codes:
        if runs and code == runs[-1][1] + 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return [_escape(a) if a == b else f"{_escape(a)}-{_escape(b)}" for a, b in runs]


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def main() -> None:
    lines = [
        '"""Made by tools/make_unicode.py: classes of characters as patterns write them between brackets."""',
        "",
    ]
    lines += ["# fmt: off", "CLASSES = {"]
    for name, pattern in _CLASSES.items():
        found = ranges(members(pattern))
        parts = ["".join(found[i : i + 7]) for i in range(0, len(found), 7)]
        lines.append(f'    "{name}": (')
        lines += [f'        r"{part}"' for part in parts]
        lines.append("    ),")
    lines += ["}", "# fmt: on", ""]
    (Path(__file__).parents[1] / "tokenizers" / "_unicode.py").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
