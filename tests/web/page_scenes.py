"""The states of the page, each made by a scripted server: to look at, and to check."""

import json
from collections.abc import Callable
from typing import Any, cast

from playwright.sync_api import Page, expect

from tests.web.conftest import MODEL, ScriptedServer
from tests.web.pages import until

OFFER = {
    "default": "local",
    "models": [
        {"name": "local", "title": "Embedded model", "heard_by": "this computer", **MODEL},
        {"name": "openai", "title": "OpenAI", "provider": "openai", "model": "gpt-realtime-2.1", "heard_by": "OpenAI"},
    ],
}
WRITING_SYSTEMS = (
    "What can you see from there?",
    "ماذا ترى من هناك؟ 42",
    "מה אתה רואה משם?",
    "你从那里能看到什么？",
    "そこから何が見えますか。",
    "거기서 뭐가 보이나요?",
    "तुम्हें वहाँ से क्या दिखता है?",
    "คุณมองเห็นอะไรจากตรงนั้น",
    "Τι βλέπεις από εκεί;",
    "Что ты видишь оттуда?",
)
SEEING = MODEL | {"provider": "gemini", "model": "flash-live", "input_modalities": ["audio", "image", "text"]}


RULES = [
    {"tool_name": "book_table", "rule_content": "day=Friday", "behavior": "allow", "source": "suggestion"},
    {"tool_name": "book_table", "rule_content": None, "behavior": "allow", "source": "suggestion"},
]
ASKED = "Shall I book a table for 4 people on Friday?"
RECEIPT: dict[str, Any] = {
    "tool_call_id": "c1",
    "tool": "book_table",
    "question": ASKED,
    "question_item_id": "item_2",
    "question_played_ms": 2900,
    "heard_whole": True,
    "answered_by": "voice",
    "answer": "yes",
    "words": "Yes, please.",
    "answer_start_ms": 8200,
    "answer_end_ms": 8900,
    "participant": None,
    "recording": None,
    "done": "success",
}
FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name on the parcel", "default": "Ann"},
        "mail": {"type": "string", "format": "email", "title": "E-mail"},
        "day": {"type": "string", "format": "date", "title": "Day of delivery"},
        "parcels": {"type": "integer", "title": "Parcels", "minimum": 1, "maximum": 9, "default": 1},
        "size": {"type": "string", "enum": ["small", "large"], "enumNames": ["Small", "Large"], "title": "Size"},
        "extras": {"type": "array", "items": {"enum": ["insured", "tracked"]}, "title": "Extras"},
        "ring": {"type": "boolean", "title": "Ring twice", "default": True},
    },
    "required": ["name", "mail", "parcels"],
}
ELICITED = {
    "server": "parcels.example",
    "message": "Where shall the <b>parcel</b> go?",
    "requested_schema": FORM,
    "content": {"name": "Ann", "parcels": 1, "ring": True},
}


def use(
    server: ScriptedServer, call_id: str, name: str, arguments: dict[str, Any], state: str = "finished", **more: Any
) -> None:
    """The agent calls a tool."""
    tool_use = {"type": "tool_call", "id": call_id, "name": name, "input": json.dumps(arguments), "state": state}
    tool_use |= more
    server.send("agent_response_tool_use_done", item_id=f"use_{call_id}", response_id="resp_t", tool_use=tool_use)


def give(server: ScriptedServer, call_id: str, name: str, output: str, state: str = "success") -> None:
    """A tool ends."""
    result = {"type": "tool_result", "id": call_id, "name": name, "output": output, "state": state}
    server.send("agent_response_tool_result", item_id=f"res_{call_id}", response_id="resp_t", tool_result=result)


def tell(server: ScriptedServer, name: str, **value: Any) -> None:
    """The server tells something about a deed."""
    server.send("server_custom", name=name, value=value)


def question(server: ScriptedServer, state: str, by: str = "either", words: str = ASKED, **more: Any) -> None:
    """The question whether a table may be booked is at this point."""
    asked = {"tool_call_id": "c1", "tool": "book_table", "question": words}
    tell(server, "consent_question", **asked, by=by, state=state, n=1, **more)


def receipt(server: ScriptedServer, **changed: Any) -> None:
    """What became of that question."""
    tell(server, "consent_receipt", **RECEIPT | changed)


def permissions(server: ScriptedServer, by: str = "user") -> None:
    """A rule is in force."""
    tell(server, "permission_updated", mode="default", rules=RULES[:1], added=RULES[:1], removed=[], by=by)


def heard(server: ScriptedServer, item_id: str, words: str) -> None:
    """The user said something."""
    server.send("agent_input_started", item_id=item_id)
    server.send("agent_input_done", item_id=item_id)
    server.send("agent_input_transcription_done", item_id=item_id, transcript=words)


def before(page: Page, server: ScriptedServer, address: str) -> None:
    page.route("**/api/models", lambda route: route.fulfill(json=OFFER))
    page.goto(address)
    expect(page.locator("#model-list option")).to_have_count(2)


