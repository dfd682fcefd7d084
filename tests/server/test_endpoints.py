"""Which endpoints for other services' protocols are served."""

import pytest
from websockets.exceptions import InvalidStatus

from realtime.errors import UsageError
from realtime.server.endpoints import ENDPOINTS, endpoints_for
from realtime.server.settings import ServerSettings
from tests.server.harness import serving

ALL = tuple(ENDPOINTS)


@pytest.mark.parametrize(
    ("named", "guarded", "endpoints"),
    [
        (None, True, ALL),
        (None, False, ()),
        ("none", True, ()),
        ("openai", False, ("openai",)),
        (" openai , openai", True, ("openai",)),
        (",".join(ALL), True, ALL),
    ],
)
def test_all_are_served_where_access_is_guarded(named: str | None, guarded: bool, endpoints: tuple[str, ...]) -> None:
    assert endpoints_for(named, guarded=guarded) == endpoints


@pytest.mark.parametrize("named", ["soap", "openai,soap", "", "openai,none"])
def test_an_unknown_endpoint_is_a_mistake(named: str) -> None:
    with pytest.raises(UsageError, match="there is no endpoint"):
        endpoints_for(named, guarded=True)


@pytest.mark.parametrize(
    "path",
    [
        "/v1/realtime",
        "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
        "/api-ws/v1/realtime?model=qwen",
    ],
)
async def test_an_endpoint_that_is_off_is_not_served(path: str) -> None:
    async with serving(settings=ServerSettings(drain_s=0)) as place, place.client(path, subprotocols=()):
        pass
    async with serving(settings=ServerSettings(drain_s=0, endpoints=())) as place:
        with pytest.raises(InvalidStatus):
            async with place.client(path, subprotocols=()):
                pass
        async with place.client() as client:
            await client.make_call()
