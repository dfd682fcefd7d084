"""The calls page in Chromium: a user's list of calls, and what goes wrong."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from tests.web.callers import INFO, LIVE, Caller, list_calls, page_of
from tests.web.conftest import OpenPage, Serve
from tests.web.pages import box_of, fits

pytestmark = pytest.mark.night

APP = f"{Path(__file__).with_name('scripted_app.py')}:make_calculator"


def test_a_missing_call_is_reported_in_plain_words(page: Page, serve: Serve, calls: Callable[..., Caller]) -> None:
    address = serve(APP, "--store", "memory:").address
    caller = calls(address)
    for who, call_id in (("ann", "call_x"), ("bob", caller.call_id), ("ann", "../models"), ("ann", "%00")):
        page.goto(page_of(address, call_id, who))
        expect(page.get_by_role("alert")).to_contain_text("This user has no such call.")
        expect(page.get_by_role("status")).to_have_text("This call cannot be shown.")


def test_the_token_comes_from_the_cookie_of_the_page_or_from_the_address(open_page: OpenPage, serve: Serve) -> None:
    address = serve("--model", "scripted", "--store", "memory:", "--token", "open-sesame").address
    page, other = open_page(), open_page()
    page.goto(page_of(address, None))
    expect(page.get_by_role("alert")).to_contain_text("The server asks for its token.")
    page.goto(f"{address}/?token=open-sesame")
    page.goto(page_of(address, None))
    expect(page.locator("#empty")).to_contain_text("No calls yet.")
    expect(page.get_by_role("alert")).to_be_empty()
    other.goto(f"{address}/transcript.html?user=ann&token=open-sesame")
    expect(other.locator("#empty")).to_contain_text("No calls yet.")


def test_a_long_list_shows_older_calls_when_asked_and_says_which_are_damaged(page: Page, static_page: str) -> None:
    def answer(route: Route) -> None:
        later = "after=" in route.request.url
        call = INFO | {"call_id": "call2" if later else "call1", "unreadable": later}
        route.fulfill(json={"calls": [call], "next": None if later else "2026~call1"})

    page.route(re.compile(r"/api/calls\?"), answer)
    page.goto(page_of(static_page, None))
    expect(page.locator(".call")).to_have_count(1)
    page.get_by_role("button", name="Older calls").click()
    expect(page.locator(".call .tag:visible")).to_have_text("Damaged: it cannot be read")
    expect(page.get_by_role("button", name="Older calls")).to_be_hidden()


def test_a_server_that_lists_no_calls_says_so_and_an_absent_one_is_asked_again(page: Page, static_page: str) -> None:
    answers: list[Callable[[Route], None]] = [
        lambda route: route.abort("connectionrefused"),
        lambda route: route.fulfill(json={"calls": [LIVE]}),
        lambda route: route.fulfill(status=403, json={"code": "calls_not_listed", "error": "open to everybody"}),
    ]
    page.route(re.compile(r"/api/calls\?"), lambda route: answers.pop(0)(route))
    page.goto(page_of(static_page, None))
    expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached. This page tries again by itself.")
    expect(page.locator(".call .name")).to_contain_text("Friday")
    expect(page.get_by_role("alert")).to_contain_text("it lists no calls. Open a call by its own address.")
    assert answers == []


def test_a_long_list_is_searched_by_words_and_for_errors(page: Page, static_page: str) -> None:
    asked: list[str] = []

    def answer(route: Route) -> None:
        asked.append(urlsplit(route.request.url).query)
        words = [f"Question {number}" for number in range(9)] if "q=" not in asked[-1] else ["Where is my order?"]
        calls = [
            INFO | {"call_id": f"call{n}", "first_words": one, "turns": 1, "errors": n} for n, one in enumerate(words)
        ]
        route.fulfill(json={"calls": [] if "order+now" in asked[-1] else calls, "next": None})

    page.route(re.compile(r"/api/calls\?"), answer)
    page.goto(page_of(static_page, None))
    expect(page.locator(".call")).to_have_count(9)
    expect(page.locator(".call .tag.errors:visible").first).to_have_text(re.compile(r"1\serror"))
    field = page.get_by_role("search").get_by_role("searchbox")
    field.fill("order")
    expect(page.locator(".call .name")).to_have_text(["Where is my order?"])
    page.get_by_label("With errors only").check()
    field.fill("order now")
    expect(page.locator("#empty")).to_have_text("No call matches.")
    assert asked[-1] == "user=ann&q=order+now&errors=true"
    field.fill("")
    page.get_by_label("With errors only").uncheck()
    expect(page.locator(".call")).to_have_count(9)


def test_words_of_a_call_are_never_markup_and_read_in_their_own_direction(page: Page, static_page: str) -> None:
    words = ["<b>bold</b>", "שלום, איפה ההזמנה שלי?"]
    calls = [INFO | {"call_id": f"call{number}", "first_words": one} for number, one in enumerate(words)]
    list_calls(page, calls)
    page.goto(page_of(static_page, None))
    names = page.locator(".call .name")
    expect(names).to_have_text(words)
    directions = names.evaluate_all("(all) => all.map((one) => getComputedStyle(one).direction)")
    assert directions == ["ltr", "rtl"]


def test_the_list_fits_its_window(page: Page, static_page: str) -> None:
    call = INFO | {"first_words": "Supercalifragilistic" * 7, "errors": 3, "turns": 4, "recorded": True}
    list_calls(page, [call | {"call_id": f"call{number}"} for number in range(9)])
    for width in (320, 390, 768, 1440):
        page.set_viewport_size({"width": width, "height": 700})
        page.goto(page_of(static_page, None))
        expect(page.locator(".call")).to_have_count(9)
        assert fits(page)
        box = box_of(page.get_by_role("button", name="Delete the call").first)
        assert box["x"] + box["width"] <= width
