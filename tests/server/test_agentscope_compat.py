"""The two-agent page of AgentScope 1.x, played with all its faults: two agents talk, are stopped, begin again, fail.

What it sends, shows and plays is written down from the page as it ran in a browser. In virtual time.
"""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import msgspec
import pytest

from realtime.agent import RealtimeAgent
from realtime.errors import ProviderError
from realtime.event.config import SessionConfig
from realtime.model import base
from realtime.model.base import ModelInput, RealtimeModel, ResponseCreate
from realtime.model.local.model import LocalRealtimeModel
from realtime.model.script import Hangup, Speak, Step, Wait
from realtime.model.scripted import MANUAL_PROFILE, ScriptedModel
from realtime.room.floor import FloorState, Said, with_turn
from realtime.room.floor import Participant as Someone
from realtime.server.agentscope_compat import MAX_SILENT_TURNS, MAX_TURNS, in_turns
from realtime.server.builtin import HouseAgent
from realtime.server.calls import Calls
from tests.server.agentscope_page import OUTPUT_HZ, TO_SOUND_S, Page, pcm_of, tab
from tests.server.harness import FakeSocket, Json
from tests.speech import REAL_COSTS

pytestmark = pytest.mark.virtual_time(costs=REAL_COSTS)

SILENCE_S, SILENCE_BYTES = 2.0, 64_000
"""Its timer, and the zeros that it sends where nothing plays and no audio came for as long."""
SESSION_TIMEOUT_S = 10.0
PATIENCE_S = 600.0
CONFIG = {
    "agent1_name": "Ada",
    "agent1_instructions": "You are Ada.",
    "agent2_name": "Bob",
    "agent2_instructions": "You are Bob.",
    "model_provider": "dashscope",
}


class MultiPage(Page):
    """One tab. `talk` is what it shows, one (name, words) per bubble."""

    def __init__(self, socket: FakeSocket) -> None:
        super().__init__(socket)
        self.talk: list[tuple[str, str]] = []
        self.ended: list[str] = []
        """`agent_ended` by name and `server_session_ended`, in order."""
        self.late: list[str] = []
        """What came after Stop besides."""
        self.played: list[tuple[str, float, float]] = []
        """Which agent was heard from when to when."""
        self.talked_over_s = 0.0
        """How long at most an agent had still to be played when the other's first sound came."""
        self.silences = 0
        self.names: dict[str, str] = {}
        self.is_running = False
        self._bubbles: dict[str, str] = {}
        self._queues: dict[str, bytearray] = {}
        self._complete: dict[str, bool] = {}
        self._playing: str | None = None
        """The agent that plays; its entry goes only once it is played and marked complete (`isPlayingGlobal`)."""
        self._sounds_until = 0.0
        self._last_audio_at = self._loop.time()
        self._begin(self._keep_silent(), "the page's timer")

    # -- what its user does --------------------------------------------------------------------------------------------

    async def start(self, **config: Any) -> None:
        """The Start button."""
        count = self._socket.types.count("server_session_created")
        self.press_start(**config)
        async with asyncio.timeout(SESSION_TIMEOUT_S):
            await self._socket.until("server_session_created", count + 1)

    def press_start(self, **config: Any) -> None:
        """The Start button, without waiting for what comes of it."""
        self.is_running = True
        self.ended.clear()
        self.say({"type": "client_session_create", "config": CONFIG | config})

    async def stop(self) -> None:
        """The Stop button: what plays is dropped, and what comes later counts as late."""
        self.is_running = False
        self._forget_sound()
        self.say({"type": "client_session_end", "session_id": "session1"})
        await self.until(lambda: "server_session_ended" in self.ended)

    # -- what it shows -------------------------------------------------------------------------------------------------

    @property
    def speakers(self) -> list[str]:
        return [name for name, _ in self.talk]

    @property
    def is_stuck(self) -> bool:
        """Whether an agent counts as playing that has nothing to play: no other is heard any more."""
        return self._playing is not None and self._loop.time() > self._sounds_until + 1.0

    def on_message(self, data: Json) -> None:
        kind = data["type"]
        if not self.is_running and kind not in ("agent_ended", "server_session_ended"):
            self.late.append(kind)
        agent = data.get("agent_id", "")
        match kind:
            case "agent_ready":
                self.names[agent] = data["agent_name"]
            case "agent_response_created":
                self._complete[agent] = False
            case "agent_response_audio_delta":
                self._queues.setdefault(agent, bytearray()).extend(pcm_of(data))
                self._last_audio_at = self._loop.time()
                if self._playing not in (None, agent):
                    self.talked_over_s = max(self.talked_over_s, self._sounds_until - self._last_audio_at)
            case "agent_response_audio_done":
                self._complete[agent] = True
            case "agent_response_audio_transcript_delta":
                self._bubbles[agent] = self._bubbles.get(agent, "") + data["delta"]
            case "agent_response_audio_transcript_done":
                self.talk.append((data["agent_name"], self._bubbles.pop(agent, "")))
            case "agent_ended":
                self.ended.append(data["agent_name"])
            case "server_session_ended":
                self.ended.append(kind)

    def play(self) -> None:
        """One agent plays at a time, and nobody else before its entry is complete."""
        now = self._loop.time()
        if self._playing is None:
            self._playing = next((agent for agent, pcm in self._queues.items() if pcm), None)
            if self._playing is None:
                return
            self._sounds_until = now + TO_SOUND_S
            self.played.append((self.names[self._playing], now, now))
        pcm = self._queues[self._playing]
        if pcm:
            self._sounds_until = max(self._sounds_until, now) + len(pcm) / 2 / OUTPUT_HZ
            name, began, _ = self.played[-1]
            self.played[-1] = (name, began, self._sounds_until)
            pcm.clear()
        elif now >= self._sounds_until and self._complete.get(self._playing, False):
            self._playing = None

    # -- inside --------------------------------------------------------------------------------------------------------

    def _forget_sound(self) -> None:
        self._queues.clear()
        self._playing = None

    async def _keep_silent(self) -> None:
        zeros = base64.b64encode(bytes(SILENCE_BYTES)).decode()
        while True:
            await asyncio.sleep(SILENCE_S)
            quiet = self._playing is None and self._loop.time() - self._last_audio_at >= SILENCE_S
            if self.is_running and quiet:
                self.silences += 1
                pcm_format = {"rate": 16_000, "type": "audio/pcm"}
                frame = {"type": "client_audio_append", "session_id": "session1", "audio": zeros, "format": pcm_format}
                self.say(frame)


