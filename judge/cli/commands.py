"""What each command does."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from judge.cli import workspace
from judge.cli.arguments import Usage
from judge.cli.report import Report
from judge.exercise_toml import ExerciseError
from judge.exercises import Exercise, find, load_exercises
from judge.i18n import t
from judge.solution import solution_text
from judge.types import RunResult, Verdict

if TYPE_CHECKING:
    from judge.engine_tier import Tier

ACCEPTED, NOT_ACCEPTED, USAGE, FAULT = 0, 1, 2, 3
WATCH_SECONDS = 0.3


def run(options: argparse.Namespace) -> int:
    """Carry out one parsed command.

    Returns:
        The exit code: 0 accepted or done, 1 not accepted, 2 usage, 3 a fault of the judge.

    Raises:
        Usage: the command names something that is not there.
    """
    command: Callable[[argparse.Namespace], int] = {
        "help": show_help,
        "test": test,
        "list": list_exercises,
        "start": start,
        "hint": hint,
        "solution": solution,
        "engine": engine,
        "doctor": doctor,
        "check": check,
    }[options.command]
    try:
        return command(options)
    except ExerciseError as error:
        print(t("cli.bad_exercise", options.lang, problem=str(error)), file=sys.stderr)
        return FAULT


def show_help(options: argparse.Namespace) -> int:
    print(t("cli.help", options.lang))
    return ACCEPTED


def _exercise(name: str, lang: str) -> Exercise:
    try:
        return find(name)
    except KeyError:
        numbers = ", ".join(str(number) for number in load_exercises())
        raise Usage(t("cli.no_such_exercise", lang, name=name[:80], numbers=numbers)) from None


def test(options: argparse.Namespace) -> int:
    lang = options.lang
    exercise = _exercise(options.id, lang)
    if options.device == "cuda":
        _check_cuda(lang)
    if options.watch and options.json:
        raise Usage(t("cli.watch_or_json", lang))
    path = Path(options.file) if options.file else workspace.file_of(exercise)
    if not os.path.exists(path):  # noqa: PTH110 - unlike Path.exists it does not raise for an impossible name
        if options.file:
            raise Usage(t("cli.file_missing", lang, file=options.file[:200]))
        _start_file(exercise, lang)
        text = t("cli.started", lang, file=workspace.shown(path), id=exercise.id)
        note = {"started": workspace.shown(path), "message": text}
        print(json.dumps(note, ensure_ascii=False) if options.json else text)
        return NOT_ACCEPTED
    if options.watch:
        return _watch(exercise, path, options)
    return _judge_file(exercise, path, options)


def _start_file(exercise: Exercise, lang: str) -> Path:
    try:
        return workspace.start(exercise, lang)
    except OSError as error:
        raise Usage(
            t("cli.cannot_write", lang, file=workspace.file_of(exercise), problem=error.strerror)
        ) from None


def _read(exercise: Exercise, path: Path, lang: str) -> bytes:
    limit = exercise.limits.source_kb * 1024
    try:
        if path.is_dir():
            raise Usage(t("cli.is_folder", lang, file=workspace.shown(path)))
        with path.open("rb") as file:
            source = file.read(limit + 1)
    except OSError as error:
        raise Usage(t("cli.cannot_read", lang, file=workspace.shown(path), problem=error.strerror)) from None
    if len(source) > limit:
        size = path.stat().st_size // 1024
        raise Usage(
            t("cli.too_large", lang, file=workspace.shown(path), size=size, limit=exercise.limits.source_kb)
        )
    return source


def _judge_file(exercise: Exercise, path: Path, options: argparse.Namespace) -> int:
    from judge.sandbox import Pool

    source = _read(exercise, path, options.lang)
    report = Report(exercise, workspace.shown(path), options.lang, quiet=options.json)
    with Pool() as pool, ExitStack() as stack:
        pool.start()  # the sandbox imports torch while the next line does the same here
        from judge.run import judge_submission

        tier = _tier(exercise, options)
        if tier is not None:
            stack.callback(tier.close)
        report.begin(pool.isolation, on_gpu=tier is not None)
        result = judge_submission(
            exercise,
            source,
            pool=pool,
            engine=not options.no_engine,
            tier=tier,
            samples_only=options.samples,
            on_event=report.event,
            filename=path.name,
        )
    return _finish(exercise, result, report, options)


def _tier(exercise: Exercise, options: argparse.Namespace) -> Tier | None:
    """Where the engine part runs: on the GPU that torch sees, unless told otherwise; None in the sandbox."""
    from judge.engine_tier import device_tier, why_no_cuda

    has_engine = exercise.place != "none" and not options.no_engine and not options.samples
    return device_tier("cuda") if options.device != "cpu" and has_engine and not why_no_cuda() else None


def _check_cuda(lang: str) -> None:
    from judge.engine_tier import why_no_cuda

    if (why := why_no_cuda()) is not None:
        raise Usage(t("cli.no_cuda", lang, why=t(f"cli.{why}", lang)))


def _finish(exercise: Exercise, result: RunResult, report: Report, options: argparse.Namespace) -> int:
    if options.json:
        print(json.dumps(result.to_json(), ensure_ascii=False))
    else:
        report.end(result)
    if result.verdict is Verdict.SE:
        return FAULT
    if result.verdict is not Verdict.AC:
        return NOT_ACCEPTED
    if not options.samples:
        try:
            workspace.remember(exercise)
        except OSError as error:
            print(
                t("cli.cannot_write", options.lang, file=workspace.folder(), problem=error.strerror),
                file=sys.stderr,
            )
    return ACCEPTED


def _watch(exercise: Exercise, path: Path, options: argparse.Namespace) -> int:
    """Judge the file now and after each save, until Ctrl-C; the exit code is the last verdict's."""
    code, seen = NOT_ACCEPTED, None
    try:
        while True:
            stamp = _modified(path)
            if stamp is None and seen is not None:
                seen = None
                print(t("cli.gone", options.lang, file=workspace.shown(path)), file=sys.stderr)
            if stamp is not None and stamp != seen:
                seen = stamp
                try:
                    code = _judge_file(exercise, path, options)
                except Usage as error:
                    print(error, file=sys.stderr)
                print(t("cli.watching", options.lang, file=workspace.shown(path)), flush=True)
            time.sleep(WATCH_SECONDS)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return code


