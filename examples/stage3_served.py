"""Stage 3, served: processes that talk through queues, behind OpenAI's API.

A server on this machine, and the client library that its users have.

    python examples/stage3_served.py
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from openai import BadRequestError, OpenAI

QUESTIONS = ["What is the capital of France?", "What is 3 + 4?", "法国的首都是哪里？"]


@contextmanager
def server() -> Iterator[str]:
    """The address of a server that runs until the block ends."""
    command = [sys.executable, "-m", "minisgl", "--port", "0", "--num-pages", "1024"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        ready = re.search(r"is ready at (\S+) after", process.stdout.readline())
        assert ready, "the server did not start: its reason stands above"
        yield ready[1]
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    with server() as address:
        client = OpenAI(base_url=f"{address}/v1", api_key="none")
        model = client.models.list().data[0].id
        print("model", model)

        def answer(question: str) -> str:
            """The pieces of a streamed answer, joined."""
            stream = client.chat.completions.create(
                model=model,
                messages=[{"role": "user", "content": question}],
                temperature=0,
                max_tokens=24,
                stream=True,
            )
            return "".join(chunk.choices[0].delta.content or "" for chunk in stream)

        with ThreadPoolExecutor() as threads:  # all at once: one batch in the engine
            for question, text in zip(QUESTIONS, threads.map(answer, QUESTIONS), strict=True):
                print(question, "->", text)
        try:
            client.completions.create(model=model, prompt="Hello", max_tokens=0)
        except BadRequestError as error:
            print(error.status_code, error.body["message"])


if __name__ == "__main__":
    main()
