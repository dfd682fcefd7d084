"""The pages of calls and rooms are open to everybody: axe in every state, light and dark."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.web.call_scenes import SCENES, Scene, answer
from tests.web.test_page_access import AXE, faults

pytestmark = pytest.mark.rotates(1 / 4)

OpenPage = Callable[..., Page]
each_scene = pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: npm ci in web/")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@each_scene
def test_axe_finds_nothing_in_any_state(scene: Scene, scheme: str, open_page: OpenPage, static_page: str) -> None:
    page = open_page(color_scheme=scheme, reduced_motion="reduce")
    answer(page)
    scene(page, static_page)
    assert faults(page) == []


@each_scene
def test_nothing_is_wider_than_a_screen_of_320_px(scene: Scene, open_page: OpenPage, static_page: str) -> None:
    page = open_page(viewport={"width": 320, "height": 640})
    answer(page)
    scene(page, static_page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for button in page.locator("main :is(button, .tag, input[type='search']):visible").all():
        box = button.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 320
    for button in page.locator("main button:visible").all():
        box = button.bounding_box()
        assert box is not None
        assert box["width"] >= 24, button
        assert box["height"] >= 24, button