class Talker:
    """Makes the agents: each numbers its sentences, and `faults` says in which answers something happens to whom."""

    def __init__(self, faults: dict[tuple[str, int], list[Step]] | None = None) -> None:
        self.configs: list[SessionConfig] = []
        self.heard: list[tuple[str, str]] = []
        """What each agent was told in text."""
        self.answers: dict[str, int] = {}
        self._faults = faults or {}

    def make_agent(self, config: SessionConfig) -> RealtimeAgent:
        self.configs.append(config)
        name = config.agent_name or ""
        return RealtimeAgent("Friday", "You are Friday.", self._model(name))

    def _model(self, name: str) -> RealtimeModel:
        def react(message: ModelInput) -> list[Step]:
            if isinstance(message, base.ItemCreate):
                self.heard.append((name, message.item.text))
            if not isinstance(message, ResponseCreate):
                return []
            number = self.answers[name] = self.answers.get(name, 0) + 1
            return self._faults.get((name, number), [Speak(f"{name} says {number}.", 2.0)])

        return ScriptedModel(react, profile=MANUAL_PROFILE)


async def test_the_first_agent_begins_and_the_two_talk_in_turns_as_long_as_the_page_listens() -> None:
    """ROOM-11: nobody talks over anybody, each is told the other's words; the loop guard of this page lies high, and
    holds."""
    talker = Talker()
    async with tab(MultiPage, talker.make_agent) as page:
        await page.start()
        await page.until(lambda: len(page.talk) >= 24)
        assert page.speakers[:24] == ["Ada", "Bob"] * 12
        assert page.talk[:3] == [("Ada", "Ada says 1."), ("Bob", "Bob says 1."), ("Ada", "Ada says 2.")]
        assert sorted(page.names.values()) == ["Ada", "Bob"]
        assert page.talked_over_s == 0.0
        assert talker.heard[:2] == [("Bob", "[Ada]: Ada says 1."), ("Ada", "[Bob]: Bob says 1.")]
        assert [config.instructions for config in talker.configs] == ["You are Ada.", "You are Bob."]
        assert (page.lines, page.is_stuck) == ([], False)
        async with asyncio.timeout(3_000):
            while len(page.talk) < MAX_TURNS:  # noqa: ASYNC110
                await asyncio.sleep(1)
        await asyncio.sleep(120)
        assert len(page.talk) == MAX_TURNS
        assert page.silences > 10, "the page sends nothing but silence"
        await page.stop()
        assert page.ended[-1] == "server_session_ended"