def listening(page: Page, server: ScriptedServer, address: str) -> None:
    server.begin(address)


def speaking(page: Page, server: ScriptedServer, address: str) -> None:
    """Half of the answer was heard."""
    server.begin(address)
    heard(server, "item_1", "Tell me about the lighthouse.")
    words = (
        "The lighthouse stands on the last rock before the open sea. Its lamp was lit in 1862, and for ninety years a "
        "family of keepers carried the oil up its two hundred steps every evening."
    )
    server.speak("item_2", words, seconds=9)
    server.send("server_latency", response_id="resp_1", turn_end_to_audio_ms=412)
    server.finish("item_2", words)
    expect(page.locator("#stage")).to_have_attribute("data-state", "speaking")
    until(page, "Object.values(realtime.snapshot().playedMs).at(-1) >= 3000")


def interrupted(page: Page, server: ScriptedServer, address: str) -> None:
    """An answer was cut, and the user goes on."""
    server.begin(address)
    heard(server, "item_1", "Tell me about the lighthouse.")
    server.speak("item_2", "The lighthouse stands on the last rock. Its lamp was lit in 1862.", seconds=5)
    server.send("agent_interruption", item_id="item_2", state="confirmed", reason="stop_words")
    server.send("server_audio_flush", item_id="item_2")
    server.send("agent_item_truncated", item_id="item_2", transcript="The lighthouse stands on")
    server.send("agent_response_done", response_id="resp_1", status="cancelled")
    heard(server, "item_3", "Wait, which lighthouse?")
    expect(page.locator(".bubble.agent .lost")).to_contain_text("the last rock.")


def tools(page: Page, server: ScriptedServer, address: str) -> None:
    """A finished, a failed, a running and a background tool, and one that asks."""
    running = [{"id": "book_table_1", "tool": "book_table", "state": "running", "latest": "calling the restaurant"}]
    page.route("**/api/calls/*/tasks?*", lambda route: route.fulfill(json={"tasks": running}))
    server.begin(address)
    heard(server, "item_1", "Find a table for two tonight, and pay the deposit.")
    use(server, "c1", "find_restaurant", {"city": "Köln", "people": 2})
    give(server, "c1", "find_restaurant", "Zum Anker, 300 m away, has a table at 19:30.")
    use(server, "c2", "read_calendar", {"day": "today"})
    give(server, "c2", "read_calendar", "the calendar does not answer", "error")
    use(server, "c3", "book_table", {"place": "Zum Anker", "at": "19:30"})
    give(server, "c3", "book_table", "book_table runs in the background (task book_table_1).", "running")
    use(server, "c4", "find_route", {"to": "Zum Anker"})
    server.send("agent_tool_progress", tool_call_id="c4", delta="reading the timetable", kind="note")
    use(server, "c5", "pay", {"amount": 20, "to": "Zum Anker"}, "asking")
    expect(page.locator(".confirm .question")).to_be_visible()
    expect(page.locator("#background")).to_be_visible()


def asked(page: Page, server: ScriptedServer, address: str) -> None:
    """A tool asks, aloud and on a card, after the user has changed a number; it offers rules."""
    server.begin(address)
    heard(server, "item_1", "Book a table for Friday, please.")
    use(server, "c1", "book_table", {"people": 5, "day": "Friday"}, "asking", suggested_rules=RULES)
    question(server, "asking", words="Shall I book a table for 5 people on Friday?")
    heard(server, "item_3", "Yes, but only four.")
    for state in ("changed", "heard"):
        question(server, state, input=json.dumps({"people": 4, "day": "Friday"}))
    expect(page.locator(".confirm .was")).to_have_text("before: 5")


def asked_by_voice(page: Page, server: ScriptedServer, address: str) -> None:
    """A tool asks; only a voice answers."""
    server.begin(address)
    use(server, "c1", "book_table", {"people": 4, "day": "Friday"}, "asking", suggested_rules=RULES)
    question(server, "asking", by="voice")
    expect(page.locator(".confirm .question")).to_have_text(ASKED)


def changing(page: Page, server: ScriptedServer, address: str) -> None:
    """The user changes on the card what a tool shall be given, and has emptied a field."""
    server.begin(address)
    use(server, "c1", "book_table", {"people": 4, "day": "Friday"}, "asking", suggested_rules=RULES)
    question(server, "heard")
    page.get_by_role("button", name="Change").click()
    page.get_by_label("People").fill("")
    page.get_by_role("button", name="Yes, as changed").click()
    expect(page.get_by_text("Please fill this in.")).to_be_visible()


def elicited(page: Page, server: ScriptedServer, address: str) -> None:
    """A server that a tool uses asks for more, in a form with a mistake in it."""
    server.begin(address)
    use(server, "c2", "elicitation", ELICITED, "asking")
    page.get_by_label("E-mail").fill("nobody")
    page.locator(".confirm").get_by_role("button", name="Send").click()
    expect(page.get_by_text("This is no e-mail address.")).to_be_visible()


