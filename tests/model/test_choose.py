"""Models by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from realtime.errors import UsageError
from realtime.model.choose import open_model
from realtime.model.openai import OpenAIRealtimeModel
from realtime.model.scripted import ScriptedModel


def test_a_provider_and_one_of_its_models() -> None:
    model = open_model("openai:gpt-realtime-mini")
    assert isinstance(model, OpenAIRealtimeModel)
    assert model.profile.model == "gpt-realtime-mini"


def test_a_provider_alone_is_its_best_model() -> None:
    assert open_model("openai").profile.model == "gpt-realtime-2.1"


def test_the_scripted_model_needs_nothing() -> None:
    assert isinstance(open_model("scripted"), ScriptedModel)


@pytest.mark.parametrize("name", ["", "openay", "OpenAI", ":gpt", "scripted:loud", "local:big"])
def test_what_is_not_there_is_answered_with_what_is(name: str) -> None:
    with pytest.raises(UsageError, match=r"local|leave out") as caught:
        open_model(name)
    assert caught.value.code == "unknown_model"


def test_choosing_loads_only_what_is_chosen() -> None:
    code = (
        "import sys; from realtime.model.choose import open_model; open_model('openai');"
        "print([name for name in sys.modules if name in ('openai', 'onnxruntime', 'ctranslate2')"
        " or name.startswith('realtime.model.local')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
