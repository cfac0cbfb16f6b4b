"""What clients may ask: the requests of OpenAI's API, checked.

Beyond OpenAI's parameters, `top_k`, `min_p`, `repetition_penalty`, `stop_token_ids` and `ignore_eos` are
known by the names that other servers give them. Any other parameter is refused by name: one that is silently
ignored is worse than an error.
"""

from __future__ import annotations

import reprlib
from typing import Annotated, Any, TypeAlias, TypeVar

import pydantic_core
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..core import SamplingParams
from .errors import ApiError

Prompt: TypeAlias = str | list[int] | list[dict[str, Any]]

# Known, but not to this server; fine with a value that asks for nothing.
_NEUTRAL: dict[str, tuple[object, ...]] = {
    "audio": (),
    "best_of": (1,),
    "echo": (False,),
    "function_call": ("none", "auto"),
    "functions": ([],),
    "logit_bias": ({},),
    "modalities": (["text"],),
    "parallel_tool_calls": (True, False),
    "prediction": (),
    "reasoning_effort": (),
    "response_format": ({"type": "text"},),
    "suffix": ("",),
    "tool_choice": ("none", "auto"),
    "tools": ([],),
    "verbosity": (),
    "web_search_options": (),
}
# Say something about the client, nothing about the answer.
_IGNORED = ("metadata", "prompt_cache_key", "safety_identifier", "service_tier", "store", "user")
_ROLES = ("system", "developer", "user", "assistant")
_INT64 = 2**63  # what a message between processes can carry

R = TypeVar("R", bound="BaseRequest")


class StreamOptions(BaseModel):
    """How an answer is streamed."""

    model_config = ConfigDict(extra="forbid", strict=True)
    include_usage: bool = False  # send a last event that counts the tokens
    include_obfuscation: bool = False  # accepted: nothing is padded here


