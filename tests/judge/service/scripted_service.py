"""`serve` with the scripted judge, as programs: started by test_serve.py in processes of their own.

serve COURSE VAR PORT MODE, or worker MODE COURSE VAR --name NAME; MODE is strong, weak, refuse or broken.
"""

from __future__ import annotations

import sys
from pathlib import Path

from course import ScriptedJudge

from judge.exercises import load_exercises
from judge.service import log
from judge.service.serve import serve
from judge.service.settings import Settings
from judge.service.worker import NO_ISOLATION, run_worker


def main(arguments: list[str]) -> int:
    if arguments[0] == "serve":
        course, var, port, mode = arguments[1:]
        command = [sys.executable, __file__, "worker", mode, course, var]
        settings = Settings(var=Path(var), port=int(port), stream_poll_s=0.02, drain_s=60)
        return serve(settings, course=Path(course), worker_command=command)
    _, mode, course, var, _, name = arguments
    if mode == "refuse":
        return NO_ISOLATION
    if mode == "broken":
        return 1
    log.set_up()
    folder = Path(var).parent
    settings = Settings(var=Path(var), threads=1, reap_s=0.05)
    run_worker(
        settings,
        ScriptedJudge(folder),
        load_exercises(Path(course)),
        isolation="weak" if mode == "weak" else "namespaces",
        name=name,
        watch_parent=True,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
