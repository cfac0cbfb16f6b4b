"""Nothing of the built site holds what is secret: hidden tests, mutants, solutions outside the engine."""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
import zipfile
from collections.abc import Iterator
from html import escape
from pathlib import Path

from judge.exercises import ROOT, load_exercises
from judge.solution import solution_text
from judge.starter import starter
from tools.lite.packages import course

LEAST = 4
LENGTH = 96
"""So many lines in a row, by their first characters, that stand nowhere public give a source away."""


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
        assert b"MUTANTS" not in content, name  # whatever it is: also compiled
        try:
            yield name, content.decode("utf-8")
        except UnicodeDecodeError:
            return


def runs(source: str) -> set[str]:
    """Beginnings of runs of lines, as a page or JSON would hold them: without blanks, escapes and markup."""
    lines = [flat(line) for line in source.splitlines()]
    lines = [line for line in lines if len(line) > 8 and not line.startswith(("import", "from"))]
    joined = ("".join(lines[at : at + LEAST]) for at in range(len(lines) - LEAST + 1))
    return {run[:LENGTH] for run in joined if len(run) >= LENGTH}


def found_in(text: str, wanted: dict[str, str]) -> set[str]:
    """What of `wanted`, run to its origin, is anywhere in `text`."""
    content = flat(text.replace("\\n", ""))
    pieces = (content[at : at + LENGTH] for at in range(len(content) - LENGTH + 1))
    return {wanted[piece] for piece in pieces if piece in wanted}


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


def secrets() -> dict[str, str]:
    """Secret runs, each with where it is from."""
    sources: dict[str, str] = {}
    for path in sorted((ROOT / "judge" / "hidden").glob("*.py")):
        sources[path.name] = path.read_text(encoding="utf-8")
    for one in load_exercises().values():
        for mutant in one.hidden.mutants:
            sources[f"{one.key} mutant {mutant.letter}"] = mutant.code
        if one.place != "engine":
            sources[f"{one.key} solution"] = solution_text(one)
    known = public()
    return {run: name for name, source in sources.items() for run in runs(source) - known}


def test_the_search_finds_what_is_there() -> None:
    path = next(iter(sorted((ROOT / "judge" / "hidden").glob("*.py"))))
    source = path.read_text(encoding="utf-8")
    wanted = dict.fromkeys(runs(source), path.name)
    block = json.dumps({"code": source}).replace("<", "\\u003c")
    assert found_in(block, wanted) == {path.name}
    assert found_in(escape(source), wanted) == {path.name}
    assert found_in("x" * 200, wanted) == set()


def test_nothing_secret_is_in_the_site(course_site: Path) -> None:
    wanted = secrets()
    assert len(wanted) > 500
    leaks = {}
    for name, text in texts(course_site):
        assert "judge/hidden" not in name and "exercise.toml" not in name, name
        if what := found_in(text, wanted):
            leaks[name] = what
    assert leaks == {}


def test_nothing_secret_is_in_what_jupyterlite_brings(tmp_path: Path) -> None:
    wanted = secrets()
    leaks = {}
    for name, content in course(tmp_path).items():
        assert "judge/hidden" not in name and "solutions" not in name, name
        if what := found_in(content.decode("utf-8", "replace"), wanted):
            leaks[name] = what
    assert leaks == {}
