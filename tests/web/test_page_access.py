"""The pages are open to everybody: axe in every state, forced colours, less motion, small screens, keys, languages."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.web import call_scenes, page_scenes
from tests.web.conftest import ROOT, OpenPage, Scripted, ScriptedServer
from tests.web.page_scenes import heard, settings
from tests.web.pages import fits, until

pytestmark = pytest.mark.night

AXE = Path(os.environ.get("REALTIME_AXE", ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"))
"""The checker: the development dependency `axe-core`, or another copy."""
LANGUAGES = {"en": "Listening", "de": "Hört zu", "es": "Escuchando", "zh": "正在聆听"}


def faults(page: Page) -> list[str]:
    """Check the page with axe. Return a line for each fault, with its first place."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = page.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then(({violations}) => violations)"
    )
    return [f"{fault['id']}: {fault['help']} {json.dumps(fault['nodes'][0]['target'])}" for fault in found]


def where(page: Page, elements: str, fault: str) -> list[str]:
    """The visible elements whose box (`x`, `width`, `height`) has this fault."""
    has_it = f"(one) => {{ const {{x, width, height}} = one.getBoundingClientRect(); return {fault}; }}"
    visible = page.locator(elements).locator("visible=true")
    found: list[str] = visible.evaluate_all(f"(all) => all.filter({has_it}).map((one) => one.outerHTML)")
    return found


def of_a_call(scene: page_scenes.Scene) -> Callable[[Scripted], Page]:
    return lambda scripted_for: scripted_for(**SMALL).show(scene)


def of_calls(scene: call_scenes.Scene) -> Callable[[Scripted], Page]:
    def show(scripted_for: Scripted) -> Page:
        server = scripted_for(**SMALL)
        call_scenes.answer(server.page)
        scene(server.page, server.address)
        return server.page

    return show


SMALL = {"viewport": {"width": 320, "height": 640}, "reduced_motion": "reduce"}
SCENES = {name: of_a_call(scene) for name, scene in page_scenes.SCENES.items()}
SCENES |= {name: of_calls(scene) for name, scene in call_scenes.SCENES.items()}


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: npm ci in web/")
@pytest.mark.parametrize("state", SCENES)
def test_every_state_fits_a_screen_of_320_px_and_axe_finds_nothing_light_or_dark(
    scripted_for: Scripted, state: str
) -> None:
    page = SCENES[state](scripted_for)
    assert fits(page)
    assert where(page, "main button, dialog[open] button", "width < 24 || height < 24") == []
    if state in call_scenes.SCENES:
        assert where(page, "main :is(button, .tag, input[type='search'])", "x < 0 || x + width > innerWidth") == []
    page.set_viewport_size({"width": 1280, "height": 720})
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert faults(page) == [], scheme


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_speaks_the_browser_s_language_and_stays_whole(scripted_for: Scripted, language: str) -> None:
    page = scripted_for(locale=language, viewport={"width": 320, "height": 720}).begin()
    expect(page.locator("html")).to_have_attribute("lang", language)
    expect(page.get_by_role("combobox").and_(page.locator("#language"))).to_have_value(language)
    expect(page.locator("#state")).to_have_text(LANGUAGES[language])
    assert fits(page)


def test_only_the_chosen_language_is_loaded_and_it_is_remembered(page: Page, static_page: str) -> None:
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url.rpartition("/")[2]))
    page.goto(static_page)
    expect(page.get_by_role("button", name="Start talking")).to_be_visible()
    assert not {"de.js", "es.js", "zh.js"} & {*loaded}
    page.get_by_label("Language").select_option("Deutsch")
    expect(page.get_by_role("button", name="Gespräch beginnen")).to_be_visible()
    assert {"de.js", "es.js", "zh.js"} & {*loaded} == {"de.js"}
    page.reload()
    expect(page.get_by_role("button", name="Gespräch beginnen")).to_be_visible()


def test_words_from_the_right_stand_on_the_right_whatever_the_language(scripted: ScriptedServer) -> None:
    page = scripted.begin()
    heard(scripted, "item_1", "ماذا ترى من هناك؟")
    heard(scripted, "item_2", "What can you see?")
    words = page.locator(".bubble.user .words")
    expect(words).to_have_count(2)
    directions = words.evaluate_all("all => all.map((one) => getComputedStyle(one).direction)")
    assert directions == ["rtl", "ltr"]


@pytest.mark.parametrize(("scheme", "colour"), [("light", "rgb(212, 0, 106)"), ("dark", "rgb(255, 122, 184)")])
def test_a_brand_sets_the_colours(open_page: OpenPage, static_page: str, scheme: str, colour: str) -> None:
    page = open_page(color_scheme=scheme)
    css = ":root { --agent: light-dark(#d4006a, #ff7ab8); --radius: 2px; }"
    page.route("**/brand.css", lambda route: route.fulfill(content_type="text/css", body=css))
    page.goto(static_page)
    expect(page.locator("#talk")).to_have_css("background-color", colour)
    expect(page.locator("#conversation")).to_have_css("border-radius", "2px")


def test_with_less_motion_nothing_moves_and_meters_show_the_voices(scripted_for: Scripted) -> None:
    page = scripted_for(reduced_motion="reduce").begin()
    expect(page.locator("#voices")).to_be_hidden()
    expect(page.locator(".meters")).to_be_visible()
    until(page, "!/scaleX\\(0(.00)?\\)/.test(document.getElementById('meter-user').style.transform)")
    assert page.evaluate("document.getAnimations().length") == 0


def test_in_forced_colours_the_states_can_be_told_apart(scripted_for: Scripted) -> None:
    page = scripted_for(forced_colors="active").begin()
    expect(page.locator(".meters")).to_be_visible()
    expect(page.locator("#talk-label")).to_have_text("End call")
    border = page.locator("#talk").evaluate("one => getComputedStyle(one).borderTopWidth")
    assert border != "0px"


def test_the_settings_are_a_dialog_that_returns_the_focus(scripted: ScriptedServer) -> None:
    page = scripted.show(settings)
    dialog = page.get_by_role("dialog", name="Settings")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("button", name="Settings")).to_be_focused()
