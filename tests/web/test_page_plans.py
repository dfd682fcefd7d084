"""Plans on the page: what a person changes by hand, those of a room, and one that outlives its call and its server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from realtime.agent import RealtimeAgent
from realtime.plan import Plan, PlanNotebook, SubTask
from realtime.room import ChatRoom
from realtime.room.floor import addressed
from tests.plan.plans import subtask
from tests.web.conftest import LineTo, OpenPage, Scripted, ScriptedServer, Serve, Serving
from tests.web.page_scenes import tell
from tests.web.pages import LISTENING, end_call, fits, sends, until, write
from tests.web.plan_app import BOOKED, DIGRESSION, WANTS, WHERE
from tests.web.rooms import RoomServing, agent, names
from tests.web.test_page_access import AXE, LANGUAGES, faults

pytestmark = pytest.mark.night

APP = f"{Path(__file__).with_name('plan_app.py')}:make_booker"
TRAIN, ROOM, TABLE = "a train to Oslo", "a room at the harbour", "a table for two"
KEY = {"Authorization": "Bearer secret"}
SPEAKING = "realtime.snapshot().state === 'speaking'"


def plan_box(page: Page) -> Locator:
    return page.get_by_role("group", name="The agent’s plan")


def rows(page: Page) -> Locator:
    return plan_box(page).get_by_role("listitem")


# -- one call ----------------------------------------------------------------------------------------------------------


def begun(scripted: ScriptedServer, *, editable: bool = True, **options: Any) -> tuple[Page, Plan]:
    """A call whose agent has a plan of two subtasks."""
    trip = Plan(name="Trip", description="", expected_outcome="", subtasks=["Train", "Room"], **options)  # type: ignore[list-item]  # texts become subtasks
    page = scripted.begin()
    show(scripted, trip, editable=editable)
    expect(rows(page)).to_have_count(2)
    return page, trip


def show(scripted: ScriptedServer, plan: Plan, *, editable: bool = True) -> None:
    tell(scripted, "plan_updated", plan=plan.model_dump(), agent_id="a1", agent_name="Ann", editable=editable)


def edits(scripted: ScriptedServer) -> list[dict[str, Any]]:
    until(scripted.page, sends("client_plan_edit"))
    return [event["edit"] for event in scripted.of("client_plan_edit")]


def test_each_change_is_one_event_and_shows_once_the_server_tells_it(scripted: ScriptedServer) -> None:
    page, trip = begun(scripted)
    train, room = trip.subtasks
    page.get_by_role("checkbox", name="Train").click()
    assert edits(scripted) == [{"type": "mark_subtask", "subtask_id": train.id, "state": "done"}]
    expect(page.get_by_role("checkbox", name="Train")).not_to_be_checked()
    train.finish("x")
    show(scripted, trip)
    expect(page.get_by_role("checkbox", name="Train")).to_be_checked()
    page.get_by_role("checkbox", name="Train").click()
    page.get_by_role("button", name="Change plan: Trip").click()
    page.get_by_role("button", name="Give up: Room").click()
    page.get_by_role("button", name="Remove: Train").click()
    field = page.get_by_role("textbox", name="New subtask")
    field.fill("  <b>Pack</b> ")
    field.press("Enter")
    expect(field).to_have_value("")
    page.get_by_role("button", name="Plan is done: Trip").click()
    page.get_by_role("button", name="Drop plan: Trip").click()
    until(page, "realtime.snapshot().events.filter((type) => type === 'client_plan_edit').length === 7")
    assert edits(scripted)[1:] == [
        {"type": "mark_subtask", "subtask_id": train.id, "state": "todo"},
        {"type": "mark_subtask", "subtask_id": room.id, "state": "abandoned"},
        {"type": "remove_subtask", "subtask_id": train.id},
        {"type": "add_subtask", "name": "<b>Pack</b>"},
        {"type": "end_plan", "state": "done"},
        {"type": "end_plan", "state": "abandoned"},
    ]
    assert {event["plan_id"] for event in scripted.of("client_plan_edit")} == {trip.id}
    room.state = "abandoned"
    show(scripted, trip)
    expect(page.get_by_role("checkbox", name="Room")).to_be_disabled()
    page.get_by_role("button", name="Take up again: Room").click()
    until(page, "realtime.snapshot().events.filter((type) => type === 'client_plan_edit').length === 8")
    assert edits(scripted)[-1] == {"type": "mark_subtask", "subtask_id": room.id, "state": "todo"}


def test_a_name_is_written_anew_while_the_plan_changes_and_focus_is_never_lost(scripted: ScriptedServer) -> None:
    """By keyboard alone; Escape leaves the name and the agent alone."""
    page, trip = begun(scripted)
    opened = page.get_by_role("button", name="Change plan: Trip")
    opened.focus()
    opened.press("Enter")
    expect(opened).to_have_attribute("aria-expanded", "true")
    rename = page.get_by_role("button", name="Rename: Room")
    rename.focus()
    rename.press("Enter")
    field = page.get_by_role("textbox", name="New name of: Room")
    expect(field).to_be_focused()
    expect(field).to_have_value("Room")
    field.press("Escape")
    expect(rename).to_be_focused()
    rename.press("Enter")
    page.keyboard.type("Hostel")
    trip.subtasks[0].finish("x")
    show(scripted, trip)
    expect(rows(page).first).to_contain_text("Done")
    expect(field).to_have_value("Hostel")
    expect(field).to_be_focused()
    field.press("Enter")
    expect(rename).to_be_focused()
    assert edits(scripted) == [{"type": "rename_subtask", "subtask_id": trip.subtasks[1].id, "name": "Hostel"}]
    assert scripted.of("client_response_cancel") == []
    del trip.subtasks[1]
    show(scripted, trip)
    expect(rows(page)).to_have_count(1)
    expect(plan_box(page)).to_be_focused()
    opened.press("Enter")
    expect(page.get_by_role("button", name="Remove: Train")).to_have_count(0)


def test_what_was_not_changed_is_said_in_words(scripted: ScriptedServer) -> None:
    page, _ = begun(scripted)
    notice = page.locator("#notices")
    for code, why in (("plan_edit_refused", "No rule."), ("plan_replaced", "Meanwhile it was replaced or ended.")):
        scripted.send("agent_error", error_type="client_error", code=code, message="No rule.", retryable=False)
        expect(notice).to_contain_text("The plan was not changed.")
        expect(notice).to_contain_text(why)
    page.get_by_role("checkbox", name="Train").click()
    expect(notice).not_to_contain_text("The plan was not changed.")


def test_a_plan_that_is_the_programs_has_nothing_to_press_nor_has_one_after_the_call(scripted: ScriptedServer) -> None:
    page, trip = begun(scripted, editable=False)
    expect(plan_box(page).locator("button:visible, input:visible")).to_have_count(0)
    show(scripted, trip)
    expect(page.get_by_role("checkbox", name="Train")).to_be_visible()
    end_call(page) if page.get_by_role("button", name="End call").count() else page.locator("#talk").click()
    expect(plan_box(page).locator("button:visible, input:visible")).to_have_count(0)


@pytest.mark.parametrize("language", LANGUAGES)
def test_in_each_language_all_of_it_fits_a_small_screen(scripted_for: Scripted, language: str) -> None:
    scripted = scripted_for(locale=language, viewport={"width": 320, "height": 720})
    trip = Plan(name="Trip " * 20, description="", expected_outcome="", subtasks=["Donaudampfschifffahrt" * 4, "B"])  # type: ignore[list-item]  # texts become subtasks
    page = scripted.begin()
    show(scripted, trip)
    page.locator(".plan-open").click()
    page.locator(".step-tools > button").first.click()
    expect(page.locator(".step-tools .plan-name input").first).to_be_focused()
    assert fits(page)
    assert page.locator("#plan").evaluate("(box) => box.scrollWidth <= box.clientWidth")
    if AXE.is_file():
        assert faults(page) == []


# -- a room ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def planners() -> Iterator[RoomServing]:
    """A room with Ada and Ben, who have plans, and Cleo, who has none."""

    def planner(name: str, *subtasks: SubTask) -> RealtimeAgent:
        made = agent(name)
        made.plan_notebook = PlanNotebook()
        made.plan_notebook.current_plan = Plan(
            name="Trip", description="", expected_outcome="", subtasks=[*subtasks], state="in_progress"
        )
        return made

    made = [planner("Ada", subtask("a", "in_progress"), subtask("b")), planner("Ben", subtask("a"))]
    serving = RoomServing(lambda: ChatRoom([*made, agent("Cleo")], name="demo", floor=addressed), {})
    yield serving
    serving.stop()


def test_a_room_shows_the_plan_of_each_agent_and_everybody_may_change_it(
    planners: RoomServing, open_page: OpenPage
) -> None:
    pages = []
    for name in ("Anna", "Otto"):
        pages.append(page := open_page())
        page.goto(planners.url(name))
        expect(names(page).first).to_have_text(f"{name} (you)")
        expect(page.locator(".plan .plan-of")).to_have_text(["Plan of Ada", "Plan of Ben"])
    anna, otto = pages
    box = otto.get_by_role("group", name="Plans of the agents")
    steps = box.locator(".plan").first.get_by_role("listitem")
    anna.locator(".plan").first.get_by_role("checkbox", name="a").click()
    expect(steps).to_have_text(["Donea", "In progressb"])
    otto.locator(".plan").nth(1).get_by_role("button", name="Change plan: Trip").click()
    otto.locator(".plan").nth(1).get_by_role("button", name="Drop plan: Trip").click()
    expect(anna.locator(".plan .plan-of")).to_have_text(["Plan of Ada"])
    otto.get_by_role("button", name="Change plan: Trip").click()
    otto.get_by_role("button", name="Rename: b").click()
    otto.keyboard.type("Ferry")
    otto.keyboard.press("Enter")
    expect(anna.locator(".plan .name")).to_have_text(["a", "Ferry"])
    anna.get_by_role("checkbox", name="a").click()
    expect(otto.locator(".plan .state")).to_have_text(["To do", "In progress"])
    anna.get_by_role("checkbox", name="Ferry").click()
    expect(anna.locator("#notices")).to_contain_text("named 'a' is not done yet")
    expect(otto.locator("#notices")).not_to_contain_text("The plan was not changed.")
    for page in pages:
        assert fits(page)
        if AXE.is_file():
            assert faults(page) == []
    anna.get_by_role("button", name="Leave").click()
    expect(anna.locator(".plan")).to_have_count(0)


# -- the story ---------------------------------------------------------------------------------------------------------


def test_a_plan_of_three_bookings_outlives_digressions_a_lost_line_a_reload_and_its_server(
    page: Page, serve: Serve, line_to: LineTo, tmp_path: Path
) -> None:
    """ "Where were we?" goes on at the right subtask, by the hint alone, and the record holds what was said."""
    words = APP, "--token", "secret", "--grace", "30", "--session", f"json:{tmp_path / 'callers'}"
    server = serve(*words)
    line = line_to(server.address)
    page.goto(f"{line.address}/?token={token_of_ann(page, server)}")
    write(page, WANTS)
    expect(rows(page)).to_have_text([f"In progress{TRAIN}", f"To do{ROOM}", f"To do{TABLE}"])
    suspended = plan_box(page).get_by_text("Put aside for now")
    for question in ("What time is it?", "And in Tokyo?"):
        until(page, SPEAKING)
        write(page, question)
        expect(suspended).to_be_visible()
        until(page, f"realtime.snapshot().bubbles.at(-1).text.startsWith({json.dumps(DIGRESSION[:10])})")
    token = page.evaluate("JSON.parse(sessionStorage.getItem('realtime.call /')).resumeToken.token")
    record = f"/api/calls/{token.rpartition('.')[0]}/record?user=ann"
    line.cut(down_ms=300)
    until(page, sends("server_session_resumed"))
    page.reload()
    expect(rows(page)).to_have_count(3)
    expect(suspended).to_be_visible()
    for booked, running in (("The 9:05.", ROOM), ("With a view.", TABLE)):
        write(page, BOOKED + booked)
        expect(plan_box(page).locator("[data-state=in_progress] .name")).to_have_text(running)
        until(page, f"realtime.snapshot().bubbles.at(-1).text.includes({json.dumps(running)})")
    page.get_by_role("button", name="Stop the answer").click()
    expect(suspended).to_be_visible()
    until(page, LISTENING)
    end_call(page)
    expect(page.get_by_role("status")).to_have_text("Call ended")
    until_kept(page, tmp_path / "callers" / "users" / "ann" / "Friday.json")
    while page.request.get(server.address + record, headers=KEY).status != 200:
        page.evaluate("new Promise(requestAnimationFrame)")
    server.kill()
    again = serve(*words, port=server.port)
    page.goto(f"{line.address}/?token={token_of_ann(page, again)}")
    write(page, WHERE)
    expect(rows(page)).to_have_text([f"Done{TRAIN}", f"Done{ROOM}", f"In progress{TABLE}"])
    expect(suspended).to_be_hidden()
    expect(page.locator(".bubble.agent .words").last).to_contain_text(f"Now it is {TABLE}.")
    write(page, f"{BOOKED}For eight.")
    expect(page.locator(".bubble.agent .words").last).to_contain_text("Nothing is left.")
    told = page.request.get(again.address + record, headers=KEY).json()["record"]
    assert told == {"booked": ["The 9:05.", "With a view."], "asked": ["What time is it?", "And in Tokyo?"]}


def token_of_ann(page: Page, server: Serving) -> str:
    """What lets the page of Ann, who is remembered, call."""
    answer = page.request.post(f"{server.address}/api/client_tokens", headers=KEY, data={"user_id": "ann"})
    token: str = answer.json()["token"]
    return token


def until_kept(page: Page, saved: Path) -> None:
    """Wait until the agent of this file has its plan as it was when the caller hung up."""
    while "suspended" not in (saved.read_text("utf-8") if saved.is_file() else ""):
        page.evaluate("new Promise(requestAnimationFrame)")