class BaseRequest(BaseModel):
    """The parameters that both kinds of requests share."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    model: str | None = None  # None: the one that is served
    max_tokens: int | None = None
    temperature: float = 1.0
    top_p: float = 1.0
    n: int = 1
    stop: Any = ()  # a text or a list of texts, which SamplingParams checks
    seed: Annotated[int, Field(ge=-_INT64, lt=_INT64)] | None = None
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    stream: bool = False
    stream_options: StreamOptions | None = None
    top_k: Annotated[int, Field(lt=_INT64)] = -1
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    stop_token_ids: list[Annotated[int, Field(lt=_INT64)]] = []
    ignore_eos: bool = False

    def prompts(self) -> list[Prompt]:
        """What is to be continued. ApiError when it is missing or something else."""
        raise NotImplementedError

    def wanted_tokens(self) -> int | None:
        """Most tokens to generate; None: as many as the sequence has room for."""
        raise NotImplementedError

    def wanted_logprobs(self) -> int | None:
        """How many likeliest tokens to report beside each chosen one; None: report nothing."""
        raise NotImplementedError

    def sampling_params(self, max_seq_len: int) -> SamplingParams:
        """How to choose tokens. ApiError when a value is out of its range."""
        wanted = self.wanted_tokens()
        try:
            return SamplingParams(
                temperature=self.temperature,
                top_k=self.top_k,
                top_p=self.top_p,
                min_p=self.min_p,
                ignore_eos=self.ignore_eos,
                max_tokens=max_seq_len if wanted is None else min(wanted, max_seq_len),
                seed=self.seed,
                presence_penalty=self.presence_penalty,
                frequency_penalty=self.frequency_penalty,
                repetition_penalty=self.repetition_penalty,
                stop=self.stop,
                stop_token_ids=tuple(self.stop_token_ids),
                logprobs=self.wanted_logprobs(),
                n=self.n,
            )
        except ValueError as error:
            field, reason = str(error).split(maxsplit=1)
            name = self.name_of(field)
            raise ApiError(400, f"{name} {reason}", param=name) from None

    def name_of(self, field: str) -> str:
        """What the client calls a field of `SamplingParams`."""
        return field


class CompletionRequest(BaseRequest):
    """The parameters of /v1/completions."""

    prompt: Any = None  # a text, token ids, or a list of texts or of lists of token ids
    logprobs: int | None = None

    def prompts(self) -> list[Prompt]:
        """The texts and lists of token ids."""
        given = self.prompt
        if isinstance(given, str) or _is_ids(given):
            given = [given]
        if not (isinstance(given, list) and given and all(isinstance(p, str) or _is_ids(p) for p in given)):
            what = "a text, a list of token ids, or a list of texts or of lists of token ids"
            raise ApiError(400, f"prompt must be {what}; none may be empty", param="prompt")
        if not all(given):
            raise ApiError(400, "the prompt is empty: there is no token to continue", param="prompt")
        return given

    def wanted_tokens(self) -> int | None:
        return 16 if self.max_tokens is None else self.max_tokens  # OpenAI's default

    def wanted_logprobs(self) -> int | None:
        return self.logprobs


class ChatCompletionRequest(BaseRequest):
    """The parameters of /v1/chat/completions."""

    messages: Any = None
    max_completion_tokens: int | None = None  # the newer name of max_tokens
    logprobs: bool = False
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None

    def prompts(self) -> list[Prompt]:
        """The chat, as messages with a role and a text each."""
        if not isinstance(self.messages, list) or not self.messages:
            raise ApiError(400, "messages must be a list of at least one message", param="messages")
        return [[_message(i, message) for i, message in enumerate(self.messages)]]

    def wanted_tokens(self) -> int | None:
        return self.max_tokens if self.max_completion_tokens is None else self.max_completion_tokens

    def name_of(self, field: str) -> str:
        is_newer = field == "max_tokens" and self.max_completion_tokens is not None
        return "max_completion_tokens" if is_newer else field

    def wanted_logprobs(self) -> int | None:
        if self.top_logprobs is not None and not self.logprobs:
            raise ApiError(400, "top_logprobs needs logprobs to be true", param="top_logprobs")
        return (self.top_logprobs or 0) if self.logprobs else None


def parse_request(kind: type[R], body: bytes) -> R:
    """Read a request's body.

    Raises:
        ApiError: it is no JSON object, or a parameter is unknown, not supported, missing or of another type;
            its `param` names it.
    """
    try:
        data = pydantic_core.from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise ApiError(400, f"the body is not valid JSON: {error}") from None
    if not isinstance(data, dict):
        raise ApiError(400, f"the body must be a JSON object, not {reprlib.repr(data)}")
    data = {name: value for name, value in data.items() if value is not None and name not in _IGNORED}
    for name, neutral in _NEUTRAL.items():
        if name in data and data.pop(name) not in neutral:
            raise ApiError(
                400, f"{name} is not supported by this server", param=name, code="unsupported_parameter"
            )
    try:
        request = kind.model_validate(data)
    except ValidationError as error:
        raise _explain(error) from None
    if request.stream_options is not None and not request.stream:
        raise ApiError(400, "stream_options needs stream to be true", param="stream_options")
    return request


def _explain(error: ValidationError) -> ApiError:
    first = error.errors(include_url=False, include_context=False)[0]
    param = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return ApiError(
            400, f"unknown parameter: {reprlib.repr(param)}", param=param, code="unknown_parameter"
        )
    reason = first["msg"].removeprefix("Input should be ")
    return ApiError(400, f"{param} must be {reason}, not {reprlib.repr(first['input'])}", param=param)


def _message(index: int, message: object) -> dict[str, Any]:
    """One message with its content as one text."""
    where = f"messages.{index}"
    if not isinstance(message, dict):
        raise ApiError(400, f"{where} must be an object with role and content", param=where)
    # Clients hand an answer back with all fields that OpenAI's have: null asks for nothing, as elsewhere.
    message = {field: value for field, value in message.items() if value is not None}
    unknown = sorted(message.keys() - {"role", "content", "name"})
    if unknown:
        raise ApiError(400, f"{where} has a field that is not supported: {unknown[0]!r}", param=where)
    if message.get("role") not in _ROLES:
        raise ApiError(
            400,
            f"the role of {where} must be one of {', '.join(_ROLES)}, not {message.get('role')!r}",
            param=f"{where}.role",
        )
    if not isinstance(message.get("name", ""), str):
        raise ApiError(400, f"the name of {where} must be a text", param=f"{where}.name")
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(_text_part(where, part) for part in content)
    if not isinstance(content, str):
        raise ApiError(
            400, f"the content of {where} must be a text or a list of text parts", param=f"{where}.content"
        )
    return message | {"content": content}


def _text_part(where: str, part: object) -> str:
    text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
    if not isinstance(text, str):
        raise ApiError(
            400, f"the content of {where} may have parts of type 'text' only", param=f"{where}.content"
        )
    return text


def _is_ids(value: object) -> bool:
    """Whether this is a list of integers; whether the vocabulary has them is found out later."""
    if not isinstance(value, list) or not value:
        return False
    return all(type(item) is int for item in value) and -_INT64 <= min(value) <= max(value) < _INT64
