"""Chats become the text that transformers makes of them, and no template does harm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import transformers

from minisgl.models import resolve_model
from minisgl.tokenizer.chat import ChatTemplate, load_chat_template

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "<b> {{ 7 * 7 }} 你好\n"},
    {"role": "assistant", "content": ""},
    {"role": "user", "content": "And now?"},
]

# Uses what real templates use: whitespace control, loop controls, namespaces, tojson, special tokens, dates.
LONG = """
{{- bos_token }}
{%- set ns = namespace(first=true) %}
{% for message in messages %}
    {%- if message.role == "assistant" and not message.content %}{% continue %}{% endif %}
    {%- if message.role not in ["system", "user", "assistant"] %}
        {{- raise_exception("Unknown role " ~ message.role) }}
    {%- endif %}
    {%- if ns.first %}{{ "<<" + message.content | trim + ">>" }}{% set ns.first = false %}
    {%- else %}
[{{ message.role }}] {{ message.content | tojson }}{{ eos_token }}
    {%- endif %}
{%- endfor %}
{% if add_generation_prompt %}[assistant]{% endif %}
"""


def test_the_bundled_template() -> None:
    template = load_chat_template(resolve_model("minisgl-tiny"))
    assert template is not None
    assert template.render([{"role": "user", "content": "Hi"}]) == (
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )


@pytest.mark.parametrize("source", [None, LONG])
def test_equal_to_transformers(source: str | None, tmp_path: Path) -> None:
    folder = resolve_model("minisgl-tiny")
    config = json.loads((folder / "tokenizer_config.json").read_text())
    config |= {"bos_token": {"__type": "AddedToken", "content": "<|im_start|>"}}
    config |= {"chat_template": source or config["chat_template"]}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    (tmp_path / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    ours = load_chat_template(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert ours is not None
    expected = theirs.apply_chat_template(CHAT, tokenize=False, add_generation_prompt=True)
    assert ours.render(CHAT) == expected


def test_where_a_template_may_be(tmp_path: Path) -> None:
    assert load_chat_template(tmp_path) is None
    several = [{"name": "tool_use", "template": "T"}, {"name": "default", "template": "D"}]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": several}))
    found = load_chat_template(tmp_path)
    assert found is not None and found.render([]) == "D"
    (tmp_path / "chat_template.jinja").write_text("J {{ bos_token }}")
    (tmp_path / "special_tokens_map.json").write_text('{"bos_token": "<s>"}')
    found = load_chat_template(tmp_path)
    assert found is not None and found.render([]) == "J <s>"
    (tmp_path / "chat_template.jinja").unlink()
    for broken in ("[]", "[" * 100_000, '{"chat_template": 5}', '{"chat_template": [{"name": "default"}, 7'):
        (tmp_path / "tokenizer_config.json").write_text(broken)
        with pytest.raises(ValueError, match="fetch it again"):
            load_chat_template(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"chat_template": [{"template": "x"}, 7]}')
    assert load_chat_template(tmp_path) is None
    (tmp_path / "tokenizer_config.json").write_text("{")
    with pytest.raises(ValueError, match=r"tokenizer_config\.json is not valid JSON"):
        load_chat_template(tmp_path)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{{ raise_exception('roles must alternate') }}", "roles must alternate"),
        ("{{ messages[3].content }}", "no element 3"),
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "unsafe"),
        ("{{ messages.append(1) }}", "unsafe"),
        ("{% for i in range(10**9) %}{% endfor %}", "Range too big"),
        ("{{ messages + 1 }}", "can only concatenate"),
    ],
)
def test_what_a_template_may_not(source: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        ChatTemplate(source).render([{"role": "user", "content": "a"}])


def test_a_broken_template_is_refused() -> None:
    with pytest.raises(ValueError, match="not valid Jinja"):
        ChatTemplate("{% for %}")
