"""The states of the pages of calls and rooms, with a server that is played: to look at, and to check."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, Route, expect

from tests.web.callers import INFO, LINES, SPOKEN, custom, page_of, stream

Scene = Callable[[Page, str], None]

CALL = INFO | {"case": "save", "recorded": True, "first_words": "How large is it?", "turns": 1, "errors": 1}
ERROR = custom("error", message="The provider refuses more.")
INSIDE = {"humans": 1, "participants": [{"kind": "human", "name": "Ann"}], "agents": [{"name": "Ada"}]}
ROOMS = {"rooms": [{"room_id": "demo", **INSIDE}], "templates": ["demo", "tea"]}


def calls_api(route: Route) -> None:
    """Answer what the pages ask about calls."""
    url = route.request.url
    if "/case" in url:
        route.fulfill(status=201, json={"folder": "calls/rooms", "command": "realtime report calls/rooms"})
    elif "/events" in url:
        route.fulfill(content_type="text/event-stream", body=stream(*SPOKEN, ERROR))
    elif "/transcript" in url:
        route.fulfill(json={"lines": LINES})
    elif "/sound" in url:
        route.fulfill(content_type="audio/wav", body=b"")
    elif re.search(r"/api/calls\?", url):
        made = [CALL | {"call_id": f"call{number}", "live": number == 0} for number in range(9)]
        route.fulfill(json={"calls": [] if "q=none" in url or "user=bob" in url else made, "next": None})
    else:
        route.fulfill(json=CALL)


def the_list(page: Page, address: str) -> None:
    page.goto(page_of(address, None))
    expect(page.locator(".call")).to_have_count(9)


def no_calls(page: Page, address: str) -> None:
    page.goto(page_of(address, None, "bob"))
    expect(page.locator("#empty")).to_be_visible()


def a_search_without_results(page: Page, address: str) -> None:
    the_list(page, address)
    page.get_by_role("searchbox").fill("none")
    expect(page.locator("#empty")).to_have_text("No call matches.")


def a_question(page: Page, address: str) -> None:
    the_list(page, address)
    page.get_by_role("button", name="Delete the call").first.click()


def a_call(page: Page, address: str) -> None:
    page.goto(page_of(address))
    expect(page.get_by_role("link", name="Report")).to_be_visible()
    page.get_by_text(re.compile(r"^1\serror$")).click()


def a_saved_case(page: Page, address: str) -> None:
    a_call(page, address)
    page.get_by_text("Save as test").click()
    page.get_by_label("Name of the test").fill("rooms")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#case-result")).to_contain_text("realtime report calls/rooms")


def a_question_about_a_call(page: Page, address: str) -> None:
    a_call(page, address)
    page.get_by_role("button", name="Delete this call").click()


def the_lobby(page: Page, address: str) -> None:
    page.goto(f"{address}room.html")
    expect(page.locator(".open-room")).to_have_count(2)


SCENES: dict[str, Scene] = {
    scene.__name__: scene
    for scene in (
        *(the_list, no_calls, a_search_without_results, a_question),
        *(a_call, a_saved_case, a_question_about_a_call, the_lobby),
    )
}


def answer(page: Page) -> None:
    """Answer what the pages ask a server."""
    page.route(re.compile(r"/api/calls"), calls_api)
    page.route("**/api/rooms", lambda route: route.fulfill(json=ROOMS))
