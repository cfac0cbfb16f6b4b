"""A run as lines of text: progress while it goes, then the verdict."""

from __future__ import annotations

import textwrap

from judge.cli import workspace
from judge.exercises import Exercise
from judge.i18n import t
from judge.types import EngineResult, Event, GroupResult, RunResult, SampleResult, Verdict

INDENT = "    "


def sample_lines(sample: SampleResult, lang: str) -> list[str]:
    """A sample in full: it is public, so its assertion, both values and the learner's output are shown."""
    lines = [f"  {'✓' if sample.ok else '✗'} {sample.title.get(lang) or sample.name}"]
    if not sample.ok:
        for key in ("line", "assertion", "expected", "got"):
            value = getattr(sample, key)
            if value not in (None, ""):
                lines.append(f"{INDENT}{t(f'cli.sample_{key}', lang)} {value}")
        if sample.message:
            lines.append(textwrap.indent(sample.message[lang].rstrip(": ："), INDENT))
    if sample.stdout:
        lines.append(textwrap.indent(sample.stdout.rstrip("\n"), f"{INDENT}| "))
    return lines


def group_line(group: GroupResult, lang: str) -> str:
    """One group of hidden cases; the cases themselves stay unseen."""
    if group.verdict is None:
        return f"  - {group.title[lang]}  {t('cli.not_run', lang)}"
    mark = "✓" if group.verdict is Verdict.AC else "✗"
    return f"  {mark} {group.title[lang]}  {group.passed}/{group.total}  {group.verdict}"


def text_lines(engine: EngineResult, *, first: int = 0) -> list[str]:
    """What the engine wrote with the learner's function in it, prompt by prompt from the `first` on."""
    lines = []
    for generated in engine.texts[first:]:
        lines.append(f"  › {generated.prompt.strip()}")
        lines.append(textwrap.indent(generated.text.strip("\n"), INDENT))
    return lines


def engine_line(engine: EngineResult, lang: str) -> str:
    """The engine part in one line: tokens, pages, speed."""
    ratio = engine.speed_ratio
    return t(
        "cli.engine_line",
        lang,
        model=engine.model,
        device=engine.device,
        same=t("cli.same" if engine.tokens_equal else "cli.different", lang),
        balanced=t("cli.balanced" if engine.pages_balanced else "cli.unbalanced", lang),
        speed="" if ratio is None else t("cli.speed", lang, ratio=f"{ratio:.2f}"),
    )


def verdict_lines(exercise: Exercise, result: RunResult, lang: str) -> list[str]:
    """The verdict, its reason in the chapter's words, and what to do next."""
    lines = [f"{result.verdict} · {result.message[lang]}"]
    rule = next((rule for rule in exercise.rules if rule.number == result.rule), None)
    if result.diagnosis is not None:
        lines.append(f"{t('cli.diagnosis', lang)} {getattr(result.diagnosis, lang)}")
    if rule is not None:
        lines.append(f"{t('cli.rule', lang, number=rule.number)} {rule.text[lang]}")
    lines.append(t("cli.score", lang, score=round(100 * result.score), seconds=f"{result.seconds:.2f}"))
    if result.verdict is Verdict.SE:
        lines.append(t("cli.fault", lang, file=workspace.shown(workspace.log_file())))
    if result.verdict is Verdict.AC:
        lines.append(t("cli.accepted_next" if result.groups else "cli.samples_only", lang, id=exercise.id))
    return lines


def result_lines(exercise: Exercise, result: RunResult, lang: str, *, first_text: int = 0) -> list[str]:
    """The whole run; texts before `first_text` have been shown already."""
    lines = text_lines(result.engine, first=first_text) if result.engine is not None else []
    lines += [line for sample in result.samples for line in sample_lines(sample, lang)]
    lines += [group_line(group, lang) for group in result.groups]
    if result.engine is not None:
        lines.append(engine_line(result.engine, lang))
    return [*lines, "", *verdict_lines(exercise, result, lang)]


class Report:
    """Prints one run as it goes. `quiet` prints nothing: with --json, stdout holds the one object alone."""

    def __init__(self, exercise: Exercise, file: str, lang: str, *, quiet: bool) -> None:
        self.exercise, self.file, self.lang, self.quiet = exercise, file, lang, quiet
        self._streamed = False

    def _say(self, line: str = "") -> None:
        if not self.quiet:
            print(line, flush=True)

    def begin(self, isolation: str) -> None:
        """The head: which exercise, which file, and what keeps the learner's code apart from the machine."""
        exercise, lang = self.exercise, self.lang
        self._say(f"{exercise.id} {exercise.name} · {exercise.title[lang]}")
        self._say(t("cli.head", lang, file=self.file, isolation=isolation))
        if isolation.startswith("weak"):
            self._say(t("cli.weak", lang))

    def event(self, event: Event) -> None:
        """The first prompt's text, as it comes; the others grow beside it and are shown at the end."""
        data = event.data
        if self.quiet or event.type != "token" or data["request"] != 0:
            return
        if not self._streamed:
            self._streamed = True
            print(f"  › {data['prompt'].strip()}\n{INDENT}", end="")
        print(data["text"].replace("\n", f"\n{INDENT}"), end="", flush=True)

    def end(self, result: RunResult) -> None:
        """The verdict and all that led to it."""
        if self._streamed:
            self._say()
        for line in result_lines(self.exercise, result, self.lang, first_text=int(self._streamed)):
            self._say(line)
