"""The sound of the room page in Chromium, with a server that the test plays."""

import struct

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import PCM_24, ScriptedServer
from tests.web.pages import snapshot, until
from tests.web.rooms import doing, names

pytestmark = pytest.mark.night


class ScriptedRoom(ScriptedServer):
    """The server of a page in a room, played by the test."""

    def __init__(self, page: Page, address: str) -> None:
        super().__init__(page, address)
        page.route_web_socket("**/rooms/*/ws*", self._accept)

    def enter(self, *people: tuple[str, str, str]) -> Page:
        """The page in the room with these people: id, name and kind."""
        self.page.goto(f"{self.address}room.html?room=demo&name=Ann")
        until(self.page, "realtime.snapshot().state === 'open'")
        for participant_id, name, kind in people:
            self.send("server_room_joined", participant_id=participant_id, name=name, kind=kind)
        expect(names(self.page)).to_have_count(len(people))
        return self.page

    def announce(self, index: int, item_id: str, agent_id: str, response_id: str = "") -> None:
        item = {"item_index": index, "item_id": item_id, "agent_id": agent_id, "response_id": response_id}
        self.send("server_audio_item", **item, format=PCM_24)

    def sound(self, index: int, offset: int, n_samples: int) -> None:
        assert self._socket is not None
        header = struct.pack("<BBHIQ", 2, 0, 0, index, offset)
        self._socket.send(header + struct.pack("<h", 3000) * n_samples)


@pytest.fixture
def scripted(page: Page, static_page: str) -> ScriptedRoom:
    return ScriptedRoom(page, static_page)


def test_humans_are_heard_beside_the_agent_never_acknowledged_and_never_flushed(scripted: ScriptedRoom) -> None:
    ada = ("a1", "Ada", "agent")
    page = scripted.enter(("h1", "Ann", "human"), ada, ("h2", "Bob", "human"), ("h3", "Cara", "human"))
    # Half a minute of the agent at once; it sounds while the humans do.
    scripted.announce(1, "a1.item_1", "a1", "a1.resp_1")
    scripted.sound(1, 0, 100_000)
    scripted.announce(2, "h2.voice", "h2")
    scripted.announce(3, "h3.voice", "h3")
    until(page, "realtime.snapshot().sounding === 'a1'")
    for frame in range(20):
        scripted.sound(2, frame * 480, 480)
        scripted.sound(3, frame * 480, 480)
        until(page, "(window.at ??= performance.now()) + 15 < performance.now() && ((window.at = undefined), true)")
    until(page, "realtime.snapshot().voices.h2?.played > 4000 && realtime.snapshot().voices.h3?.played > 4000")
    scripted.send("server_audio_flush", item_id=None)
    until(page, "realtime.snapshot().playback?.flushes === 1")
    before = snapshot(page)["voices"]["h2"]["played"]
    for frame in range(20, 30):
        scripted.sound(2, frame * 480, 480)
    until(page, f"realtime.snapshot().voices.h2.played >= {before} + 2000")
    assert set(snapshot(page)["playedMs"]) == {"a1.item_1"}
    assert {item for item, _ in scripted.heard} == {"a1.item_1"}


def test_a_discarded_turn_leaves_no_busy_bubble_and_no_speaker(scripted: ScriptedRoom) -> None:
    page = scripted.enter(("h1", "Ann", "human"), ("h2", "Bob", "human"), ("h3", "Cara", "human"))
    for speaker, name in (("h2", "Bob"), ("h3", "Cara")):
        scripted.send("agent_input_started", item_id=f"said_{name}", agent_id=speaker, agent_name=name)
        expect(doing(page, name)).to_have_text("Speaking")
    expect(page.locator(".bubble[aria-busy=true]")).to_have_count(2)
    scripted.send("agent_input_cleared", item_id="said_Bob", agent_id="h2", agent_name="Bob")
    expect(doing(page, "Bob")).to_have_text("")
    expect(page.locator(".bubble")).to_have_count(1)
    scripted.send("server_room_left", participant_id="h3", name="Cara", reason="left")
    expect(page.locator(".bubble")).to_have_count(0)
    expect(names(page)).to_have_text(["Ann (you)", "Bob"])
