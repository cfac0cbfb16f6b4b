"""A run as lines of text: progress while it goes, then the verdict."""

from __future__ import annotations

import sys
import textwrap
from typing import Any

from judge.exercises import Exercise
from judge.i18n import t
from judge.types import Event, GroupResult, RunResult, SampleResult, Verdict

INDENT = "    "


def sample_lines(sample: SampleResult, lang: str) -> list[str]:
    """A sample in full: it is public, so its assertion, both values and the learner's output are shown."""
    title = sample.title or sample.name
    if sample.ok:
        lines = [f"  ✓ {title}"]
    else:
        lines = [f"  ✗ {title}"]
        for key, value in (
            ("sample_line", sample.line),
            ("sample_assertion", sample.assertion),
            ("sample_expected", sample.expected),
            ("sample_got", sample.got),
        ):
            if value:
                lines.append(f"{INDENT}{t(f'cli.{key}', lang)} {value}")
        if sample.message:
            lines.append(textwrap.indent(sample.message, INDENT))
    if sample.stdout:
        lines.append(textwrap.indent(sample.stdout.rstrip("\n"), f"{INDENT}| "))
    return lines


class Report:
    """Prints one run. `quiet` prints nothing: with --json, stdout holds the one object alone."""

    def __init__(self, exercise: Exercise, file: str, lang: str, *, quiet: bool) -> None:
        self.exercise, self.file, self.lang, self.quiet = exercise, file, lang, quiet
        self._in_text = False

    def _say(self, line: str = "") -> None:
        if not self.quiet:
            print(line, flush=True)

    def _t(self, key: str, **values: object) -> str:
        return t(f"cli.{key}", self.lang, **values)

    def begin(self, isolation: str) -> None:
        """The head: which exercise, which file, and what keeps the learner's code apart from the machine."""
        exercise = self.exercise
        self._say(f"{exercise.id} {exercise.name} · {exercise.title[self.lang]}")
        self._say(self._t("head", file=self.file, isolation=isolation))
        if isolation.startswith("weak"):
            self._say(self._t("weak"))

    def event(self, event: Event) -> None:
        """Progress as it comes: a line a group, then the generated text piece by piece."""
        data: dict[str, Any] = event.data
        if event.type == "engine" and data.get("prompt"):
            self._break_text()
            self._say(f"{self._t('engine')} {data.get('model', '')}".rstrip())
        elif event.type == "token":
            if not self._in_text and not self.quiet:
                self._in_text = True
            if not self.quiet:
                print(data.get("text", ""), end="", flush=True)
        elif event.type == "verdict":
            self._break_text()

    def _break_text(self) -> None:
        if self._in_text:
            self._say()
            self._in_text = False

    def end(self, result: RunResult) -> None:
        """The verdict: samples, groups, reason, what the engine did, and what to do next."""
        for sample in result.samples:
            for line in sample_lines(sample, self.lang):
                self._say(line)
        for group in result.groups:
            self._say(self._group(group))
        if result.engine is not None:
            self._engine(result)
        self._say()
        self._say(f"{result.verdict} · {result.message[self.lang]}")
        if result.diagnosis is not None:
            self._say(f"{self._t('diagnosis')} {getattr(result.diagnosis, self.lang)}")
        elif result.rule is not None:
            rule = next((rule for rule in self.exercise.rules if rule.number == result.rule), None)
            if rule is not None:
                self._say(f"{self._t('rule', number=rule.number)} {rule.text[self.lang]}")
        self._say(self._t("score", score=round(100 * result.score), seconds=f"{result.seconds:.2f}"))
        if result.verdict is Verdict.AC and not result.groups:
            self._say(self._t("samples_only", id=self.exercise.id))
        elif result.verdict is Verdict.AC:
            self._say(self._t("accepted_next", id=self.exercise.id))

    def _group(self, group: GroupResult) -> str:
        if group.verdict is None:
            return f"  - {group.title[self.lang]}  {self._t('not_run')}"
        mark = "✓" if group.verdict is Verdict.AC else "✗"
        return f"  {mark} {group.title[self.lang]}  {group.passed}/{group.total}  {group.verdict}"

    def _engine(self, result: RunResult) -> None:
        engine = result.engine
        assert engine is not None
        for generated in engine.texts:
            self._say(f"  › {generated.prompt}")
            self._say(textwrap.indent(generated.text.strip("\n") or "…", INDENT))
        same = self._t("same" if engine.tokens_equal else "different")
        balanced = self._t("balanced" if engine.pages_balanced else "unbalanced")
        speed = "" if engine.speed_ratio is None else self._t("speed", ratio=f"{engine.speed_ratio:.2f}")
        self._say(
            self._t(
                "engine_line",
                model=engine.model,
                device=engine.device,
                same=same,
                balanced=balanced,
                speed=speed,
            )
        )


def warn(text: str) -> None:
    """A line for people, beside the output that programs read."""
    print(text, file=sys.stderr)
