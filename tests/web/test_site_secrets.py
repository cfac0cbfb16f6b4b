"""Nothing of the built site holds what is secret: hidden tests, mutants, solutions outside the engine."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from judge.exercises import ROOT, load_exercises
from judge.solution import solution_text
from judge.starter import starter

LEAST = 3
"""So many lines in a row that stand nowhere public give a source away."""


def texts(site: Path) -> Iterator[tuple[str, str]]:
    """Every file of the site, what its archives hold included."""
    for path in sorted(site.rglob("*")):
        if path.is_file():
            yield from unpacked(path.relative_to(site).as_posix(), path.read_bytes())


def unpacked(name: str, content: bytes) -> Iterator[tuple[str, str]]:
    if content[:2] == b"\x1f\x8b":
        yield from unpacked(name.removesuffix(".gz"), gzip.decompress(content))
    elif content[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for each in archive.namelist():
                yield from unpacked(f"{name}!{each}", archive.read(each))
    elif content[257:262] == b"ustar":
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            for member in archive.getmembers():
                file = archive.extractfile(member)
                if file is not None:
                    yield from unpacked(f"{name}!{member.name}", file.read())
    else:
        yield name, content.decode("utf-8", "replace")


def runs(source: str) -> set[str]:
    """Runs of lines as a page or JSON would hold them: without indentation, escapes and markup."""
    lines = [flat(line) for line in source.splitlines()]
    lines = [line for line in lines if len(line) > 8 and not line.startswith(("import", "from", '"""'))]
    return {"".join(lines[at : at + LEAST]) for at in range(len(lines) - LEAST + 1)}


def flat(text: str) -> str:
    text = re.sub(r"<[^<>]*>", "", text)
    text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").replace("&quot;", '"')
    return re.sub(r"\\u00([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), text).translate(_NOISE)


_NOISE = str.maketrans("", "", " \t\n\r\\\"'")


def public() -> set[str]:
    """What learners get anyway: starters, samples, the engine, the text of the book."""
    known: set[str] = set()
    for one in load_exercises().values():
        for lang in ("zh", "en"):
            known |= runs(starter(one, lang))
        known |= runs(one.samples)
    for folder in ("minisgl", "examples", "chapters/steps", "tests/chapters"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            known |= runs(path.read_text(encoding="utf-8"))
    return known


def secrets() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    known = public()
    for path in sorted((ROOT / "judge" / "hidden").glob("*.py")):
        found[path.name] = runs(path.read_text(encoding="utf-8")) - known
    for one in load_exercises().values():
        for mutant in one.hidden.mutants:
            found[f"{one.key} mutant {mutant.letter}"] = runs(mutant.code) - known
        if one.place != "engine":
            found[f"{one.key} solution"] = runs(solution_text(one)) - known
    return found


def test_the_search_finds_what_is_there() -> None:
    hidden = next(iter(sorted((ROOT / "judge" / "hidden").glob("*.py"))))
    source = hidden.read_text(encoding="utf-8")
    marked = source.replace("<", "\\u003c").replace("\n", "\\n")
    page = flat(f'{{"code": "{marked}"}}'.replace("\\n", ""))
    assert sum(one in page for one in runs(source)) > len(runs(source)) // 2


def test_nothing_secret_is_in_the_site(course_site: Path) -> None:
    wanted = secrets()
    leaks = []
    for name, text in texts(course_site):
        content = flat(text.replace("\\n", ""))
        leaks += [
            f"{what} in {name}" for what, parts in wanted.items() if any(part in content for part in parts)
        ]
        assert "judge/hidden" not in name and "exercise.toml" not in name, name
    assert leaks == []
