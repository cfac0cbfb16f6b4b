"""From the messages of a chat to the text that the model was trained on, by the model's own template.

Templates are Jinja and come with the model, so they run in Jinja's sandbox. What they may use is what
transformers offers them: `messages`, `add_generation_prompt`, the special tokens, `raise_exception`,
`strftime_now`, and a `tojson` that leaves `<` and Chinese as they are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from reprlib import repr as short
from typing import Any, NoReturn

from ..utils import read_json


class ChatTemplate:
    """A compiled template.

    Raises:
        ValueError: it is not valid Jinja.
    """

    def __init__(self, source: str, special_tokens: dict[str, str] | None = None) -> None:
        import jinja2
        import jinja2.ext
        import jinja2.sandbox

        env = jinja2.sandbox.ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols]
        )
        env.filters["tojson"] = _to_json
        env.globals["raise_exception"] = _raise_exception
        env.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
        self._special_tokens = special_tokens or {}
        try:
            self._template = env.from_string(source)
        except jinja2.TemplateError as error:
            raise ValueError(f"the model's chat template is not valid Jinja: {error}") from error

    def render(self, messages: Sequence[object]) -> str:
        """The text of a chat, up to where the assistant's next answer begins.

        Args:
            messages: `{"role": "user", "content": "..."}`, as in OpenAI's API.

        Raises:
            ValueError: the template refuses the messages, or cannot handle them.
        """
        try:
            return self._template.render(
                messages=messages, add_generation_prompt=True, **self._special_tokens
            )
        except Exception as error:  # a template is a program: it may raise anything
            reason = str(error) or type(error).__name__
            raise ValueError(f"the model's chat template does not take these messages: {reason}") from error


def load_chat_template(folder: Path) -> ChatTemplate | None:
    """The chat template in a model folder or a GGUF file, or None when the model has none.

    In a folder it is `chat_template.jinja`, or in `tokenizer_config.json`, where there may be several: then
    the one called "default".

    Raises:
        ValueError: there is one that cannot be read.
    """
    if folder.suffix == ".gguf":
        return _template_of_gguf(folder)
    config = _read_json(folder / "tokenizer_config.json")
    path = folder / "chat_template.jinja"
    source = path.read_text(encoding="utf-8") if path.is_file() else config.get("chat_template")
    if isinstance(source, list):
        named = [item for item in source if isinstance(item, dict) and item.get("name") == "default"]
        source = named[-1].get("template") if named else None
    if source is None:
        return None
    if not isinstance(source, str):
        raise ValueError(f"the chat template in {folder} is no text, fetch it again: {short(source)}")
    special = _special_tokens(_read_json(folder / "special_tokens_map.json") | config)
    return ChatTemplate(source, special)


def _template_of_gguf(path: Path) -> ChatTemplate | None:
    from ..utils.gguf_file import GGUFFile
    from ..utils.gguf_tokenizer import special_tokens

    fields = GGUFFile(path).fields
    source = fields.get("tokenizer.chat_template")
    return None if source is None else ChatTemplate(source, special_tokens(fields))


def _special_tokens(config: dict[str, Any]) -> dict[str, str]:
    """`bos_token` and its like; each is a text or an object with a `content`."""
    tokens: dict[str, str] = {}
    for name, value in config.items():
        text = value.get("content") if isinstance(value, dict) else value
        if name.endswith("_token") and isinstance(text, str):
            tokens[name] = text
    return tokens


def _read_json(path: Path) -> dict[str, Any]:
    return read_json(path) if path.is_file() else {}


def _to_json(value: Any, ensure_ascii: bool = False, indent: int | None = None, **kwargs: Any) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, **kwargs)


def _raise_exception(message: str) -> NoReturn:
    import jinja2

    raise jinja2.TemplateError(message)
