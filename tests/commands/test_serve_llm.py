"""`realtime serve --llm`: what it leaves in the environment, where each embedded model looks."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from realtime.cli import command_line
from realtime.commands.serve import choose_language_model
from realtime.errors import UsageError
from realtime.model.local.chat import choice_in

OLLAMA = {"REALTIME_LLM_BASE_URL": "http://localhost:11434/v1", "REALTIME_LLM_API_KEY": "for-ollama"}
KEYS = {"GEMINI_API_KEY": "own-key", "ANTHROPIC_API_KEY": "own-key"}


@pytest.mark.parametrize("provider", ["gemini", "anthropic"])
def test_a_provider_and_its_model_are_chosen_with_the_providers_own_key(provider: str) -> None:
    environment = {**KEYS, **OLLAMA, "REALTIME_LLM_MODEL": "llama3.2"}
    choose_language_model(f"{provider}:model-x", environment)
    chosen = choice_in(environment)
    assert chosen is not None
    assert chosen.family is not None
    assert (chosen.family.name, chosen.model, chosen.key, chosen.base_url) == (provider, "model-x", "own-key", "")


def test_address_and_key_of_the_same_provider_stay() -> None:
    environment = {
        "REALTIME_LLM_PROVIDER": "gemini",
        "REALTIME_LLM_BASE_URL": "http://proxy",
        "REALTIME_LLM_API_KEY": "for-the-proxy",
    }
    choose_language_model("gemini:model-x", environment)
    chosen = choice_in(environment)
    assert chosen is not None
    assert (chosen.base_url, chosen.key) == ("http://proxy", "for-the-proxy")


@pytest.mark.parametrize("model", ["llama3.2", "llama3.2:3b", "hf.co/org/model:Q4"])
def test_a_model_alone_is_one_of_the_server_that_the_environment_names(model: str) -> None:
    environment = {**OLLAMA, "REALTIME_LLM_MODEL": "another"}
    choose_language_model(model, environment)
    chosen = choice_in(environment)
    assert chosen is not None
    assert (chosen.family, chosen.model, chosen.base_url) == (None, model, "http://localhost:11434/v1")


@pytest.mark.parametrize(
    ("llm", "environment", "named"),
    [
        ("llama3.2", {}, "REALTIME_LLM_BASE_URL is not"),
        ("gemini:", KEYS, "name a model of Gemini"),
        ("gemini:model-x", {}, "set GEMINI_API_KEY or GOOGLE_API_KEY"),
    ],
)
def test_half_a_choice_is_refused(llm: str, environment: dict[str, str], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        choose_language_model(llm, dict(environment))


def test_the_option_is_described() -> None:
    told = " ".join(
        CliRunner().invoke(command_line(["serve"]), ["serve", "--help"], env={"COLUMNS": "200"}).output.split()
    )
    assert "--llm" in told
    assert "anthropic" in told
