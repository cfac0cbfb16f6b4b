"""What every renderer needs to know about the page at hand, and the few small things that all of them do."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from judge.i18n import t
from tools.book.figures import Animation, Figure, load_figure
from tools.book.manifest import Step
from tools.book.site import ROOT, Site
from tools.book.source import Directive, Source
from tools.book.symbols import Symbol, find_symbol
from tools.steps import Steps

_REASON = re.compile(r"^-\s+`(?P<snippet>[^`]+)`\s+(?P<text>.+)$")


@dataclass(frozen=True)
class Reason:
    """Why a line is as it is; `line` counts from 0 in the code shown."""

    line: int
    snippet: str
    text: str


@dataclass(frozen=True)
class Page:
    """One source in one language."""

    source: Source
    lang: str
    site: Site
    root: Path = ROOT
    figures: list[Figure | Animation] = field(default_factory=list)  # so far; its place is its number

    @property
    def chapter(self) -> int:
        """The chapter's number; -1 for a page that is no chapter."""
        return int(self.source.head.get("chapter", -1))

    @property
    def state(self) -> int:
        """The chapter whose engine the page shows: its own, or the one that a milestone follows."""
        return int(self.source.head.get("after", self.chapter))

    @cached_property
    def versions(self) -> Steps:
        """Each file as each chapter has it."""
        return Steps(self.root)

    @property
    def steps(self) -> dict[int, Step]:
        return self.versions.steps

    def word(self, key: str, **values: object) -> str:
        """An entry of [book] in the page's language."""
        return t(f"book.{key}", self.lang, **values)

    def figure(self, directive: Directive) -> Figure:
        """The figure that the directive names.

        Raises:
            SourceError: there is none, or it has no words in this language.
        """
        try:
            return load_figure(self.root / "chapters" / "figures", directive.argument, self.lang)
        except LookupError as error:
            raise directive.error(str(error)) from error

    def animation(self, directive: Directive) -> Animation | None:
        """The animation that the directive names; None for the name of a figure that does not move.

        Raises:
            SourceError: there is neither, or no trace of this name.
        """
        name = directive.argument
        try:
            title, alt = t(f"animation.{name}_title", self.lang), t(f"animation.{name}_text", self.lang)
        except KeyError:
            if (self.root / "chapters" / "figures" / f"{name}.svg").is_file():
                return None
            raise directive.error(f"no animation {name}, and no figure {name}.svg") from None
        trace = directive.options.get("trace", name)
        if not (self.root / "animations" / "traces" / f"{trace}.jsonl").is_file():
            raise directive.error(f"no trace {trace}.jsonl in animations/traces/")
        return Animation(name, title, alt, trace)

    def file(self, directive: Directive, relative: str) -> Path:
        """A file of the repository that the directive names; one of the engine as this chapter has it.

        Raises:
            SourceError: it does not exist, comes in a later chapter, or lies outside the repository.
        """
        path = (self.root / relative).resolve()
        if not path.is_relative_to(self.root) or not path.is_file():
            raise directive.error(f"no file {relative}")
        if relative not in self.versions.chapters_of:
            return path
        version = self.versions.version(relative, self.state)
        if version is None:
            first = self.versions.chapters_of[relative][0]
            raise directive.error(f"{relative} comes in chapter {first} only")
        return version

    def code(self, directive: Directive) -> tuple[str, Symbol]:
        """The path and the source that an include asks for, as this chapter has it; without `#symbol`, the
        whole file.

        Docstring and `# hint:` lines are left out of a symbol: the page says both in its own language.

        Raises:
            SourceError: no such file or symbol.
        """
        relative, _, name = directive.argument.partition("#")
        path = self.file(directive, relative)
        if not name:
            text = path.read_text(encoding="utf-8")
            return relative, Symbol("", text, 1, text.count("\n"))
        try:
            found = find_symbol(path, name, docstring=directive.options.get("docstring") == "keep")
        except LookupError as error:
            raise directive.error(str(error)) from error
        shown = [line for line in found.code.splitlines(True) if not line.lstrip().startswith("# hint:")]
        return relative, replace(found, code="".join(shown))

    def reasons(self, directive: Directive, code: str) -> list[Reason]:
        """The body of an include: one list item a reason, which begins with a piece of the line it is about.

        Raises:
            SourceError: an item has another form, or its piece is not in the code.
        """
        lines = code.splitlines()
        found: list[Reason] = []
        for offset, text in enumerate(directive.body.splitlines(), start=1):
            if not text.strip():
                continue
            item = _REASON.match(text)
            if item is None:
                raise directive.error("a reason reads: - `piece of the line` why it is so", offset)
            at = next((number for number, line in enumerate(lines) if item["snippet"] in line), None)
            if at is None:
                raise directive.error(f"the code has no line with `{item['snippet']}`", offset)
            found.append(Reason(at, item["snippet"], item["text"]))
        return found

    def runner(self, number: int) -> str:
        """The address of the page where exercise `number` is written and submitted."""
        return self.site.runner.format(lang=self.lang, id=number)

    def link(self, relative: str, first: int = 0, last: int = 0) -> str:
        """The address of a file in the repository, of its lines when they are given; of a file of the engine,
        that of this chapter's version.
        """
        version = self.versions.version(relative, self.state)
        if version is not None:
            relative = version.relative_to(self.root).as_posix()
        if not self.site.repository:
            return f"../../{relative}"
        lines = f"#L{first}-L{last}" if first else ""
        return f"{self.site.repository}/blob/main/{relative}{lines}"

    def output(self, directive: Directive, name: str) -> str:
        """What the code printed when it was last run.

        Raises:
            SourceError: it has never been run.
        """
        path = self.root / "chapters" / "outputs" / f"{name}.txt"
        if not path.is_file():
            raise directive.error(f"no output {path.name}; run: python -m tools.book.outputs")
        return path.read_text(encoding="utf-8").rstrip("\n")
