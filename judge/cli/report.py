"""A run as lines of text: progress while it goes, then the verdict."""

from __future__ import annotations

import textwrap

from judge.cli import workspace
from judge.exercises import Exercise
from judge.i18n import t
from judge.types import EngineResult, Event, RunResult, SampleResult, Verdict

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


def samples_lines(samples: list[SampleResult], lang: str) -> list[str]:
    """Samples in full where one of them failed or printed something; else one line for all."""
    if samples and all(sample.ok and not sample.stdout for sample in samples):
        return [f"  ✓ {t('cli.samples', lang)}  {len(samples)}/{len(samples)}"]
    lines: list[str] = []
    told: dict[str, str] = {}
    for sample in samples:
        if told and sample.message == told and not sample.got:  # it is the same line that raises each time
            lines.append(f"  ✗ {sample.title.get(lang) or sample.name}: {t('cli.sample_same', lang)}")
            continue
        lines += sample_lines(sample, lang)
        told = {} if sample.ok else sample.message
    return lines


def group_line(title: str, verdict: str | None, passed: int, total: int, lang: str) -> str:
    """One group of hidden cases; the cases themselves stay unseen."""
    if verdict is None:
        return f"  - {title}  {t('cli.not_run', lang)}"
    return f"  {'✓' if verdict == Verdict.AC else '✗'} {title}  {passed}/{total}  {verdict}"


def text_lines(engine: EngineResult, *, first: int = 0) -> list[str]:
    """What the engine wrote with the learner's function in it, prompt by prompt from the `first` on."""
    lines = []
    for generated in engine.texts[first:]:
        lines.append(f"  › {generated.prompt.strip()}")
        lines.append(textwrap.indent(generated.text.strip("\n"), INDENT))
    return lines


def engine_line(engine: EngineResult, lang: str) -> str:
    """The engine part in one line: tokens, pages where the engine has any, speed."""
    ratio = engine.speed_ratio
    balanced = t("cli.balanced" if engine.pages_balanced else "cli.unbalanced", lang)
    return t(
        "cli.engine_line",
        lang,
        model=engine.model,
        device=_setup(engine, lang),
        same=t("cli.same" if engine.tokens_equal else "cli.different", lang),
        balanced=balanced if engine.pages_total else "",
        speed="" if ratio is None else t("cli.speed", lang, ratio=f"{ratio:.2f}"),
    )


def _setup(engine: EngineResult, lang: str) -> str:
    setup = engine.setup
    if engine.device == "cpu" or setup is None:
        return engine.device
    parts = [f"{engine.device}: {setup.device}", setup.dtype]
    parts.append(t("cli.attention", lang, prefill=setup.prefill, decode=setup.decode))
    if setup.graphs:
        parts.append(t("cli.graphs", lang, sizes=" ".join(map(str, setup.graphs))))
    if setup.overlap:
        parts.append(t("cli.overlap", lang))
    return ", ".join(parts) if lang == "en" else "，".join(parts)


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


def result_lines(
    exercise: Exercise, result: RunResult, lang: str, *, first_group: int = 0, first_text: int = 0
) -> list[str]:
    """The whole run; groups before `first_group` and texts before `first_text` have been shown already."""
    lines = []
    for group in result.groups[first_group:]:
        lines.append(group_line(group.title[lang], group.verdict, group.passed, group.total, lang))
    if result.engine is not None:
        lines += text_lines(result.engine, first=first_text)
        lines.append(engine_line(result.engine, lang))
    lines += samples_lines(result.samples, lang)
    return [*lines, "", *verdict_lines(exercise, result, lang)]


class Report:
    """Prints one run as it goes. `quiet` prints nothing: with --json, stdout holds the one object alone."""

    def __init__(self, exercise: Exercise, file: str, lang: str, *, quiet: bool) -> None:
        self.exercise, self.file, self.lang, self.quiet = exercise, file, lang, quiet
        self._groups = 0
        self._streamed = False

    def _say(self, line: str = "") -> None:
        if not self.quiet:
            print(line, flush=True)

    def begin(self, isolation: str, *, on_gpu: bool = False) -> None:
        """The head: which exercise, which file, and what keeps the learner's code apart from the machine."""
        exercise, lang = self.exercise, self.lang
        self._say(f"{exercise.id} {exercise.name} · {exercise.title[lang]}")
        self._say(t("cli.head", lang, file=self.file, isolation=isolation))
        if isolation.startswith("weak"):
            self._say(t("cli.weak", lang))
        if on_gpu:
            self._say(t("cli.on_gpu", lang))

    def event(self, event: Event) -> None:
        """Groups and the text of the first prompt, as they come; the other texts are shown at the end."""
        data = event.data
        if self.quiet:
            return
        if event.type == "group":
            self._groups += 1
            title = data["title"][self.lang]
            self._say(group_line(title, data["verdict"], data["passed"], data["total"], self.lang))
        elif event.type == "token" and data["request"] == 0:
            if not self._streamed:
                self._streamed = True
                print(f"  › {data['prompt'].strip()}\n{INDENT}", end="")
            print(data["text"].replace("\n", f"\n{INDENT}"), end="", flush=True)

    def end(self, result: RunResult) -> None:
        """The verdict and all that led to it."""
        if self._streamed:
            self._say()
        shown = {"first_group": self._groups, "first_text": int(self._streamed)}
        for line in result_lines(self.exercise, result, self.lang, **shown):
            self._say(line)
