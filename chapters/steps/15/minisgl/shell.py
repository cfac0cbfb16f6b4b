"""Chat with a model in the terminal: `python -m minisgl shell`. No server is needed."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from types import FrameType

from .core import SamplingParams
from .llm import LLM
from .message import DetokenizeMsg
from .models import resolve_model
from .scheduler import SchedulerConfig
from .server.args import make_args, make_parser
from .tokenizer.chat import ChatTemplate, load_chat_template
from .tokenizer.detokenize import DetokenizeManager

HELP = """\
/reset   forget the chat and begin a new one
/exit    leave, as Ctrl-D does
/help    this
Ctrl-C stops an answer."""


class _Stopped(Exception):
    """The user has seen enough of an answer."""


class Shell:
    """A chat.

    Args:
        read: the next line of the user; None when there is none any more. KeyboardInterrupt for Ctrl-C.
        write: shows a piece of text at once.
        system: what the model is told before the chat.
    """

    def __init__(
        self,
        llm: LLM,
        template: ChatTemplate,
        params: SamplingParams,
        *,
        read: Callable[[], str | None],
        write: Callable[[str], object],
        system: str | None = None,
    ) -> None:
        self._llm, self._template, self._params = llm, template, params
        self._read, self._write = read, write
        self._beginning = [] if system is None else [{"role": "system", "content": system}]
        self.reset()

    def reset(self) -> None:
        """Begin a new chat."""
        self.messages = list(self._beginning)

    def run(self) -> None:
        """Answer until the user leaves."""
        while True:
            try:
                line = self._read()
            except KeyboardInterrupt:
                self._write("(/exit or Ctrl-D leaves)\n")
                continue
            if line is None or line.strip() == "/exit":
                return
            self.handle(line.strip())

    def handle(self, line: str) -> None:
        """Do what one line says."""
        if line == "/reset":
            self.reset()
            self._write("(a new chat)\n")
        elif line == "/help":
            self._write(HELP + "\n")
        elif line.startswith("/"):
            self._write(f"there is no command {line.split()[0]}; /help lists them\n")
        elif line:
            self._answer(line)

    def _answer(self, question: str) -> None:
        """Show the answer as it comes, and remember it, also as much of it as there is when it is stopped."""
        messages = [*self.messages, {"role": "user", "content": question}]
        assert self._llm.tokenizer is not None
        detokenizer, shown = DetokenizeManager(self._llm.tokenizer), ""
        with _interrupts() as interrupted:

            def on_token(index: int, token: int) -> None:
                nonlocal shown
                (piece,) = detokenizer.detokenize([DetokenizeMsg(0, token, finished=False)])
                shown += piece
                self._write(piece)
                if interrupted():
                    raise _Stopped

            try:
                # The template has written the special tokens that a text needs.
                ids = self._llm.tokenizer.encode(self._template.render(messages), False)
                (answer,) = self._llm.generate([ids], self._params, on_token=on_token)
                self._write(answer["text"][len(shown) :] + "\n")
                shown = answer["text"]
            except _Stopped:
                self._write(" (stopped)\n")
            except ValueError as error:
                self._write(f"{str(error).removeprefix('prompt 0: ')} (/reset begins a new chat)\n")
                return
        self.messages = [*messages, {"role": "assistant", "content": shown}]


@contextlib.contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Ctrl-C does not break off what runs in this block, which asks whether it has come."""
    came = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: came
    finally:
        signal.signal(signal.SIGINT, before)


def make_reader() -> Callable[[], str | None]:
    """Reads lines of the terminal, with history and editing; of a pipe as they are."""
    if not sys.stdin.isatty():
        sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr] # a text file
        return lambda: sys.stdin.readline() or None

    from prompt_toolkit import PromptSession

    session: PromptSession[str] = PromptSession()

    def read() -> str | None:
        try:
            return session.prompt("> ")
        except EOFError:
            return None

    return read


def show(text: str) -> None:
    """Write to standard output at once."""
    sys.stdout.write(text)
    sys.stdout.flush()


def main(argv: Sequence[str]) -> int:
    """`python -m minisgl shell`. Returns the exit code."""
    parser = make_parser(
        "python -m minisgl shell",
        "Chat with a model in the terminal.",
        groups=("model", "memory", "scheduling", "speed"),
    )
    sampling = parser.add_argument_group("answers")
    sampling.add_argument("--system", help="what the model is told before the chat")
    sampling.add_argument(
        "--temperature", type=float, default=0.0, help="0: the likeliest answer (default: 0)"
    )
    sampling.add_argument("--top-p", type=float, default=1.0, help="only the likeliest tokens (default: 1)")
    sampling.add_argument("--max-tokens", type=int, default=2**20, help="longest answer (default: what fits)")
    given = vars(parser.parse_args(argv))
    system = given.pop("system")
    answers = {name: given.pop(name) for name in ("temperature", "top_p", "max_tokens")}
    given.setdefault("max_running_req", 1)
    args = make_args(parser, given)
    try:
        params = SamplingParams(**answers)
    except ValueError as error:
        parser.error(str(error))
    settings = {field.name: getattr(args, field.name) for field in fields(SchedulerConfig)}
    try:
        settings["model"] = resolve_model(str(args.model))
        template = load_chat_template(settings["model"])
        if template is None:
            raise ValueError(f"{args.model} cannot chat: it comes without a chat template")
        llm = LLM(**settings)
        if llm.tokenizer is None:
            raise ValueError(f"{args.model} cannot chat: it comes without a tokenizer")
    except (OSError, ImportError, ValueError) as error:
        print(f"minisgl: {error}", file=sys.stderr)
        return 1
    if sys.stdin.isatty():
        show(f"{args.model} is ready. /help says what there is beside chatting.\n")
    try:
        Shell(llm, template, params, read=make_reader(), write=show, system=system).run()
    except BrokenPipeError:  # nobody reads the answers any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        llm.shutdown()
    return 0
