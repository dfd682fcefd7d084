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
from tests.server.harness import serving


def request(query: str = "", client: tuple[str, int] | None = ("10.0.0.1", 5), **headers: str) -> HTTPConnection:
    pairs = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    scope = {"type": "websocket", "headers": pairs, "query_string": query.encode(), "path": "/", "client": client}
    return HTTPConnection(scope)


@pytest.mark.parametrize(
    ("shown", "refusal"),
    [
        (request("token=secret"), None),
        (request(authorization="Bearer secret"), None),
        (request(authorization="bearer  secret "), None),
        (request(x_goog_api_key="secret"), None),
        (request("key=secret"), None),
        (request("key=wrong"), "the token is wrong"),
        (request(cookie=f"{COOKIE}=secret"), "no token was given"),
        (request(), "no token was given"),
        (request("token="), "no token was given"),
        (request("token=wrong"), "the token is wrong"),
        (request("token=secre"), "the token is wrong"),
        (request(authorization="Basic secret"), "no token was given"),
        (request("token=%ff%fe"), "the token is wrong"),
    ],
)
def test_the_token_is_taken_from_query_or_header_and_a_refusal_names_the_option(
    shown: HTTPConnection, refusal: str | None
) -> None:
    told = Gate(ServerSettings(token="secret")).refusal(shown)
    if refusal is None:
        assert told is None
    else:
        assert told is not None
        assert told.startswith(refusal)
        assert "--token" in told


@pytest.mark.parametrize(
    ("asked", "developer"),
    [
        (request(client=("127.0.0.1", 5), host="localhost:8000"), True),
        (request(client=("::1", 5), host="[::1]:8000"), True),
        (request(client=("10.0.0.1", 5), host="localhost:8000"), False),
        (request(client=("127.0.0.1", 5), host="voice.example"), False),
        (request(client=("127.0.0.1", 5), host="localhost", x_forwarded_for="10.0.0.1"), False),
        (request(client=("127.0.0.1", 5), host="localhost", via="1.1 proxy"), False),
        (request(client=("127.0.0.1", 5), host="[oh"), False),
        (request(client=("unix", 5), host="localhost"), False),
        (request(client=None, host="localhost"), False),
    ],
)
def test_a_developer_is_on_this_machine_and_behind_no_proxy(asked: HTTPConnection, developer: bool) -> None:
    assert Gate(ServerSettings()).is_developer(asked) is developer


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
    gate.refusal(request("token=wrong"))
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


def test_a_slowed_client_reads_the_wait_in_the_http_response() -> None:
    gate = Clock().gate(token="right")
    for _ in range(10):
        refused = gate.http_refusal(request("token=wrong"))
        assert refused is not None
        assert refused.status_code == 401
    refused = gate.http_refusal(request("token=right"))
    assert refused is not None
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")


def test_a_page_that_has_its_session_is_not_slowed_by_a_guesser_at_its_address() -> None:
    gate = Clock().gate(token="right")
    session = gate.page_session(request("token=right"))
    for _ in range(20):
        gate.refusal(request("token=wrong"))
    assert gate.refusal(request(cookie=f"{COOKIE}={session}")) is None
    assert gate.refusal(request("token=wrong", cookie=f"{COOKIE}={session}")) is None


def test_a_client_without_a_token_guesses_nothing() -> None:
    gate = Clock().gate(token="right")
    for _ in range(50):
        assert "no token was given" in (gate.refusal(request(cookie=f"{COOKIE}=page_9")) or "")
    assert gate.refusal(request("token=right")) is None


def test_the_cookie_is_no_token_and_ends_a_day_after_its_last_use() -> None:
    clock = Clock()
    gate = clock.gate(token="right")
    assert gate.page_session(request("token=wrong")) is None
    session = gate.page_session(request("token=right"))
    assert session is not None
    assert "right" not in session
    with_cookie = request(cookie=f"{COOKIE}={session}")
    assert gate.page_session(with_cookie) is None, "it has one"
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


@pytest.mark.parametrize(
    ("trusted", "headers", "secure"),
    [
        (True, {"x_forwarded_proto": "https"}, True),
        (True, {"x_forwarded_proto": "http, https"}, True),
        (True, {"x_forwarded_proto": "https, http"}, False),
        (True, {}, False),
        (False, {"x_forwarded_proto": "https"}, False),
    ],
)
def test_tls_may_end_at_a_trusted_proxy(trusted: bool, headers: dict[str, str], secure: bool) -> None:
    assert Gate(ServerSettings(trust_forwarded=trusted)).is_secure(request(**headers)) is secure


