"""`serve` with the scripted judge, as programs: started by test_serve.py in processes of their own.

serve COURSE VAR PORT MODE, or worker MODE COURSE VAR --name NAME; MODE is strong, weak, refuse or broken.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    if arguments[0] == "serve":
        return serving(*arguments[1:])
    _, mode, course, var, _, name = arguments
    if mode == "refuse":
        return 3  # as judge.service.worker.NO_ISOLATION; the judge is not even loaded
    if mode == "broken":
        return 1
    return working(mode, course, var, name)


def serving(course: str, var: str, port: str, mode: str) -> int:
    from judge.service.serve import serve
    from judge.service.settings import Settings

    command = [sys.executable, __file__, "worker", mode, course, var]
    site = Settings.from_environment().site
    settings = Settings(var=Path(var), port=int(port), site=site, stream_poll_s=0.02, drain_s=60)
    return serve(settings, course=Path(course), worker_command=command)


def working(mode: str, course: str, var: str, name: str) -> int:
    from course import ScriptedJudge

    from judge.exercises import load_exercises
    from judge.service import log
    from judge.service.settings import Settings
    from judge.service.worker import run_worker

    log.set_up()
    run_worker(
        Settings(var=Path(var), threads=1, reap_s=0.05),
        ScriptedJudge(Path(var).parent),
        load_exercises(Path(course)),
        isolation="weak" if mode == "weak" else "namespaces",
        name=name,
        watch_parent=True,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