def receipts(page: Page, server: ScriptedServer, address: str) -> None:
    """A consent with its receipt and a rule, a refusal, and a claim that was corrected; all opened."""
    server.begin(address)
    heard(server, "item_1", "Book a table for Friday, please.")
    use(server, "c1", "book_table", {"people": 4, "day": "Friday"}, "asking", suggested_rules=RULES)
    question(server, "heard")
    question(server, "answered")
    permissions(server)
    give(server, "c1", "book_table", "booked: 19:30")
    receipt(server)
    server.speak("item_4", "I have not sent the confirmation yet.", seconds=0.2)
    server.finish("item_4", "I have not sent the confirmation yet.")
    claim = {"sentence": "I have sent you the confirmation.", "correction": "I have not sent the confirmation yet."}
    tell(server, "claim_withheld", item_id="item_4", response_id="resp_1", tools=["send_mail"], heard=False, **claim)
    for line in ("You agreed by voice", "Corrected before you heard it"):
        page.get_by_text(line).click()
    expect(page.get_by_text("Yes, please.")).to_be_visible()
    expect(page.locator("#stage")).to_have_attribute("data-state", "listening")


def rules(page: Page, server: ScriptedServer, address: str) -> None:
    """The settings list what is allowed."""
    server.begin(address)
    permissions(server, "session")
    expect(page.locator(".notice")).to_contain_text("Book table (Day = Friday)")
    page.locator("#open-settings").click()
    page.locator("#forget-rules").scroll_into_view_if_needed()
    expect(page.locator("#rules-in-force li")).to_have_text(["Book table (Day = Friday)"])


def ended(page: Page, server: ScriptedServer, address: str) -> None:
    """The end screen, with the report and the transcript."""
    page.route("**/api/calls/*?*", lambda route: route.fulfill(json={"case": "download", "live": False}))
    server.begin(address)
    heard(server, "item_1", "What time is it?")
    server.speak("item_2", "It is half past two.", seconds=0.2)
    server.finish("item_2", "It is half past two.")
    server.send("server_latency", response_id="resp_1", turn_end_to_audio_ms=412, ts_ms=134_000)
    expect(page.locator(".bubble .wait")).to_be_visible()
    server.send("server_session_ended", reason="client_end", ts_ms=134_000)
    expect(page.locator("#ended-report")).to_be_visible()


def troubled(page: Page, server: ScriptedServer, address: str) -> None:
    """A refused microphone, and a call that broke off."""
    page.add_init_script(
        "navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', 'NotAllowedError'))"
    )
    page.goto(address)
    page.locator("#talk").click()
    expect(page.locator(".notice")).to_have_count(1)
    server.close(1011, "it fell over")
    expect(page.locator(".notice")).to_have_count(2)


def scripts(page: Page, server: ScriptedServer, address: str) -> None:
    """Ten writing systems, from left and from right."""
    server.begin(address)
    for number, words in enumerate(WRITING_SYSTEMS):
        heard(server, f"item_{2 * number}", words)
        server.send("agent_response_text_done", item_id=f"item_{2 * number + 1}", response_id="r", text=words)
    expect(page.locator(".bubble")).to_have_count(2 * len(WRITING_SYSTEMS))


def pictures(page: Page, server: ScriptedServer, address: str) -> None:
    """A model that takes pictures."""
    server.begin(address)
    server.send("agent_ready", agent_name="Heart", model=SEEING)
    expect(page.locator("#camera")).to_be_visible()
    golden = cast(dict[str, Any], server.golden("agent_item_added")["item"])
    for number in range(3):
        content = [{"type": "image", "media_type": "image/jpeg"}]
        server.send("agent_item_added", item=golden | {"id": f"picture_{number}", "content": content})
    expect(page.locator(".bubble.user .words")).to_have_text("3 pictures")


def settings(page: Page, server: ScriptedServer, address: str) -> None:
    page.goto(address)
    page.locator("#open-settings").click()


def shortcuts(page: Page, server: ScriptedServer, address: str) -> None:
    page.goto(address)
    page.locator("#open-help").click()


def consent(page: Page, server: ScriptedServer, address: str) -> None:
    page.goto(f"{address}?recording")
    expect(page.locator("#consent")).to_be_visible()


def events(page: Page, server: ScriptedServer, address: str) -> None:
    """The inspector, open on an event."""
    server.begin(address)
    heard(server, "item_1", "What time is it?")
    page.locator("#inspector summary").click()
    page.locator("#events li").filter(has_text="agent_ready").first.get_by_role("button").click()


Scene = Callable[[Page, ScriptedServer, str], None]
SCENES: dict[str, Scene] = {
    scene.__name__: scene
    for scene in (
        *(before, listening, speaking, interrupted, tools, asked, asked_by_voice, changing, elicited, receipts, rules),
        *(ended, troubled, scripts, pictures, settings, shortcuts, consent, events),
    )
}