def _modified(path: Path) -> int | None:
    """Nanoseconds; None while there is no such file."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


def list_exercises(options: argparse.Namespace) -> int:
    lang, done = options.lang, workspace.accepted()
    exercises = list(load_exercises().values())
    if options.json:
        rows = [
            {
                "exercise": exercise.id,
                "slug": exercise.slug,
                "title": exercise.title,
                "chapter": exercise.chapter,
                "level": exercise.level,
                "points": exercise.points,
                "accepted": exercise.id in done,
                "started": workspace.file_of(exercise).exists(),
            }
            for exercise in exercises
        ]
        print(json.dumps(rows, ensure_ascii=False))
        return ACCEPTED
    for exercise in exercises:
        started = workspace.file_of(exercise).exists()
        state = "accepted" if exercise.id in done else "started" if started else "untouched"
        mark = {"accepted": "✓", "started": "·", "untouched": " "}[state]
        level = t(f"cli.level_{exercise.level}", lang)
        print(f"{mark} {exercise.id}  {exercise.name:<22} {level}  {exercise.title[lang]}")
    print(t("cli.list_end", lang, accepted=len(done & {e.id for e in exercises}), total=len(exercises)))
    return ACCEPTED


def start(options: argparse.Namespace) -> int:
    exercise = _exercise(options.id, options.lang)
    path = workspace.file_of(exercise)
    if path.exists() and not options.force:
        print(t("cli.already_started", options.lang, file=workspace.shown(path), id=exercise.id))
        return ACCEPTED
    if path.exists():
        # --force never throws work away: the old file stays beside the new one.
        kept = path.with_name(f"{path.name}.{time.strftime('%Y%m%d-%H%M%S')}.old")
        path.replace(kept)
        print(t("cli.kept_old", options.lang, file=workspace.shown(kept)))
    _start_file(exercise, options.lang)
    print(t("cli.started", options.lang, file=workspace.shown(path), id=exercise.id))
    return ACCEPTED


def hint(options: argparse.Namespace) -> int:
    """One of the hints, and how to get the next."""
    exercise, lang = _exercise(options.id, options.lang), options.lang
    total = len(exercise.hints)
    numbers = [str(number) for number in range(1, total + 1)]
    if options.number not in numbers:
        raise Usage(t("cli.no_such_hint", lang, id=exercise.id, number=options.number[:20], total=total))
    number = int(options.number)
    print(t("cli.hint", lang, number=number, total=total, text=exercise.hints[number - 1][lang]))
    if number < total:
        print(t("cli.hint_next", lang, id=exercise.id, number=number + 1))
    return ACCEPTED


def solution(options: argparse.Namespace) -> int:
    exercise = _exercise(options.id, options.lang)
    if exercise.id not in workspace.accepted() and not options.force:
        print(t("cli.solution_locked", options.lang, id=exercise.id), file=sys.stderr)
        return NOT_ACCEPTED
    print(solution_text(exercise), end="")
    return ACCEPTED


def engine(options: argparse.Namespace) -> int:
    """The engine, or a program that uses it, with all accepted functions: in a process of its own."""
    lang, program = options.lang, options.file
    if program and not os.path.isfile(program):  # noqa: PTH113 - as above
        raise Usage(t("cli.file_missing", lang, file=program[:200]))
    from judge.cli.engine import chosen

    if not chosen():
        print(t("cli.engine_nothing", lang))
        return NOT_ACCEPTED
    environ = os.environ | {"PYTHONPATH": os.pathsep.join([str(workspace.ROOT), *sys.path])}
    command = [sys.executable, "-m", "judge.cli.engine", lang, *([program] if program else [])]
    return subprocess.run(command, env=environ, check=False).returncode and NOT_ACCEPTED


def doctor(options: argparse.Namespace) -> int:
    from judge.sandbox.doctor import examine

    facts = examine()
    if options.json:
        rows = [{"key": fact.key, "ok": fact.ok, "text": fact.text} for fact in facts]
        print(json.dumps(rows, ensure_ascii=False))
    else:
        for fact in facts:
            print(f"{'✓' if fact.ok else '✗'} {fact.text[options.lang]}")
    return ACCEPTED if all(fact.ok for fact in facts) else NOT_ACCEPTED


def check(options: argparse.Namespace) -> int:
    """For authors: an exercise loads, its reference passes, its starter and each mutant do not."""
    from judge.harness.prove import prove
    from judge.sandbox import Pool

    chosen = [_exercise(options.id, options.lang)] if options.id else list(load_exercises().values())
    failed = 0
    with Pool() as pool:
        for exercise in chosen:
            problems = prove(exercise, pool)
            failed += bool(problems)
            print(f"{'✗' if problems else '✓'} {exercise.key}", flush=True)
            for problem in problems:
                print(f"    {problem}")
    print(t("cli.check_end", options.lang, good=len(chosen) - failed, total=len(chosen)))
    return NOT_ACCEPTED if failed else ACCEPTED