async def test_stop_is_confirmed_at_once_and_start_on_the_same_socket_begins_anew() -> None:
    """A page that is closed leaves nothing running."""
    calls = Calls(max_per_address=8, max_total=8)
    async with tab(MultiPage, Talker().make_agent, calls) as page:
        await page.start()
        await page.until(lambda: page.speakers == ["Ada"] and len(page.played) == 2)
        # In the middle of what Bob says.
        await page.stop()
        assert page.ended == ["Ada", "Bob", "server_session_ended"]
        await asyncio.sleep(30)
        assert (page.late, calls.running) == ([], 0)
        for _ in range(2):
            page.talk.clear()
            await page.start()
            await page.until(lambda: len(page.talk) >= 4)
            assert page.speakers[:4] == ["Ada", "Bob", "Ada", "Bob"]
            assert calls.running == 1
            await page.stop()
        assert (page.late, page.lines, calls.running) == ([], [], 0)
        page.talk.clear()
        await page.start()
        await page.until(lambda: len(page.talk) >= 1)
        (session,) = calls.sessions.values()
    await asyncio.wait_for(session.ended.wait(), PATIENCE_S)
    assert calls.running == 0


async def test_a_model_that_is_lost_in_mid_sentence_leaves_nobody_stuck() -> None:
    """Its audio is closed, the other goes on, and it comes back."""
    speech = Speak("Bob begins to say something long.", 6.0, pace=1.0, wait=False)
    talker = Talker({("Bob", 2): [speech, Wait(2_000), Hangup()]})
    async with tab(MultiPage, talker.make_agent) as page:
        await page.start()
        await page.until(lambda: len(page.talk) >= 12)
        assert not page.is_stuck
        # Cut where it was lost; when Bob is back, it goes on as it was.
        assert page.talk[3][1].startswith("Bob begins to")
        assert page.talk[3][1] != "Bob begins to say something long."
        assert page.talk[4:6] == [("Ada", "Ada says 3."), ("Bob", "Bob says 3.")]
        await page.stop()
        assert page.late == []


@pytest.mark.parametrize("faults", [1, 2], ids=["the first", "both"])
async def test_agents_that_are_lost_before_the_first_word_begin_when_they_can(faults: int) -> None:
    talker = Talker({(name, 1): [Hangup()] for name in ("Ada", "Bob")[:faults]})
    async with tab(MultiPage, talker.make_agent) as page:
        await page.start()
        await page.until(lambda: len(page.talk) >= 4)
        assert set(page.speakers[:2]) == {"Ada", "Bob"}
        assert page.speakers[2:4] == page.speakers[:2]
        await page.stop()


async def test_agents_that_cannot_be_had_and_a_config_that_is_no_text_are_told_and_start_may_be_pressed_again() -> None:
    """A stop that names another session stops nothing."""
    talker = Talker()
    has_key = False

    def make_agent(config: SessionConfig) -> RealtimeAgent:
        if config.agent_name == "Bob" and not has_key:
            raise ProviderError("the key is missing", code="missing_api_key")
        return talker.make_agent(config)

    async with tab(MultiPage, make_agent) as page:
        page.press_start()
        await page.until(lambda: page.ended == ["server_session_ended"])
        assert page.lines == ["provider_error: the key is missing"]
        has_key = True
        page.press_start(agent2_name=7)
        await page.until(lambda: len(page.lines) == 2)
        assert page.lines[1] == "client_error: config: name and instructions of agent2 are strings"
        await page.start()
        page.say({"type": "client_session_end", "session_id": "another"})
        await page.until(lambda: len(page.talk) >= 3)
        assert "session1" in page.lines[2]
        await page.stop()


