"""How long the answers of a call were waited for, as the page shows it: steps, a line, a sentence and a table."""

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Scripted, ScriptedServer
from tests.web.pages import fits

pytestmark = pytest.mark.night

WAITED = {"turn_end": 500, "transcript": 40, "first_audio": 80, "played": 100}


def hear_two_answers(scripted: ScriptedServer) -> Page:
    """Two answers, the second waited for longer, by an estimate."""
    page = scripted.begin()
    expect(page.locator("#waits")).to_be_hidden()
    for number, factor in ((1, 1), (2, 2)):
        item, response = f"item_{number}", f"resp_{number}"
        scripted.speak(item, "Well.", 0.05, response_id=response)
        scripted.finish(item, "Well.", response_id=response)
        stages_ms = {name: ms * factor for name, ms in WAITED.items()}
        waited = {"latency_ms": 720 * factor, "stages_ms": stages_ms, "estimated": factor == 2}
        scripted.send("server_latency", response_id=response, item_id=f"user_{number}", **waited)
    expect(page.locator(".bubble.agent .wait")).to_have_count(2)
    return page


@pytest.mark.parametrize("width", [320, 1280])
def test_the_waits_of_a_call_are_a_line_a_sentence_and_a_table(scripted_for: Scripted, width: int) -> None:
    page = hear_two_answers(scripted_for(viewport={"width": width, "height": 800}))
    box = page.locator("#waits")
    expect(box.locator("summary").first).to_have_text("Waiting times · last 1440 ms")
    box.locator("summary").first.click()
    expect(box.locator("figcaption")).to_have_text(
        "2 answers, half of them within 720 ms, the longest wait 1440 ms, in turn 2, 1 estimated."
    )
    expect(box.locator(".chart")).to_have_attribute("aria-hidden", "true")
    heights = [point["y"] for point in (one.bounding_box() for one in box.locator(".plot i").all()) if point]
    assert heights[0] > heights[1], "the longer wait is higher"
    box.get_by_text("As a table").click()
    assert box.locator("tbody tr").all_inner_texts() == ["1\t720 ms", "2\t1440 ms (estimated)"]
    page.locator(".wait summary").first.click()
    assert fits(page)
