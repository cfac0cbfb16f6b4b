"""The chat in the terminal: answers as they come, commands, Ctrl-C, and pipes."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from minisgl import SamplingParams
from minisgl.llm import LLM
from minisgl.models import resolve_model
from minisgl.shell import Shell
from minisgl.tokenizer.chat import load_chat_template

QUESTION = "What is a KV cache?"
ANSWER = "A KV cache keeps the keys and values of all earlier tokens in memory"


@pytest.fixture(scope="module")
def llm() -> Iterator[LLM]:
    llm = LLM("minisgl-tiny", max_running_req=1)
    yield llm
    llm.shutdown()


class Terminal:
    """Types lines, and keeps what is shown."""

    def __init__(self, llm: LLM, *lines: str, stop_after: int | None = None, max_tokens: int = 2048) -> None:
        self.pieces: list[str] = []
        self._lines = iter(lines)
        self._stop_after = stop_after
        template = load_chat_template(resolve_model("minisgl-tiny"))
        assert template is not None
        params = SamplingParams(max_tokens=max_tokens)
        self.shell = Shell(llm, template, params, read=self._read, write=self._write)
        self.shell.run()

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def _read(self) -> str | None:
        line = next(self._lines, None)
        if line == "^C":
            raise KeyboardInterrupt
        return line

    def _write(self, text: str) -> None:
        self.pieces.append(text)
        if len(self.pieces) == self._stop_after:
            os.kill(os.getpid(), signal.SIGINT)


def test_an_answer_comes_piece_by_piece_and_is_remembered(llm: LLM) -> None:
    terminal = Terminal(llm, QUESTION, "", "What is 7 + 8?")
    assert terminal.text.startswith(ANSWER) and terminal.text.endswith("7 + 8 = 15.\n")
    assert len(terminal.pieces) > 20
    assert [message["role"] for message in terminal.shell.messages] == ["user", "assistant"] * 2
    assert terminal.shell.messages[3]["content"] == "7 + 8 = 15."


def test_characters_are_shown_whole(llm: LLM) -> None:
    terminal = Terminal(llm, "讲一个关于龙的故事。", max_tokens=100)
    assert "龙" in terminal.text and not any("\ufffd" in piece for piece in terminal.pieces)


def test_ctrl_c_stops_an_answer_which_is_remembered_so_far(llm: LLM) -> None:
    terminal = Terminal(llm, QUESTION, "^C", "What is 7 + 8?", stop_after=5)
    stopped, hint, answer = terminal.text.splitlines()
    assert stopped.endswith(" (stopped)") and ANSWER.startswith(stopped.removesuffix(" (stopped)"))
    assert hint == "(/exit or Ctrl-D leaves)" and answer == "7 + 8 = 15."
    assert terminal.shell.messages[1]["content"] == stopped.removesuffix(" (stopped)")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_commands(llm: LLM) -> None:
    terminal = Terminal(llm, "/help", "/nothing at all", QUESTION, "/reset", "/exit", "never read")
    assert "Ctrl-C stops an answer." in terminal.text
    assert "there is no command /nothing; /help lists them" in terminal.text
    assert terminal.text.endswith("(a new chat)\n") and terminal.shell.messages == []


def test_a_chat_that_has_grown_too_long_says_so_and_goes_on(llm: LLM) -> None:
    terminal = Terminal(llm, "word " * 3000, "What is 7 + 8?")
    error, answer = terminal.text.splitlines()
    assert error.startswith("the prompt has ") and error.endswith("(/reset begins a new chat)")
    assert answer == "7 + 8 = 15."


def test_in_a_pipe() -> None:
    command = [sys.executable, "-m", "minisgl", "shell", "--max-tokens", "4"]
    lines = f"{QUESTION}\n/reset\n".encode() + b"\xff\n"
    result = subprocess.run(command, input=lines, capture_output=True, timeout=120, check=False)
    assert result.returncode == 0 and result.stderr == b""
    assert result.stdout.decode().startswith("A KV cache keeps\n(a new chat)\n")


@pytest.mark.slow
def test_in_a_terminal() -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "minisgl", "--shell"]
    env = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True
    )
    os.close(theirs)
    shown = b""

    def wait_for(words: bytes) -> None:
        nonlocal shown
        deadline = time.monotonic() + 120
        while words not in shown:
            readable, _, _ = select.select([ours], [], [], deadline - time.monotonic())
            assert readable, shown
            shown += os.read(ours, 4096)
        shown = shown.split(words, 1)[1]

    try:
        wait_for(b"minisgl-tiny is ready")
        wait_for(b">")  # the prompt
        os.write(ours, b"Tell me a story about a fox.\r")
        wait_for(b"Once upon")
        process.send_signal(signal.SIGINT)
        wait_for(b"(stopped)")
        wait_for(b">")  # the prompt
        os.write(ours, b"What is 7 + 8?\r")
        wait_for(b"7 + 8 = 15.")
        wait_for(b">")  # the prompt
        os.write(ours, b"\x04")  # Ctrl-D
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)