@pytest.mark.parametrize(
    ("config", "names"),
    [
        ({"agent1_name": "", "agent2_name": " "}, ["Agent 1", "Agent 2"]),
        ({"agent1_name": "Ada", "agent2_name": "ada"}, ["Ada", "ada 2"]),
    ],
    ids=["no names", "one name for both"],
)
async def test_agents_without_names_of_their_own_get_some(config: Json, names: list[str]) -> None:
    async with tab(MultiPage, Talker().make_agent) as page:
        await page.start(**config)
        await page.until(lambda: len(page.talk) >= 2)
        assert page.speakers[:2] == names
        await page.stop()


async def test_the_embedded_model_talks_with_itself_in_two_voices() -> None:
    """The real voices, words by the built-in rules: the page shows and plays both."""
    calls = Calls(max_per_address=8, max_total=8)
    async with tab(MultiPage, lambda: RealtimeAgent("Heart", "", LocalRealtimeModel()), calls) as page:
        await page.start()
        await page.until(lambda: len(page.talk) >= 4)
        assert page.speakers[:4] == ["Ada", "Bob", "Ada", "Bob"]
        assert page.talk[0][1] == "Hello! I'm Ada. What can I do for you?"
        assert all(end - begin > 0.5 for _, begin, end in page.played[:3])
        (session,) = calls.sessions.values()
        assert [one["voice"] for one in session.participant.describe()["agents"]] == ["heart", "heart-low"]
        await page.stop()
        assert (page.lines, page.late) == ([], [])


@pytest.mark.parametrize(
    ("voices", "own", "given"),
    [
        ((), None, [None, None]),
        (("alto",), "alto", ["alto", "alto"]),
        (("alto", "bass"), None, ["alto", "bass"]),
        (("alto", "bass"), "bass", ["bass", "alto"]),
    ],
    ids=["no voices", "one voice", "two, none chosen", "two, one chosen"],
)
async def test_two_agents_of_one_model_are_told_apart_by_voice_where_it_has_two(
    voices: tuple[str, ...], own: str | None, given: list[str | None]
) -> None:
    profile = msgspec.structs.replace(MANUAL_PROFILE, voices=voices)
    calls = Calls(max_per_address=8, max_total=8)
    async with tab(
        MultiPage, lambda: RealtimeAgent("X", "", ScriptedModel([], profile=profile, voice=own)), calls
    ) as page:
        await page.start()
        (session,) = calls.sessions.values()
        assert [one["voice"] for one in session.participant.describe()["agents"]] == given
        await page.stop()


async def test_an_agent_that_comes_back_has_its_voice_and_the_tools_of_the_house() -> None:
    """It was given the second voice after it was made, and its tools end with each of its lives."""
    connected: list[base.Settings] = []
    answers = 0

    class Noting(ScriptedModel):
        async def connect(self, *, settings: base.Settings, **rest: Any) -> base.Connection:
            connected.append(settings)
            return await super().connect(settings=settings, **rest)

    def react(message: ModelInput) -> list[Step]:
        nonlocal answers
        if not isinstance(message, ResponseCreate):
            return []
        answers += 1
        return [Hangup()] if answers == 2 else [Speak("Yes.", 1.0)]

    profile = msgspec.structs.replace(MANUAL_PROFILE, voices=("alto", "bass"), supports_tools=True)
    async with tab(MultiPage, lambda: HouseAgent(Noting(react, profile=profile))) as page:
        await page.start()
        await page.until(lambda: len(page.talk) >= 4)
        assert set(page.speakers) == {"Ada", "Bob"}
        lives = [one for one in connected if (one.instructions or "").startswith("You are Bob.")]
        assert len(lives) == 2
        back = lives[-1]
        assert back.voice == "bass"
        assert {"set_timer", "calculate"} <= {tool.name for tool in back.tools}
        await page.stop()


# -- who is next -------------------------------------------------------------------------------------------------------


def test_an_agent_without_words_is_asked_again_but_not_for_ever() -> None:
    decide = in_turns()
    agents = (Someone("a", "Ada", "agent"), Someone("b", "Bob", "agent"))
    state = FloorState(agents)
    assert decide(state) == "a"
    state = with_turn(state, Said("a", "Ada", "agent", "Hello."))
    asked = []
    for silent in range(MAX_SILENT_TURNS + 1):
        asked.append(decide(FloorState(agents, state.said, 1 + silent)))
    assert asked == ["b", "b", "b", None]
    spoke = FloorState(agents, (*state.said, Said("b", "Bob", "agent", "Hi.")), 9)
    assert decide(spoke) == "a"
