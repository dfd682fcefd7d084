"""Models by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from realtime.errors import UsageError
from realtime.model.open import open_model
from realtime.model.openai_family.openai import OpenAIRealtimeModel
from realtime.model.scripted import ScriptedModel
from realtime.model.services import SERVICES, Service, default_model


def test_a_model_is_had_by_its_provider_and_its_name_or_the_best_one_of_the_provider() -> None:
    model = open_model("openai:gpt-realtime-mini")
    assert isinstance(model, OpenAIRealtimeModel)
    assert model.profile.model == "gpt-realtime-mini"
    assert open_model("openai").profile.model == "gpt-realtime-2.1"
    assert isinstance(open_model("scripted"), ScriptedModel)
    assert {name: open_model(name).profile.provider for name in SERVICES} == {name: name for name in SERVICES}


def test_what_is_not_there_is_answered_with_what_is() -> None:
    for name in ("", "openay", "OpenAI", ":gpt", "scripted:loud", "local:big"):
        with pytest.raises(UsageError, match=r"local|leave out") as caught:
            open_model(name)
        assert caught.value.code == "unknown_model"


def test_the_only_provider_with_a_key_is_the_default() -> None:
    for environment, name in (
        ({}, "local"),
        ({"OPENAI_API_KEY": ""}, "local"),
        ({"OPENAI_BASE_URL": "http://x"}, "local"),
        ({"OPENAI_API_KEY": "k"}, "openai"),
        ({"GOOGLE_API_KEY": "k"}, "gemini"),
        ({"GEMINI_API_KEY": "k", "GOOGLE_API_KEY": "k"}, "gemini"),
        ({"DASHSCOPE_API_KEY": "k"}, "dashscope"),
        ({"DASHSCOPE_API_KEY": "k", "OPENAI_API_KEY": "k"}, "local"),
    ):
        assert default_model(environment) == name


@pytest.mark.parametrize("service", SERVICES.values(), ids=lambda one: one.name)
@pytest.mark.parametrize("letter", ["\n", "\t", " ", "\u2026"])
def test_a_key_that_cannot_be_sent_is_told_as_doctor_tells_it_and_not_as_refused(service: Service, letter: str) -> None:
    environment = {service.key_variables[-1]: f"sk-47{letter}11"}
    told = service.refused_key(environment)
    assert told.message == service.problem(environment)
    assert told.message.startswith(f"the key in {service.key_variables[-1]} has a")
    assert "place 6 of 8" in told.message
    assert told.code == "invalid_api_key"
    assert "sk-47" not in told.message


def test_a_refused_key_is_told_with_the_variable_that_holds_it_and_without_the_key() -> None:
    gemini = SERVICES["gemini"]
    assert gemini.refused_key({}).message == "Gemini refused the key: set GEMINI_API_KEY to a valid one"
    told = gemini.refused_key({"GOOGLE_API_KEY": "4711"})
    assert (told.message, told.code) == ("Gemini refused the key: set GOOGLE_API_KEY to a valid one", "invalid_api_key")


def test_choosing_loads_only_what_is_chosen() -> None:
    code = (
        "import sys; from realtime.model.open import open_model; open_model('openai');"
        "print([name for name in sys.modules if name in ('openai', 'onnxruntime', 'ctranslate2')"
        " or name.startswith('realtime.model.local')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
