"""A server of the page and of a room, agents with given responses, and queries of the room page."""

import asyncio
import json
import re
import threading
from collections.abc import Callable, Mapping

from fastapi import FastAPI
from playwright.sync_api import Locator, Page
from starlette.staticfiles import StaticFiles

from realtime.agent import RealtimeAgent
from realtime.model.base import AudioCommit, ModelInput, ResponseCreate
from realtime.model.scripted import MANUAL_PROFILE, ScriptedModel, Speak, Step, Transcribe
from realtime.room import ChatRoom
from realtime.server.app import SecurityHeaders
from realtime.server.calls import Calls
from realtime.server.gate import Gate
from realtime.server.rooms import Rooms
from realtime.server.rooms_router import rooms_router
from realtime.server.runner import Server, open_socket, uvicorn_config
from realtime.server.settings import ServerSettings
from tests.volumes import HANG_S
from tests.web.conftest import DIST
from tests.web.pages import snapshot

ADA_S, BEN_S = 2.0, 1.5
ADA_WORDS = "I am Ada and I answer first"
STORY = "Once upon a time there was a voice that told a very long story and was not heard to its end"
STORY_S = 20.0
HEARD = "Is anybody here?"
"""The transcript of all speech, whatever it is."""


class RoomServing:
    """A server of the page and of a room `demo`, in a thread of this process."""

    def __init__(self, make_room: Callable[[], ChatRoom], agents: Mapping[str, Callable[[], RealtimeAgent]]) -> None:
        self.rooms = Rooms({"demo": make_room}, agents=agents)
        self._bound = open_socket("127.0.0.1", 0, strict=True, say=lambda _: None)
        self.address = f"http://127.0.0.1:{self._bound.getsockname()[1]}"
        self._server = Server(uvicorn_config(self._app()))
        self._thread = threading.Thread(target=lambda: asyncio.run(self._server.serve([self._bound])))
        self._thread.start()

    def url(self, name: str, address: str | None = None) -> str:
        return f"{address or self.address}/room.html?room=demo&name={name}"

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(HANG_S)
        self._bound.close()

    def _app(self) -> FastAPI:
        app = FastAPI()
        app.state.settings = settings = ServerSettings(drain_s=0)
        app.state.calls = calls = Calls(max_per_address=50, max_total=50)
        app.include_router(rooms_router(self.rooms, settings=settings, calls=calls))
        app.mount("/", StaticFiles(directory=DIST))
        app.add_middleware(SecurityHeaders, gate=Gate(settings))
        return app


def agent(name: str, *answers: Speak) -> RealtimeAgent:
    """An agent with these responses, the last one repeated; it transcribes all speech as `HEARD`."""
    left = [*answers]

    def react(message: ModelInput) -> list[Step]:
        match message:
            case AudioCommit():
                return [Transcribe(HEARD)]
            case ResponseCreate():
                return [left.pop(0) if len(left) > 1 else left[0]]
            case _:
                return []

    return RealtimeAgent(name, f"You are {name}.", ScriptedModel(react, profile=MANUAL_PROFILE))


def ada_and_ben() -> list[RealtimeAgent]:
    return [agent("Ada", Speak(ADA_WORDS, ADA_S), Speak(STORY, STORY_S)), agent("Ben", Speak("Ben agrees", BEN_S))]


def talk(page: Page) -> list[tuple[str, str, str, str]]:
    return [(turn["who"], turn["text"], turn["unheard"], turn["status"]) for turn in snapshot(page)["turns"]]


def words(page: Page) -> list[tuple[str, str]]:
    """Who said what."""
    return [(who, text) for who, text, _, _ in talk(page)]


def lane(page: Page, name: str) -> Locator:
    return page.locator(".lane").filter(has=page.locator(".lane-name", has_text=re.compile(rf"^{name}( \(you\))?$")))


def doing(page: Page, name: str) -> Locator:
    """What somebody in the room is said to be doing."""
    return lane(page, name).locator(".doing")


def names(page: Page) -> Locator:
    return page.locator(".lane-name")


def said(text: str) -> str:
    """The condition that a turn is over with these words."""
    return f"realtime.snapshot().turns.some((turn) => turn.text === {json.dumps(text)} && turn.status !== 'live')"


SILENT = "realtime.snapshot().floor === null && realtime.snapshot().sounding === null"
CUT = "realtime.snapshot().turns.some((turn) => turn.status === 'cut')"
"""The condition that an answer was interrupted."""


def heard_ms(over: int) -> str:
    """The condition that the latest answer sounds, and was heard for longer."""
    return f"Object.values(realtime.snapshot().playedMs).at(-1) > {over} && realtime.snapshot().sounding !== null"
