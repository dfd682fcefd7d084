"""What the keyless model says of the product holds in the code."""

import inspect
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import realtime
from realtime.commands.serve import serve
from realtime.model.local.chat import BASE_URL, MODEL, PROVIDER
from realtime.model.local.keyless import self_told
from realtime.model.local.keyless.conversationalist import Conversationalist
from realtime.model.local.keyless.product import Product
from realtime.model.local.model import profile_of
from realtime.model.services import SERVICES
from realtime.server.builtin import INSTRUCTIONS, product_of
from realtime.server.settings import ServerSettings
from tests.model.local.keyless_chat import Chat
from tests.model.local.rows import rows

ROOT = Path(__file__).resolve().parents[3]
KEPT = Product(store="disk")
VARIABLES = {BASE_URL, MODEL, PROVIDER, "ANTHROPIC_API_KEY"} | {
    name for service in SERVICES.values() for name in service.key_variables
}


def ask(question: str, product: Product | None = KEPT) -> str:
    return Chat(INSTRUCTIONS, product=product).ask(question)


@cache
def told() -> str:
    """Everything that is said of the product: in answers to the questions of new users, and the fixed texts."""
    products = (None, KEPT, replace(KEPT, store="memory", records=True, ready=("OpenAI",), lists_calls=False))
    questions = [turns[-1] for _, *turns in rows("new_users")]
    answers = [ask(question, product) for product in products for question in questions]
    fixed = [text for name, text in vars(self_told).items() if name.isupper() and isinstance(text, str)]
    return " \n".join([*answers, *fixed])


def page_sources() -> str:
    files = [*(ROOT / "web" / "packages" / "page").glob("*.html"), *(ROOT / "web" / "packages").glob("*/src/**/*.ts")]
    return "\n".join(path.read_text("utf-8") for path in files)


def test_each_variable_is_read_by_the_code() -> None:
    named = set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", told()))
    assert named >= {BASE_URL, MODEL, "OPENAI_API_KEY", "GEMINI_API_KEY", "DASHSCOPE_API_KEY"}
    assert named <= VARIABLES


def test_each_option_is_one_of_the_command() -> None:
    named = set(re.findall(r"--([a-z][a-z-]+)", told()))
    assert named == {"room", "allow-embed", "host", "tls", "token"}
    assert {name.replace("-", "_") for name in named} <= set(inspect.signature(serve).parameters)


def test_each_document_and_name_exists() -> None:
    documents = set(re.findall(r"\bdocs/[\w-]+\.md\b", told()))
    assert "docs/quickstart.md" in documents
    assert [name for name in documents if not (ROOT / name).is_file()] == []
    for name in ("RealtimeAgent", "voice_router"):
        assert name in told()
        assert hasattr(realtime, name)
    assert "Apache License" in (ROOT / "LICENSE").read_text("utf-8")
    assert realtime.__version__ in ask("which version are you")


def test_each_control_is_on_the_page() -> None:
    page = page_sources()
    for words in ("Stop voice", "End call", "Mute", "Delete", ">Calls<", "recording"):
        assert words in page, words
    for menu in ("Model", "Voice"):
        assert re.search(rf">{menu}(</span>)? <select", page), menu


def test_languages_and_voices_are_those_of_the_profile() -> None:
    profile = profile_of(None, Conversationalist())  # type: ignore[arg-type]
    assert profile.languages == ("en",)
    assert "English only" in ask("what languages do you speak")
    assert len(profile.voices) == 2
    assert "two voices" in ask("can you use a different voice")


def test_the_providers_are_those_of_the_registry_and_the_free_way_comes_first() -> None:
    models, keys = ask("what models are there"), ask("do I need a key")
    for service in SERVICES.values():
        assert service.title in models
        assert service.key_variables[0] in keys
        assert service.company in keys
    assert keys.index(BASE_URL) < keys.index("OPENAI_API_KEY")
    assert "No provider has a key" in models
    assert "With a key here: Gemini." in ask("what models are there", replace(KEPT, ready=("Gemini",)))


def test_what_is_stored_and_recorded_is_said_by_the_settings() -> None:
    for settings, said, not_said in (
        (ServerSettings(), "Nothing of a call is stored", "Delete button"),
        (ServerSettings(store="memory:"), "gone when the server stops", "until someone"),
        (ServerSettings(store="sqlite:calls.sqlite"), "until someone deletes them", "Nothing"),
        (ServerSettings(store="file:calls", keep_s=2 * 86_400.0), "for 2 days after the end", "until someone"),
        (ServerSettings(store="file:calls", keep_bytes=3_000_000_000), "at most 3 gigabytes", "until someone"),
        (ServerSettings(store="file:calls", lists_calls=False), "Whoever runs this server", "Delete button"),
    ):
        answer = ask("do you store what I say", product_of(settings, {}))
        assert said in answer
        assert not_said not in answer
    assert "records no sound" in ask("are you recording this", product_of(ServerSettings(), {}))
    recording = product_of(ServerSettings(recordings="recordings"), {})
    assert "Only if you agreed" in ask("are you recording this", recording)
    assert "sound is not recorded" not in ask("do you store what I say", recording)


def test_which_providers_are_ready_is_read_from_the_environment() -> None:
    environment = {"OPENAI_API_KEY": "k", "GOOGLE_API_KEY": "k"}
    assert product_of(ServerSettings(), environment).ready == ("OpenAI", "Gemini")
    assert product_of(ServerSettings(), {}).ready == ()


def test_an_agent_of_ones_own_claims_nothing_about_its_server() -> None:
    for question in ("are you recording this", "how long do you keep my words", "can I delete this call"):
        assert "Whoever runs this server decides" in ask(question, None)
