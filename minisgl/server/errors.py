"""What a client is told when something is wrong, in the shape of OpenAI's API."""

from __future__ import annotations

from typing import Any


class ApiError(Exception):
    """An answer that is an error.

    Args:
        status: of HTTP; 4xx when the client can do something about it.
        message: a sentence for a human: what is wrong, and what would be right.
        param: the request's parameter at fault.
        code: a word for programs, where OpenAI has one.
    """

    def __init__(
        self, status: int, message: str, *, param: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.code = code

    def body(self) -> dict[str, Any]:
        """The JSON object of the answer."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}
