"""The built animations, and their folds as Python can call them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from folding import HERE, Fold, Folded

from tools.animations.build import build
from tools.node import find_node


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The animations as a site serves them."""
    out = tmp_path_factory.mktemp("animations")
    build(out)
    return out


@pytest.fixture(scope="session")
def fold(built: Path) -> Fold:
    """`fold(name, trace, ks)`: the states of a trace, events or the text of a file, after the steps `ks`."""

    def run(name: str, trace: Any, ks: Sequence[int] = (-1,), **options: bool) -> Folded:
        job = {"module": str(built / f"{name}.js"), "jobs": [{"trace": trace, "ks": list(ks), **options}]}
        done = subprocess.run(
            [*find_node().node, str(HERE / "run_fold.mjs")],
            input=json.dumps(job),
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return Folded(**json.loads(done.stdout)[0])

    return run
