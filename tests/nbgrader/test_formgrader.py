"""The instructor's page: what nbgrader's formgrader shows of a class that the judge graded."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import Course, Notebook, cell_of
from playwright.sync_api import expect, sync_playwright

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CHROMIUM = Path("/usr/bin/chromium")
START_S, LOAD_MS = 120, 60_000
SCORE, AUTOGRADE = 4, 5
"""Columns of the list of submissions."""


@contextmanager
def lab(course: Course) -> Iterator[str]:
    """JupyterLab in a course folder, as an instructor starts it there."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = course.root
    environment = course.environment | {"JUPYTER_CONFIG_DIR": str(folder / "none")}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}"]
    with (folder / "lab.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--IdentityProvider.token="], cwd=folder, env=environment, stdout=log, stderr=log
        )
        try:
            url, deadline = f"http://127.0.0.1:{port}", time.monotonic() + START_S
            while not answers(f"{url}/api"):
                assert process.poll() is None and time.monotonic() < deadline, (
                    folder / "lab.log"
                ).read_text()
                time.sleep(0.2)
            yield url
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:
            return bool(reply.status == 200)
    except urllib.error.URLError:
        return False


def test_the_formgrader_shows_the_judges_points_and_grades_again(tmp_path: Path) -> None:
    course = Course(tmp_path, "en")
    course.nbgrader("generate_assignment", "ch08")
    names = [
        cell["metadata"]["nbgrader"]["grade_id"]
        for cell in course.solved["cells"]
        if cell["metadata"].get("nbgrader", {}).get("grade_id", "").startswith("answer-")
    ]

    def solved(notebook: Notebook) -> None:
        for name in names:
            cell_of(notebook, name)["source"] = cell_of(course.solved, name)["source"]

    course.hand_in("strong", solved)
    course.hand_in("idle", lambda notebook: None)
    course.nbgrader("autograde", "ch08", "--student=strong")
    with lab(course) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        page.goto(f"{url}/formgrader/manage_submissions/ch08")
        strong = page.get_by_role("row").filter(has_text="strong")
        expect(strong).to_contain_text("graded", timeout=LOAD_MS)
        got, most = strong.get_by_role("gridcell").nth(SCORE).inner_text().split(" / ")
        assert got == most and float(most) > 0
        idle = page.get_by_role("row").filter(has_text="idle")
        expect(idle).to_contain_text("needs autograding")
        idle.get_by_role("gridcell").nth(AUTOGRADE).get_by_role("link").click()
        expect(page.locator(".modal-title")).to_have_text("Success", timeout=4 * LOAD_MS)
        page.get_by_role("button", name="OK").click()
        expect(idle.get_by_role("gridcell").nth(SCORE)).to_have_text(f"0 / {most}", timeout=LOAD_MS)
        page.goto(f"{url}/formgrader/gradebook/ch08/08_cache_manager")
        row = page.get_by_role("row").filter(has_text=f"{got} / {most}")
        row.get_by_role("link").first.click(timeout=LOAD_MS)
        expect(page.get_by_text("AC · Accepted").first).to_be_visible(timeout=LOAD_MS)
        browser.close()
