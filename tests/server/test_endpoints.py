"""Which endpoints for other services' protocols are served."""

import pytest
from websockets.exceptions import InvalidStatus

from realtime.errors import UsageError
from realtime.server.endpoints import ENDPOINTS, endpoints_for
from realtime.server.settings import ServerSettings
from tests.server.harness import serving

ALL = tuple(ENDPOINTS)


def test_all_are_served_where_access_is_guarded() -> None:
    rows: list[tuple[str | None, bool, tuple[str, ...]]] = [
        (None, True, ALL),
        (None, False, ()),
        ("none", True, ()),
        ("openai", False, ("openai",)),
        (" openai , openai", True, ("openai",)),
        (",".join(ALL), True, ALL),
    ]
    assert [endpoints_for(named, guarded=guarded) for named, guarded, _ in rows] == [served for *_, served in rows]


def test_an_unknown_endpoint_is_a_mistake() -> None:
    for named in ("soap", "openai,soap", "", "openai,none"):
        with pytest.raises(UsageError, match="there is no endpoint"):
            endpoints_for(named, guarded=True)


PATHS = [
    "/v1/realtime",
    "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
    "/api-ws/v1/realtime?model=qwen",
]


async def test_an_endpoint_that_is_off_is_not_served() -> None:
    async with serving(settings=ServerSettings(drain_s=0)) as place:
        for path in PATHS:
            async with place.client(path, subprotocols=()):
                pass
    async with serving(settings=ServerSettings(drain_s=0, endpoints=())) as place:
        for path in PATHS:
            with pytest.raises(InvalidStatus):
                async with place.client(path, subprotocols=()):
                    pass
        async with place.client() as client:
            await client.make_call()