@pytest.mark.parametrize(
    ("origin", "host", "allowed"),
    [
        ("http://voice.example:8000", "voice.example:8000", True),
        ("https://voice.example", "voice.example", True),
        ("https://voice.example:443", "voice.example", True),
        ("https://VOICE.example", "voice.example", True),
        ("http://voice.example:8000", "voice.example:8001", False),
        ("http://voice.example", "voice.example:8000", False),
        ("http://evil.example", "voice.example", False),
        ("http://voice.example.evil.example", "voice.example", False),
        ("null", "voice.example", False),
        ("http://voice.example:port", "voice.example:port", False),
        ("file://", "voice.example", False),
        ("https://friend.example", "voice.example", True),
    ],
)
def test_a_page_has_to_be_of_this_host_or_be_allowed(origin: str, host: str, allowed: bool) -> None:
    gate = Gate(ServerSettings(allowed_origins=("https://friend.example/",)))
    assert (gate.refusal(request(origin=origin, host=host)) is None) is allowed


def test_a_program_names_no_page_and_is_let_in() -> None:
    assert Gate(ServerSettings()).refusal(request(host="127.0.0.1:8000")) is None


def test_a_page_that_made_its_name_point_here_is_kept_out_of_loopback() -> None:
    gate = Gate(ServerSettings(hosts=LOOPBACK_HOSTS))
    assert gate.refusal(request(origin="http://evil.example:8000", host="evil.example:8000")) is not None
    assert gate.refusal(request(origin="http://localhost:8000", host="localhost:8000")) is None
    assert gate.refusal(request(origin="http://[::1]:8000", host="[::1]:8000")) is None


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("localhost:8000", True),
        ("127.0.0.1:8000", True),
        ("[::1]:8000", True),
        ("voice.example", True),
        ("evil.example:8000", False),
        ("[::1", False),
        ("", False),
    ],
)
def test_such_a_page_reads_nothing_either_though_its_own_requests_name_no_page(host: str, allowed: bool) -> None:
    """Behind a proxy the name of an allowed page is one of ours."""
    gate = Gate(ServerSettings(hosts=LOOPBACK_HOSTS, allowed_origins=("https://voice.example",)))
    fetched = request(host=host)
    fetched.scope["type"] = "http"
    assert (gate.refusal(fetched) is None) is allowed


def test_an_origin_that_is_no_address_is_refused() -> None:
    assert Gate(ServerSettings()).refusal(request(origin="http://[::1", host="localhost:8000")) is not None


def test_every_page_may_be_allowed() -> None:
    assert Gate(ServerSettings(allowed_origins=("*",))).refusal(request(origin="http://x.example", host="y")) is None


def test_the_address_is_the_peer_unless_a_proxy_is_trusted() -> None:
    forwarded = request(x_forwarded_for="6.6.6.6, 10.9.8.7")
    assert Gate(ServerSettings()).address(forwarded) == "10.0.0.1"
    assert Gate(ServerSettings(trust_forwarded=True)).address(forwarded) == "10.9.8.7"
    assert Gate(ServerSettings(trust_forwarded=True)).address(request()) == "10.0.0.1"
    two_lines = request(x_forwarded_for="6.6.6.6")
    two_lines.scope["headers"].append((b"x-forwarded-for", b"10.9.8.7"))
    assert Gate(ServerSettings(trust_forwarded=True)).address(two_lines) == "10.9.8.7", "a proxy adds below"
    assert Gate(ServerSettings()).address(request(client=None)) == "local"


@pytest.mark.parametrize(
    ("told", "counted"),
    [
        ("203.0.113.9:40001", "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::7]:40001", "2001:db8:1:2::/64"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("unknown", "unknown"),
    ],
)
def test_a_line_counts_as_one_whatever_address_of_it_is_used(told: str, counted: str) -> None:
    forwarded = request(x_forwarded_for=told)
    assert Gate(ServerSettings(trust_forwarded=True)).address(forwarded) == counted


def test_a_token_that_no_header_can_carry_is_refused_at_once() -> None:
    for token in ("пароль", "two\nlines"):
        with pytest.raises(ValueError, match="ASCII"):
            ServerSettings(token=token)


def test_an_empty_token_is_a_mistake_and_the_token_is_never_shown() -> None:
    with pytest.raises(ValueError, match="the token is empty"):
        ServerSettings(token="")
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


@pytest.mark.parametrize("path", ["/api/info", "/api/models", "/api/check-models", "/model_availability"])
async def test_what_the_server_says_of_itself_needs_the_token_too(path: str) -> None:
    async with serving(settings=ServerSettings(token="secret", drain_s=0)) as place:
        assert (await place.get(path)).status == 401
        assert (await place.get(f"{path}?token=secret")).status == 200
        assert (await place.get("/healthz")).status == 200


async def test_a_page_elsewhere_cannot_open_a_socket(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as place:
        async with place.client(origin="http://evil.example") as client:
            code, reason = await client.closed()
            assert (code, client.events) == (1008, [])
            assert "'http://evil.example'" in reason
            assert "--allow-origin" in reason
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


async def test_a_proxy_that_is_not_trusted_does_not_speak_for_tls() -> None:
    async with serving(settings=ServerSettings(drain_s=0)) as place:
        assert "strict-transport-security" not in (await place.get("/", **BEHIND_TLS)).headers


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
