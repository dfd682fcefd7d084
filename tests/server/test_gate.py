"""Who may come in: tokens, pages elsewhere, addresses; as decided, and over real sockets."""

import ssl
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import HTTPConnection

from realtime.runtime import Runtime
from realtime.server.gate import COOKIE, KEY_SUBPROTOCOL, LOOPBACK_HOSTS, Gate
from realtime.server.page_sessions import PageSessions
from realtime.server.settings import ServerSettings
from realtime.server.tls import self_signed
from realtime.server.token_guesses import FREE_TRIES, WrongTokens
from tests.server.cases import cases
from tests.server.harness import serving
from tests.server.test_endpoints import PATHS


def request(query: str = "", client: Any = ("10.0.0.1", 5), kind: str = "websocket", **headers: str) -> HTTPConnection:
    pairs = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    scope = {"type": kind, "headers": pairs, "query_string": query.encode(), "path": "/", "client": client}
    return HTTPConnection(scope)


def test_who_shows_the_token_and_is_a_page_of_this_host_or_of_an_allowed_one_is_let_in() -> None:
    """The token comes by query or header. A page that made its name point here is kept out of loopback, its own
    requests too, which name no page; behind a proxy the name of an allowed page is one of ours."""
    wrong = []
    for settings, kind, query, headers, refusal in cases("gate_refusals"):
        given = settings | ({"hosts": LOOPBACK_HOSTS} if "hosts" in settings else {})
        told = Gate(ServerSettings(**given)).refusal(request(query, kind=kind, **headers))
        expected = told is None if refusal is None else told is not None and told.startswith(refusal)
        if not expected or ("token" in (refusal or "") and "--token" not in str(told)):
            wrong.append((settings, query, headers, told))
    assert wrong == []


def test_a_developer_is_on_this_machine_and_behind_no_proxy() -> None:
    rows = cases("gate_developers")
    found = [Gate(ServerSettings()).is_developer(request(client=client, **headers)) for client, headers, _ in rows]
    assert found == [developer for *_, developer in rows]


class Clock:
    """A gate's time, and ids that count up."""

    def __init__(self) -> None:
        self.now = 0.0

    def gate(self, **settings: Any) -> Gate:
        return Gate(ServerSettings(**settings), Runtime.deterministic(lambda: self.now))


def test_an_address_that_guesses_tokens_is_slowed_down_and_others_are_not() -> None:
    clock = Clock()
    gate = clock.gate(token="right")
    for _ in range(9):
        assert "the token is wrong" in (gate.refusal(request("token=wrong")) or "")
    assert gate.refusal(request("token=right")) is None, "ten wrong tokens are free, and these were nine"
    told = gate.http_refusal(request("token=wrong"))
    slowed = gate.http_refusal(request("token=right"))
    assert told is not None
    assert slowed is not None
    assert (told.status_code, slowed.status_code, slowed.headers["retry-after"]) == (401, 429, "1")
    for wait_s in (1, 2, 4, 8, 16, 32, 60, 60):
        assert f"in {wait_s} s" in (gate.refusal(request("token=wrong")) or ""), "what comes meanwhile is not looked at"
        assert f"in {wait_s} s" in (gate.refusal(request("token=right")) or "")
        assert gate.refusal(request("token=right", client=("10.0.0.2", 5))) is None
        clock.now += wait_s
        assert "the token is wrong" in (gate.refusal(request("token=wrong")) or "")
    clock.now += 60
    assert gate.refusal(request("token=right")) is None


