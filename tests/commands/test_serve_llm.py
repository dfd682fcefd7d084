"""`realtime serve --llm`: what it leaves in the environment, where each embedded model looks."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from realtime.cli import command_line
from realtime.commands.serve import choose_language_model
from realtime.errors import UsageError
from realtime.model.local.chat import choice_in

OLLAMA = {"REALTIME_LLM_BASE_URL": "http://localhost:11434/v1", "REALTIME_LLM_API_KEY": "for-ollama"}
KEYS = {"GEMINI_API_KEY": "own-key", "ANTHROPIC_API_KEY": "own-key"}


def chosen_by(llm: str, environment: dict[str, str]) -> Any:
    """What the embedded model finds in the environment."""
    choose_language_model(llm, environment)
    chosen = choice_in(environment)
    assert chosen is not None
    return chosen


def test_a_provider_and_its_model_are_chosen_with_the_providers_own_key() -> None:
    for provider in ("gemini", "anthropic"):
        chosen = chosen_by(f"{provider}:model-x", {**KEYS, **OLLAMA, "REALTIME_LLM_MODEL": "llama3.2"})
        assert chosen.family is not None
        assert (chosen.family.name, chosen.model) == (provider, "model-x")
        assert (chosen.key, chosen.base_url) == ("own-key", "")


def test_address_and_key_of_the_same_provider_stay() -> None:
    proxy = {"REALTIME_LLM_BASE_URL": "http://proxy", "REALTIME_LLM_API_KEY": "for-the-proxy"}
    chosen = chosen_by("gemini:model-x", {"REALTIME_LLM_PROVIDER": "gemini", **proxy})
    assert (chosen.base_url, chosen.key) == ("http://proxy", "for-the-proxy")


def test_a_key_alone_is_for_the_chosen_provider() -> None:
    """As docs/quickstart.md says; one that stands beside an address is that server's, which is said."""
    assert chosen_by("anthropic:model-x", {"REALTIME_LLM_API_KEY": "for-this"}).key == "for-this"
    with pytest.raises(UsageError, match="the key in REALTIME_LLM_API_KEY has"):
        choose_language_model("anthropic:model-x", {"REALTIME_LLM_API_KEY": "for\u3000this"})


def test_what_belongs_to_another_server_is_left_out_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    choose_language_model("gemini:model-x", {**KEYS, **OLLAMA})
    assert "REALTIME_LLM_BASE_URL and REALTIME_LLM_API_KEY belong to another one" in capsys.readouterr().out


def test_a_model_alone_is_one_of_the_server_that_the_environment_names() -> None:
    for model in ("llama3.2", "llama3.2:3b", "hf.co/org/model:Q4"):
        chosen = chosen_by(model, {**OLLAMA, "REALTIME_LLM_MODEL": "another"})
        assert (chosen.family, chosen.model, chosen.base_url) == (None, model, "http://localhost:11434/v1")


def test_half_a_choice_is_refused() -> None:
    refused: list[tuple[str, dict[str, str], str]] = [
        ("llama3.2", {}, "REALTIME_LLM_BASE_URL is not"),
        ("antropic:model-x", KEYS, "--llm takes PROVIDER:MODEL with openai, .*anthropic.*, not 'antropic:model-x'"),
        ("openai/gpt-x", KEYS, "--llm takes PROVIDER:MODEL with openai, .*, not 'openai/gpt-x'"),
        ("gemini:", KEYS, "name a model of Gemini"),
        ("gemini:model-x", {}, "set GEMINI_API_KEY or GOOGLE_API_KEY"),
    ]
    for llm, environment, named in refused:
        with pytest.raises(UsageError, match=named):
            choose_language_model(llm, dict(environment))


def test_the_option_is_described() -> None:
    told = CliRunner().invoke(command_line(["serve"]), ["serve", "--help"], env={"COLUMNS": "200"}).output
    assert "--llm" in told
    assert "anthropic" in told
