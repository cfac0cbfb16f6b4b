"""Fetch the three open texts by package name and write them, cleaned, to the cache folder.

    python -m tools.train_tiny.corpora build/train_tiny

writes ``pydocs.xz``, ``wordnet.xz`` and ``poetry.xz``: documents split by the record separator, compressed.
Needs apt-get with Debian's sources (bookworm has python3.11-doc), dpkg-deb, npm and the network.
"""

from __future__ import annotations

import json
import lzma
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

SEPARATOR = "\x1e"
DEBIAN = ("python3.11-doc", "wordnet-base")
POETRY = "chinese-poetry@2.0.1"
_PARTS = ("tutorial", "library", "reference", "howto", "faq")
# synsets that a course for everyone can do without
_SKIP = re.compile(
    r"slur|offensive|vulgar|obscen|sexual|disparag|derogat|genital|copulat|prostitut|pornog|erotic", re.I
)
# only the parts in simplified characters; "□" marks lost characters
_POEMS = (
    "songci/ci.song.*.json",
    "shijing/*.json",
    "shuimotangshi/*.json",
    "nalanxingde/*.json",
    "caocaoshiji/*.json",
)


def fetch(folder: Path) -> Path:
    """Download and unpack the packages below ``folder``; returns the tree's root. What is there is kept.

    Raises subprocess.CalledProcessError: a client failed (no network, or the package is not in its sources).
    """
    tree = folder / "raw"
    tree.mkdir(parents=True, exist_ok=True)
    for name in DEBIAN:
        if not list(tree.glob(f"{name}_*.deb")):
            subprocess.run(["apt-get", "download", name], cwd=tree, check=True)
        subprocess.run(["dpkg-deb", "-x", next(tree.glob(f"{name}_*.deb")), tree / "deb"], check=True)
    if not (tree / "package").exists():
        archive = next(iter(tree.glob("chinese-poetry-*.tgz")), None)
        if archive is None:
            subprocess.run(["npm", "pack", "--silent", POETRY], cwd=tree, check=True)
            archive = next(tree.glob("chinese-poetry-*.tgz"))
        with tarfile.open(archive) as packed:
            packed.extractall(tree, filter="data")
    return tree


def plain_rst(text: str) -> str:
    """reStructuredText with its directives, roles and underlines taken out."""
    text = re.sub(
        r"^\.\. (?!code|note|warning|versionadded)[^\n]*\n(?:[ \t]+[^\n]*\n|\n(?=[ \t]))*",
        "",
        text,
        flags=re.M,
    )
    text = re.sub(r":[\w:]+:`[!~]?([^`<]+?)(?: ?<[^`>]*>)?`", r"`\1`", text)
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    text = re.sub(r"`([^`<]+) <[^>]+>`_+", r"\1", text)
    text = re.sub(r"^([=\-~^*\"#+])\1{2,}\n", "", text, flags=re.M)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def pydocs(tree: Path, size: int = 3000) -> Iterator[str]:
    """The Python documentation in pieces of about ``size`` characters, cut between paragraphs."""
    sources = tree / "deb/usr/share/doc/python3.11/html/_sources"
    for path in sorted(p for part in _PARTS for p in (sources / part).rglob("*.txt")):
        piece = ""
        for paragraph in plain_rst(path.read_text(encoding="utf-8")).split("\n\n"):
            piece += paragraph + "\n\n"
            if len(piece) > size:
                yield piece.strip()
                piece = ""
        if len(piece) > 200:
            yield piece.strip()


def wordnet(tree: Path) -> Iterator[str]:
    """A definition a synset, as a dictionary entry or a question."""
    rng = Random(0)
    for part, name in (("noun", "noun"), ("verb", "verb"), ("adj", "adjective"), ("adv", "adverb")):
        path = tree / f"deb/usr/share/wordnet/data.{part}"
        for line in path.read_text(encoding="latin-1").splitlines():
            if line.startswith("  "):
                continue
            head, gloss = line.split(" | ", 1)
            fields = head.split()
            words = [fields[4 + 2 * i].replace("_", " ").split("(")[0] for i in range(int(fields[3], 16))]
            examples = re.findall(r'"([^"]+)"', gloss)
            meaning = re.split(r'[;:] "', gloss)[0].strip(" ;")
            if not meaning or not meaning.isascii() or _SKIP.search(gloss):
                continue
            more = f" Other words: {', '.join(words[1:4])}." if len(words) > 1 else ""
            if examples:
                more += f" For example: {examples[0]}" + ("" if examples[0][-1] in ".?!" else ".")
            sentence = f"{meaning[0].upper()}{meaning[1:]}."
            if rng.random() < 0.6:
                yield f'"{words[0]}" ({name}): {meaning}.{more}'
            else:
                yield f'Question: What does "{words[0]}" mean?\nAnswer: {sentence}{more}'


def poetry(tree: Path) -> Iterator[str]:
    """Poems with title and author."""
    for pattern in _POEMS:
        for path in sorted((tree / "package/dist").glob(pattern)):
            for poem in json.loads(path.read_text(encoding="utf-8")):
                lines = poem.get("paragraphs") or poem.get("content") or poem.get("para") or []
                text = "\n".join(line.strip() for line in lines)
                title = poem.get("title") or poem.get("rhythmic") or ""
                text = f"《{title}》{poem.get('author', '佚名')}\n\n{text}"
                if 30 <= len(text) <= 600 and "□" not in text:
                    yield text


def read(folder: Path, name: str) -> list[str]:
    """The documents of ``<name>.xz``; empty when the text was not fetched."""
    path = folder / f"{name}.xz"
    return lzma.decompress(path.read_bytes()).decode().split(SEPARATOR) if path.exists() else []


def main(folder: Path) -> None:
    """Fetch, clean and write all three."""
    tree = fetch(folder)
    for make in (pydocs, wordnet, poetry):
        texts = list(make(tree))
        Random(0).shuffle(texts)
        packed = lzma.compress(SEPARATOR.join(texts).encode())
        (folder / f"{make.__name__}.xz").write_bytes(packed)
        size = sum(map(len, texts))
        print(f"{make.__name__}: {len(texts)} documents, {size} characters, {len(packed)} bytes packed")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