def test_many_tokens_in_one_request_are_as_many_guesses() -> None:
    gate = Clock().gate(token="right")
    guesses = ", ".join(f"{KEY_SUBPROTOCOL}{number}" for number in range(100))
    assert gate.refusal(request(sec_websocket_protocol=f"{guesses}, {KEY_SUBPROTOCOL}right")) is not None
    for number in range(FREE_TRIES // 2):
        gate.refusal(request(f"token=wrong{number}&key=bad{number}"))
    assert "too many wrong tokens" in (gate.refusal(request("token=right")) or "")


def test_a_client_without_a_token_guesses_nothing() -> None:
    gate = Clock().gate(token="right")
    for _ in range(50):
        assert "no token was given" in (gate.refusal(request(cookie=f"{COOKIE}=page_9")) or "")
    assert gate.refusal(request("token=right")) is None


def test_the_cookie_is_no_token_and_ends_a_day_after_its_last_use() -> None:
    """A page that has its session is not slowed by a guesser at its address."""
    clock = Clock()
    gate = clock.gate(token="right")
    assert gate.page_session(request("token=wrong")) is None
    session = gate.page_session(request("token=right"))
    assert session is not None
    assert "right" not in session
    with_cookie = request(cookie=f"{COOKIE}={session}")
    assert gate.page_session(with_cookie) is None, "it has one"
    for _ in range(20):
        gate.refusal(request("token=wrong"))
    assert gate.refusal(with_cookie) is None
    assert gate.refusal(request("token=wrong", cookie=f"{COOKIE}={session}")) is None
    for _ in range(3):
        clock.now += 80_000
        assert gate.refusal(with_cookie) is None
    clock.now += 90_000
    assert gate.refusal(with_cookie) is not None
    assert clock.gate().page_session(request("token=right")) is None, "nothing is asked for"


def test_wrong_tokens_and_sessions_fill_no_memory() -> None:
    wrong = WrongTokens(max_addresses=3)
    sessions = PageSessions(Runtime().new_id, max_sessions=3)
    opened = [sessions.open(0.0) for _ in range(9)]
    for number in range(9):
        for _ in range(12):
            wrong.count(f"10.0.0.{number}", 0.0)
    assert (len(wrong), len(sessions)) == (3, 3)
    assert [wrong.wait_s(f"10.0.0.{number}", 0.0) > 0 for number in range(9)] == [False] * 6 + [True] * 3
    assert [sessions.is_open(one, 0.0) for one in opened] == [False] * 6 + [True] * 3


def test_tls_may_end_at_a_trusted_proxy() -> None:
    for proto, secure in (("https", True), ("http, https", True), ("https, http", False), ("", False)):
        shown = request(x_forwarded_proto=proto) if proto else request()
        assert Gate(ServerSettings(trust_forwarded=True)).is_secure(shown) is secure
    assert not Gate(ServerSettings()).is_secure(request(x_forwarded_proto="https"))


def test_the_address_is_the_peer_unless_a_proxy_is_trusted() -> None:
    forwarded = request(x_forwarded_for="6.6.6.6, 10.9.8.7")
    assert Gate(ServerSettings()).address(forwarded) == "10.0.0.1"
    assert Gate(ServerSettings(trust_forwarded=True)).address(forwarded) == "10.9.8.7"
    assert Gate(ServerSettings(trust_forwarded=True)).address(request()) == "10.0.0.1"
    two_lines = request(x_forwarded_for="6.6.6.6")
    two_lines.scope["headers"].append((b"x-forwarded-for", b"10.9.8.7"))
    assert Gate(ServerSettings(trust_forwarded=True)).address(two_lines) == "10.9.8.7", "a proxy adds below"
    assert Gate(ServerSettings()).address(request(client=None)) == "local"
    line = request(x_forwarded_for="[2001:db8:1:2::7]:40001")
    assert Gate(ServerSettings(trust_forwarded=True)).address(line) == "2001:db8:1:2::/64", "a line has many addresses"
    assert Gate(ServerSettings()).address(request(client=("2001:db8:1:2::9", 5))) == "2001:db8:1:2::/64"


def test_a_token_that_no_header_can_carry_is_a_mistake_and_the_token_is_never_shown() -> None:
    for token, why in (("пароль", "ASCII"), ("two\nlines", "ASCII"), ("", "the token is empty")):
        with pytest.raises(ValueError, match=why):
            ServerSettings(token=token)
    assert "secret" not in repr(ServerSettings(token="secret"))


async def test_a_socket_without_the_token_is_told_why_in_its_close_frame(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(settings=ServerSettings(token="secret", drain_s=0)) as place:
        for path in ("/ws/u/s", "/ws/u/s?token=wrong"):
            async with place.client(path) as client:
                code, reason = await client.closed()
                assert (code, client.events) == (1008, [])
                assert "--token" in reason
        assert "no token was given" in caplog.text
        assert "the token is wrong" in caplog.text
        async with place.client("/ws/u/s?token=secret") as client:
            await client.make_call()
        async with place.client("/ws/u/s", additional_headers={"Authorization": "Bearer secret"}) as client:
            await client.make_call()


async def test_the_page_with_the_token_sets_a_cookie_that_opens_the_socket() -> None:
    async with serving(settings=ServerSettings(token="secret", drain_s=0)) as place:
        assert "set-cookie" not in (await place.get("/")).headers
        assert "set-cookie" not in (await place.get("/?token=wrong")).headers
        cookie = (await place.get("/?token=secret")).headers["set-cookie"]
        assert {"HttpOnly", "SameSite=strict"} <= set(cookie.split("; "))
        assert "secret" not in cookie
        named = {"Cookie": cookie.split(";")[0], "Origin": place.url}
        async with place.client("/ws/u/s", additional_headers=named) as client:
            await client.make_call()


async def test_what_the_server_says_of_itself_needs_the_token_too() -> None:
    async with serving(settings=ServerSettings(token="secret", drain_s=0)) as place:
        for path in ("/api/info", "/api/models", "/api/check-models", "/model_availability"):
            assert (await place.get(path)).status == 401
            assert (await place.get(f"{path}?token=secret")).status == 200
        assert (await place.get("/healthz")).status == 200


async def test_a_page_elsewhere_cannot_open_a_socket(caplog: pytest.LogCaptureFixture) -> None:
    """Of ours and of other services' protocols."""
    async with serving() as place:
        for path in ("/ws/user1/session1", *PATHS):
            async with place.client(path, origin="http://evil.example", subprotocols=()) as client:
                code, reason = await client.closed()
                assert (code, client.events) == (1008, []), path
                assert "'http://evil.example'" in reason, path
                assert "--allow-origin" in reason, path
        assert "http://evil.example" in caplog.text
        async with place.client(origin=place.url) as client:
            await client.make_call()


async def test_calls_go_over_a_self_signed_certificate(tmp_path: Path) -> None:
    files = self_signed(tmp_path)
    trusting = ssl.create_default_context(cafile=str(files.certificate))
    async with serving(tls=files) as place, place.client(ssl=trusting) as client:
        assert place.url.startswith("https://")
        await client.make_call()
        assert (await place.get("/healthz", trusting=trusting)).json() == {"status": "ok"}


BEHIND_TLS = {"X_Forwarded_Proto": "https"}


async def test_behind_a_proxy_with_tls_the_cookie_is_secure_and_browsers_stay_with_tls() -> None:
    settings = ServerSettings(token="secret", trust_forwarded=True, drain_s=0)
    async with serving(settings=settings) as place:
        secure = (await place.get("/?token=secret", **BEHIND_TLS)).headers
        assert "Secure" in secure["set-cookie"].split("; ")
        assert secure["strict-transport-security"].startswith("max-age=")
        plain = (await place.get("/?token=secret")).headers
        assert "Secure" not in plain["set-cookie"].split("; ")
        assert "strict-transport-security" not in plain
    async with serving(settings=ServerSettings(drain_s=0)) as place:
        assert "strict-transport-security" not in (await place.get("/", **BEHIND_TLS)).headers, "an untrusted proxy"


async def test_the_page_connects_to_its_own_server_and_to_those_that_are_named() -> None:
    def sources(policy: str) -> str:
        return next(one for one in policy.split("; ") if one.startswith("connect-src"))

    async with serving() as place:
        assert sources((await place.get("/")).headers["content-security-policy"]) == "connect-src 'self'"
    async with serving(settings=ServerSettings(connect_origins=("wss://voice.example",), drain_s=0)) as place:
        policy = (await place.get("/")).headers["content-security-policy"]
        assert sources(policy) == "connect-src 'self' wss://voice.example"
    with pytest.raises(ValueError, match="connect_origins"):
        ServerSettings(connect_origins=("'unsafe-inline'; script-src *",))
