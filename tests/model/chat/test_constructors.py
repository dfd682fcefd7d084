"""Making chat models: names, keys, packages, and what importing them loads."""

from __future__ import annotations

import builtins
import json
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import realtime.model
import realtime.model.chat
from realtime.errors import UsageError
from realtime.model import ChatModelBase
from realtime.model.chat.families import FAMILIES, Family
from realtime.model.chat.sdk_model import RETRIES

PACKAGES = {"openai": "openai", "dashscope": "dashscope", "gemini": "google-genai", "anthropic": "anthropic"}
MODULES = {"gemini": "google"}


@pytest.fixture(params=FAMILIES.values(), ids=FAMILIES)
def family(request: pytest.FixtureRequest) -> Family:
    found: Family = request.param
    return found


def test_the_classes_are_had_from_the_documented_module(family: Family) -> None:
    name = family.model().__name__
    assert getattr(realtime.model, name) is getattr(realtime.model.chat, name) is family.model()
    assert issubclass(family.model(), ChatModelBase)
    with pytest.raises(AttributeError, match="NoChatModel"):
        _ = realtime.model.NoChatModel  # type: ignore[attr-defined]


def test_a_missing_key_is_one_sentence_with_the_variable(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in family.key_variables:
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(UsageError) as caught:
        family.model()("model-x")
    assert caught.value.code == "missing_api_key"
    assert caught.value.message.endswith(f": set {' or '.join(family.key_variables)}")
    assert "\n" not in caught.value.message
    for variable in family.key_variables:
        monkeypatch.setenv(variable, "from-the-environment")
        made = family.model()("model-x")
        assert (made.endpoint.api_key, made.endpoint.key_from) == ("from-the-environment", variable)
        monkeypatch.delenv(variable)


def test_a_missing_package_names_the_extra(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    real, missing = builtins.__import__, MODULES.get(family.name, family.name)

    def without(name: str, *args: Any, **more: Any) -> Any:
        if name.partition(".")[0] == missing:
            raise ImportError(f"cannot import name 'x' from {missing!r} (/opt/{missing}/__init__.py)")
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError) as caught:
        family.model()("model-x", "key")
    assert caught.value.code == "missing_package"
    assert f"pip install -e '.[{family.name}]'" in caught.value.message
    assert PACKAGES[family.name] in caught.value.message
    assert "/opt" not in caught.value.message


def test_names_and_arguments_are_checked_and_the_key_is_in_no_repr(family: Family) -> None:
    with pytest.raises(UsageError, match="`model_name`"):
        family.model()("", "key")
    with pytest.raises(TypeError, match="temprature"):
        family.model()("model-x", "key", temprature=0.3)
    made = family.model()("model-x", "secret-key-7")
    assert "secret-key-7" not in repr(made) + repr(made.endpoint)


def test_the_client_is_made_of_the_arguments() -> None:
    for case in json.loads(Path(__file__).with_name("clients.json").read_text(encoding="utf-8")):
        with patch(case["client"]) as client:
            made = FAMILIES[case["family"]].model()("model-x", **case["given"])
            client.assert_called_once_with(**case["called"])
        retries = case["given"].get("client_kwargs", {}).get("max_retries", RETRIES)
        assert (made.stream, made.retries) == (True, retries)


def test_a_second_model_reads_no_certificates(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    """That takes 40 ms and more, in which no call of the server is served."""
    made = [family.model()("model-x", "key")]
    read: list[str] = []
    for name in ("load_verify_locations", "load_default_certs"):
        monkeypatch.setattr(ssl.SSLContext, name, lambda self, *args, name=name, **named: read.append(name))
    made.append(family.model()("model-x", "key"))
    assert (len(made), read) == (2, [])


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("?api-version=2025-01-01", {"api-version": "2025-01-01"}),
        ("?team=a%20b&x=", {"team": "a b", "x": ""}),
        ("/?tag=1&tag=2#top", {"tag": ["1", "2"]}),
    ],
)
@pytest.mark.parametrize("by_variable", [False, True], ids=["argument", "variable"])
def test_the_query_of_an_address_stands_behind_the_paths(
    family: Family, query: str, sent: dict[str, Any], by_variable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or is refused, where the SDK would put its paths behind it."""
    address = f"http://127.0.0.1:1/v1{query}"
    variables = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL", "gemini": "GOOGLE_GEMINI_BASE_URL"}
    given = family.at(address)
    if by_variable and (variable := variables.get(family.name)) is not None:
        monkeypatch.setenv(variable, address)
        given = {}
    if family.name in ("gemini", "dashscope"):
        with pytest.raises(UsageError, match="has a query, which its SDK cannot send"):
            family.model()("model-x", "key", **given)
        return
    client = family.model()("model-x", "key", **given).client  # type: ignore[attr-defined]
    assert (str(client.base_url), client.default_query) == ("http://127.0.0.1:1/v1/", sent)


def test_the_query_of_ones_own_precedes_that_of_the_address() -> None:
    given = {"base_url": "http://127.0.0.1:1/v1?a=1&b=2", "default_query": {"b": "3"}}
    made: Any = FAMILIES["openai"].model()("model-x", "key", client_kwargs=given)
    assert made.client.default_query == {"a": "1", "b": "3"}


def test_the_names_load_no_sdk() -> None:
    code = (
        "import json, sys\n"
        "from realtime.model import AnthropicChatModel, DashScopeChatModel, GeminiChatModel, OpenAIChatModel\n"
        "import realtime.token\n"
        "sdks = ('openai', 'dashscope', 'google.genai', 'anthropic', 'tokenizers', 'pydantic', 'aiohttp')\n"
        "print(json.dumps([name for name in sdks if name in sys.modules]))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout) == []
