"""Which other services' protocols are spoken."""

import pytest
from websockets.exceptions import InvalidStatus

from realtime.errors import UsageError
from realtime.server.endpoints import FRONTS, fronts_for
from realtime.server.settings import ServerSettings
from tests.server.harness import serving

ALL = tuple(FRONTS)


@pytest.mark.parametrize(
    ("named", "guarded", "fronts"),
    [
        (None, True, ALL),
        (None, False, ()),
        ("none", True, ()),
        ("openai", False, ("openai",)),
        (" openai , openai", True, ("openai",)),
        (",".join(ALL), True, ALL),
    ],
)
def test_all_are_spoken_where_no_stranger_comes_in(named: str | None, guarded: bool, fronts: tuple[str, ...]) -> None:
    assert fronts_for(named, guarded=guarded) == fronts


@pytest.mark.parametrize("named", ["soap", "openai,soap", "", "openai,none"])
def test_a_front_that_does_not_exist_is_a_mistake(named: str) -> None:
    with pytest.raises(UsageError, match="there is no front"):
        fronts_for(named, guarded=True)


@pytest.mark.parametrize(
    "path",
    [
        "/v1/realtime",
        "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
        "/api-ws/v1/realtime?model=qwen",
    ],
)
async def test_a_front_that_is_off_has_no_door(path: str) -> None:
    async with serving(settings=ServerSettings(drain_s=0)) as place, place.client(path, subprotocols=()):
        pass
    async with serving(settings=ServerSettings(drain_s=0, fronts=())) as place:
        with pytest.raises(InvalidStatus):
            async with place.client(path, subprotocols=()):
                pass
        async with place.client() as client:
            await client.make_call()
