"""The chatbot page of AgentScope 1.x, played with all its faults: a whole conversation, interrupted, reloaded.

What it sends, shows and plays is written down from the page as it ran in a browser. Detector, recognition and voice are
the embedded ones, in virtual time.
"""

from __future__ import annotations

import asyncio
import base64
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from realtime.agent import RealtimeAgent
from realtime.audio.files import read_pcm16
from realtime.model.local.keyless.skills import make_skills
from realtime.model.local.model import LocalRealtimeModel
from realtime.server.calls import Calls
from realtime.tool import Toolkit
from tests.server.agentscope_page import OUTPUT_HZ, TO_SOUND_S, Page, pcm_of, tab
from tests.server.harness import FakeSocket, Json
from tests.speech import REAL_COSTS

pytestmark = pytest.mark.virtual_time(costs=REAL_COSTS)

INPUT_HZ = 16_000
FRAME_S, FRAME_BYTES = 0.256, 8_192
"""A ScriptProcessor of 4096 samples at 16 kHz."""
SESSION_TIMEOUT_S = 5.0


def make_agent() -> RealtimeAgent:
    return RealtimeAgent("Heart", "", LocalRealtimeModel(), toolkit=Toolkit(make_skills(lambda: 1_767_225_600.0)))


class ChatbotPage(Page):
    """One tab, with the two sides' bubbles."""

    def __init__(self, socket: FakeSocket) -> None:
        super().__init__(socket)
        self.user: list[str] = []
        self.agent: list[str] = []
        self.cut_off_at: float | None = None
        self.playing_until = 0.0
        self.pcm = bytearray()
        self.half_open: dict[str, str] = {}
        """Bubbles that were begun and never closed: the next words would be glued to them."""
        self._has_session = False
        self._voice_on = False
        self._mouth = bytearray()
        self._silent_said = asyncio.Event()
        self._n_recorders = 0
        self._hiss = np.random.default_rng(3)

    # -- what its user does --------------------------------------------------------------------------------------------

    async def press_voice(self) -> None:
        """The voice button: on makes the session the first time, and adds a recorder to those that never stopped."""
        if self._voice_on:
            self._voice_on = False
            self._mouth.clear()
            self._send(type="client_audio_commit")
            return
        if not self._has_session:
            config = {"instructions": "You are Friday.", "agent_name": "Friday", "model_provider": "dashscope"}
            self._socket.say({"type": "client_session_create", "config": config})
            async with asyncio.timeout(SESSION_TIMEOUT_S):
                await self._socket.until("server_session_created")
            self._has_session = True
        self._voice_on = True
        self._begin(self._record(self._n_recorders), f"recorder {self._n_recorders}")
        self._n_recorders += 1

    async def speak(self, pcm: bytes) -> None:
        """Say it into the microphone, and pause for as long as it takes to be heard."""
        self._mouth += pcm
        self._silent_said.clear()
        await self._silent_said.wait()

    def type_in(self, text: str) -> None:
        self._send(type="client_text_append", text=text)

    def film(self) -> None:
        picture = base64.b64encode(b"\xff\xd8 jpeg").decode()
        self._send(type="client_image_append", data=picture, format={"type": "image/jpeg", "mime_type": "image/jpeg"})

    async def disconnect(self) -> None:
        """The Disconnect button: a commit, then a close without a code. The page still shows what it got until then."""
        self._send(type="client_audio_commit")
        await asyncio.sleep(0.1)
        self.leave(1005)

    # -- what it shows -------------------------------------------------------------------------------------------------

    async def answered(self, n_answers: int) -> None:
        """Wait until so many answers are closed and played to their end."""
        await self.until(lambda: len(self.agent) >= n_answers and self._loop.time() >= self.playing_until, 120.0)

    def on_message(self, data: Json) -> None:
        match data["type"]:
            case "agent_response_audio_delta":
                chunk = pcm_of(data)
                now = self._loop.time()
                if now >= self.playing_until:
                    self.playing_until = now + TO_SOUND_S
                self.playing_until += len(chunk) / 2 / OUTPUT_HZ
                self.pcm += chunk
            case "agent_response_audio_transcript_delta":
                self.half_open["agent"] = self.half_open.get("agent", "") + data["delta"]
            case "agent_response_audio_transcript_done":
                self.agent.append(self.half_open.pop("agent", ""))
            case "agent_input_transcription_delta":
                self.half_open["user"] = self.half_open.get("user", "") + data["delta"]
            case "agent_input_transcription_done":
                # It appends the whole to what the deltas said.
                self.user.append(self.half_open.pop("user", "") + data["transcript"])
            case "agent_input_started":
                self.cut_off_at = self._loop.time()

    # -- inside --------------------------------------------------------------------------------------------------------

    def _send(self, **event: Any) -> None:
        self._socket.say({"session_id": "session1", **event})

    async def _record(self, number: int) -> None:
        # Each recorder has a clock of its own; only the newest has the microphone, the others send zeros.
        await asyncio.sleep(0.07 * number % FRAME_S)
        while True:
            await asyncio.sleep(FRAME_S)
            if self._voice_on:
                pcm = self._microphone() if number == self._n_recorders - 1 else bytes(FRAME_BYTES)
                audio = base64.b64encode(pcm).decode()
                self._send(type="client_audio_append", audio=audio, format={"rate": INPUT_HZ, "type": "audio/pcm"})

    def _microphone(self) -> bytes:
        said = bytes(self._mouth[:FRAME_BYTES])
        del self._mouth[:FRAME_BYTES]
        if not self._mouth:
            self._silent_said.set()
        hiss = self._hiss.integers(-3, 4, FRAME_BYTES // 2, dtype=np.int16)
        return (np.frombuffer(said.ljust(FRAME_BYTES, b"\0"), "<i2") + hiss).astype("<i2").tobytes()


@pytest.fixture
def said(fixtures_dir: Path) -> dict[str, bytes]:
    """Our own recordings by name."""
    return {path.stem: read_pcm16(path, INPUT_HZ) for path in sorted((fixtures_dir / "audio").glob("*.wav"))}


async def test_a_whole_conversation_with_camera_keyboard_and_the_button_switched(said: dict[str, bytes]) -> None:
    """Spoken and typed turns, each shown once on either side, and nothing that alarms the user in vain."""
    async with tab(ChatbotPage, make_agent) as page:
        await page.press_voice()
        await page.speak(said["hello_anna"])
        await page.answered(1)
        assert page.user == ["Hello there, my name is Anna."]
        assert page.agent[0].startswith("Nice to meet you, Anna.")
        spoken = len(page.pcm)
        assert spoken > OUTPUT_HZ * 2

        page.type_in("What is 3 plus 4?")
        await page.answered(2)
        assert page.agent[1] == "3 plus 4 is 7."
        assert len(page.pcm) > spoken

        for _ in range(3):
            page.film()
        await page.press_voice()
        await page.press_voice()
        # Two streams now, one of them zeros.
        await page.speak(said["twelve_times_seven"])
        await page.answered(3)
        assert page.user[1:] == ["What is 12 times 7?"]
        assert page.agent[2] == "12 times 7 is 84."
        assert page.half_open == {}
        (line,) = page.lines
        assert "does not take image input" in line


async def test_switching_the_voice_off_ends_the_turn_where_no_silence_follows(said: dict[str, bytes]) -> None:
    async with tab(ChatbotPage, make_agent) as page:
        await page.press_voice()
        await page.speak(said["twelve_times_seven"][: -INPUT_HZ // 4])
        await page.press_voice()
        await page.answered(1)
        assert page.user == ["What is 12 times 7?"]
        assert page.agent == ["12 times 7 is 84."]
        # Once more, with nothing said: no error, and the reply is not touched.
        await page.press_voice()
        await page.press_voice()
        await asyncio.sleep(2)
        assert (page.lines, len(page.agent)) == ([], 1)


async def test_speech_over_a_long_answer_silences_a_page_that_never_flushes(said: dict[str, bytes]) -> None:
    calls = Calls(max_per_address=8, max_total=8)
    async with tab(ChatbotPage, make_agent, calls) as page:
        await page.press_voice()
        page.type_in("Please count to fifty.")
        await asyncio.sleep(6)
        assert page.playing_until > asyncio.get_running_loop().time()
        speaking = asyncio.create_task(page.speak(said["barge_in"]))
        while page.cut_off_at is None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        # Still played is what the page had: the lead of the server, one chunk, and the page's own two buffers.
        assert page.playing_until - page.cut_off_at <= 0.35 + 0.1 + TO_SOUND_S
        await speaking
        await page.answered(2)
        assert [re.sub("[^a-z ]", "", words.lower()) for words in page.user] == ["stop please that is enough"]
        assert page.agent[1] == "Okay."
        assert page.agent[0].startswith("1, 2, 3")
        # The page knows no event that takes words back; the conversation holds what was heard.
        (session,) = calls.sessions.values()
        counted = next(item.text for item in session.conversation.items() if item.role == "assistant")
        assert page.agent[0].startswith(counted)
        assert 3 < len(counted.split()) < 40
        assert (page.lines, page.half_open) == ([], {})


async def test_a_reload_ends_its_call_and_begins_with_another(said: dict[str, bytes]) -> None:
    calls = Calls(max_per_address=8, max_total=8)
    async with tab(ChatbotPage, make_agent, calls) as page:
        await page.press_voice()
        page.type_in("Please count to fifty.")
        await asyncio.sleep(3)
        (first,) = calls.sessions.values()
        page.leave()
        await asyncio.wait_for(first.ended.wait(), 120.0)
    assert calls.running == 0
    # Every tab is session1: two of them are two calls.
    async with tab(ChatbotPage, make_agent, calls) as page, tab(ChatbotPage, make_agent, calls) as other:
        await page.press_voice()
        await other.press_voice()
        assert calls.running == 2
        assert first not in calls.sessions.values()
        page.type_in("What is 3 plus 4?")
        await page.answered(1)
        assert page.agent == ["3 plus 4 is 7."]
        assert other.agent == []
        await page.disconnect()
        await other.speak(said["hello_anna"])
        await other.answered(1)
        assert other.agent[0].startswith("Nice to meet you, Anna.")
        assert calls.running == 1
    assert calls.running == 0
    async with tab(ChatbotPage, make_agent, calls) as fresh:
        await fresh.disconnect()
        assert fresh.lines == []
