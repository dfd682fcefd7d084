"""Pages for the tests of the client package, which keep what their client tells."""

from playwright.sync_api import Page

from tests.web.pages import script

LAB = script("lab.html")
ELEMENT = script("element.html")


def said(page: Page) -> list[tuple[str, str]]:
    """Who said what, in the client's messages."""
    return [(message["from"], message["text"]) for message in page.evaluate("client.messages.list")]
