"""`realtime certify`: ten turns with a provider, told as a table, recorded, and replayed without the provider."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from realtime.agent import RealtimeAgent
from realtime.model.base import RealtimeModel
from realtime.model.gemini.model import GeminiRealtimeModel
from realtime.model.openai_family.dashscope import DashScopeRealtimeModel
from realtime.model.openai_family.openai import OpenAIRealtimeModel
from realtime.runtime import Runtime
from realtime.server.settings import ServerSettings
from realtime.testing import StandIn, clock
from realtime.testing.call import naming_apart, serving
from realtime.testing.cases.expected import ToolUse
from realtime.testing.cases.stand_in import Answer, Call, Hear, Say
from realtime.testing.certify.estimate import estimate
from realtime.testing.certify.run import Certificate, certify, replay_certificate
from realtime.testing.certify.turns import turns_for
from tests.server.harness import serving as serving_on_loopback
from tests.testing.own_endpoint import OwnEndpoint

KEY = "sk-of-whoever-certifies-0123456789"
PROVIDERS = ["openai", "gemini", "dashscope"]
HEARS = (Hear("What time is it?"), Hear("Stop, please. That is enough."))


def provider_model(provider: str) -> RealtimeModel:
    match provider:
        case "openai":
            return OpenAIRealtimeModel("gpt-realtime-2.1", KEY, base_url="http://127.0.0.1/v1")
        case "gemini":
            name = "gemini-2.5-flash-native-audio-preview-09-2025"
            return GeminiRealtimeModel(name, KEY, base_url="http://127.0.0.1")
        case _:
            return DashScopeRealtimeModel("qwen3-omni-flash-realtime", KEY, base_url="http://127.0.0.1")


def answers(provider: str, *, colour: str = "It is red.") -> tuple[Answer, ...]:
    """What a provider says that does all that is expected."""
    tool: tuple[Answer, ...] = (Call(tools=(ToolUse("order_state", {"order": 17}),)), Say("It was shipped."))
    return (
        Say("It is noon."),
        Say("Hello, Ann."),
        Say("One, two, three, four, five, six, seven, eight, nine, ten.", ms=20_000, pace=1.0),
        Say("All right."),
        *((Say("I have no tools."),) if provider == "dashscope" else tool),
        Say(colour),
        Say("Your name is Ann."),
        Say("Once there was a lighthouse that could not sleep.", ms=9_000),
        Say("Banana."),
    )


def certified(provider: str, folder: Path, script: tuple[Answer, ...]) -> Certificate:
    """The certificate of a server of ours that speaks this provider's protocol."""

    async def hold() -> Certificate:
        loop = asyncio.get_running_loop()
        behind = StandIn(hears=HEARS, answers=script).model(folder)
        runtime = naming_apart(Runtime.deterministic(loop.time, seed=7))
        async with serving(lambda: RealtimeAgent("Provider", "", behind), ServerSettings(drain_s=0), runtime) as app:
            endpoint = OwnEndpoint(app)
            model = provider_model(provider)
            model.dial = endpoint.dial  # type: ignore[attr-defined]
            try:
                return await certify(model, folder)
            finally:
                await endpoint.close()

    return clock.run(hold())


def table(certificate: Certificate) -> list[tuple[str, bool, str]]:
    return [(row.turn, row.passed, row.seen) for row in certificate.rows]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_provider_that_does_all_ten_turns_is_certified_and_its_cassette_replays(
    provider: str, tmp_path: Path
) -> None:
    live = certified(provider, tmp_path / "cassette", answers(provider))
    assert [row for row in table(live) if not row[1]] == [], live.failure
    assert (len(live.rows), live.passed) == (10, True)
    for file in (tmp_path / "cassette").iterdir():
        assert KEY.encode() not in file.read_bytes()
    again = replay_certificate(tmp_path / "cassette")
    assert [row for row in table(again) if not row[1]] == [], again.failure
    assert again.passed


def test_what_a_provider_does_otherwise_stands_in_the_table(tmp_path: Path) -> None:
    certificate = certified("openai", tmp_path / "cassette", answers("openai", colour="It is blue."))
    (wrong,) = [row for row in certificate.rows if not row.passed]
    assert (wrong.turn, wrong.expected) == ("picture", "the answer knows the colour")
    assert '"It is blue."' in wrong.seen
    assert not certificate.passed


def test_turns_that_were_not_reached_are_told_with_the_reason(tmp_path: Path) -> None:
    certificate = certified("openai", tmp_path / "cassette", answers("openai")[:2])
    assert certificate.failure is not None
    assert "step 6 of user" in certificate.failure
    assert [row.seen for row in certificate.rows][3:] == ["not reached"] * 7
    assert [row.passed for row in certificate.rows][:3] == [True, True, False]


def test_the_estimate_tells_audio_and_says_what_is_unknown() -> None:
    for provider in [*PROVIDERS, "no-such-provider"]:
        profile = provider_model(provider if provider in PROVIDERS else "openai").profile
        told = " ".join(estimate(provider, turns_for(profile)).sentences())
        assert "minutes of audio go to the provider" in told
        assert "Cost: unknown" in told
        assert ("audio tokens in" in told) == (provider == "gemini")


def test_a_model_without_images_has_no_picture_turn() -> None:
    blind = OpenAIRealtimeModel("gpt-4o-realtime-preview", KEY).profile
    names = [turn.name for turn in turns_for(blind)]
    assert (len(names), "picture" in names) == (9, False)


@pytest.mark.night
async def test_the_command_certifies_a_server_on_loopback_by_the_wall_clock(tmp_path: Path) -> None:
    behind = StandIn(hears=HEARS, answers=answers("openai")).model(tmp_path)
    async with serving_on_loopback(lambda: RealtimeAgent("Provider", "", behind)) as place:
        words = ["certify", "openai", "--url", f"{place.url}/v1", "--yes", "--out", str(tmp_path / "made")]
        command = await asyncio.create_subprocess_exec(sys.executable, "-m", "realtime", *words)
        assert await command.wait() == 0
    again = await asyncio.to_thread(replay_certificate, tmp_path / "made")
    assert (again.failure, [row for row in again.rows if not row.passed]) == (None, [])
