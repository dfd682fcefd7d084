"""What a user does on every page, and what a page tells of itself. Waits are for conditions: limits are hang guards."""

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import FloatRect, Locator, Page

from tests.volumes import HANG_S

SCRIPTS = Path(__file__).with_name("scripts")
Json = dict[str, Any]

_UNTIL = """async ([condition, limitMs]) => {
  const since = performance.now();
  while (!(CONDITION)) {
    if (performance.now() - since > limitMs) {
      const state = typeof realtime === 'object' ? realtime.snapshot() : globalThis.told;
      throw new Error(`${condition}: ${JSON.stringify(state)}`);
    }
    await new Promise((go) => setTimeout(go, 5));
  }
}"""


def script(name: str, **given: object) -> str:
    """A file of `scripts`, its words in capitals replaced by what is given, as JSON."""
    text = (SCRIPTS / name).read_text(encoding="utf-8")
    for word, value in given.items():
        text = text.replace(word, json.dumps(value))
    return text


def until(page: Page, condition: str) -> None:
    """Wait for a JavaScript condition. Playwright's own way would need eval in the page."""
    page.evaluate(_UNTIL.replace("CONDITION", condition), [condition, HANG_S * 1000])


def snapshot(page: Page) -> Json:
    """What the page says of its state."""
    result: Json = page.evaluate("realtime.snapshot()")
    return result


def sent_beyond(page: Page, samples: int) -> None:
    """Wait until the microphone has sent so many samples more."""
    until(page, f"realtime.snapshot().sent.samples > {snapshot(page)['sent']['samples'] + samples}")


def captions(page: Page) -> list[tuple[str, str, str]]:
    """Side, words and status of every bubble of a call."""
    return [(bubble["side"], bubble["text"], bubble["status"]) for bubble in snapshot(page)["bubbles"]]


def start_talking(page: Page, address: str | None = None) -> Page:
    """Open the page where an address is given, and press its button."""
    if address is not None:
        page.goto(address)
    page.get_by_role("button", name="Start talking").click()
    return page


def write(page: Page, words: str) -> None:
    """Type a message and send it."""
    page.get_by_label("Message", exact=True).fill(words)
    page.get_by_label("Message", exact=True).press("Enter")


def end_call(page: Page) -> None:
    page.get_by_role("button", name="End call").click()


def box_of(part: Locator) -> FloatRect:
    """Where a part of the page stands."""
    box = part.bounding_box()
    assert box is not None
    return box


def fits(page: Page) -> bool:
    """Whether nothing is wider than the window."""
    is_it: bool = page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    return is_it


LISTENING = "realtime.snapshot().state === 'listening'"
HEARING = f"{LISTENING} && realtime.snapshot().microphoneSamples > 0"
"""The call waits for its user, whose microphone is open."""


def sends(event_type: str) -> str:
    """The condition that the page has sent or got an event of this type."""
    return f"realtime.snapshot().events.includes('{event_type}')"
