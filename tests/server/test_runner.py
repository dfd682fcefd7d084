"""Running a server: ports, addresses, tokens, certificates, and how signals end it."""

import asyncio
import datetime as dt
import socket
import ssl
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509

from realtime.errors import UsageError
from realtime.model.credentials import is_loopback
from realtime.server import folders, runner
from realtime.server import tls as tls_module
from realtime.server.settings import ServerSettings
from realtime.server.tls import self_signed
from tests.server.harness import serving
from tests.server.hosted import come_in, hosting, rooms_of

TOKEN = "sixteen-letters!"


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that another program listens on."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def test_a_taken_port_is_named_and_the_next_free_one_used_unless_only_that_one_will_do(taken: int) -> None:
    """Port 0 is any free one."""
    said: list[str] = []
    with runner.open_socket("127.0.0.1", taken, strict=False, say=said.append) as bound:
        port = bound.getsockname()[1]
        assert taken < port <= taken + runner.PORTS_TO_TRY
        assert said == [f"Port {taken} is taken by another program; using {port}."]
    with pytest.raises(UsageError, match=f"port {taken} is taken") as refused:
        runner.open_socket("127.0.0.1", taken, strict=True, say=lambda _: None)
    assert refused.value.code == "port_taken"
    with runner.open_socket("127.0.0.1", 0, strict=False, say=said.append) as bound:
        assert bound.getsockname()[1] > 0
    assert len(said) == 1


@pytest.mark.parametrize(("host", "code"), [("no.such.host.invalid", "unknown_host"), ("192.0.2.7", "no_port")])
def test_a_host_that_cannot_be_had_is_one_sentence(host: str, code: str) -> None:
    with pytest.raises(UsageError, match=host) as refused:
        runner.open_socket(host, 0, strict=False, say=lambda _: None)
    assert refused.value.code == code


def test_which_hosts_are_loopback() -> None:
    for host in ("127.0.0.1", "127.9.9.9", "localhost", "::1"):
        assert is_loopback(host), host
    for host in ("0.0.0.0", "::", "192.168.1.5", "voice.example", *runner.lan_addresses()):
        assert not is_loopback(host), host


ANYWHERE, HERE = "0.0.0.0", "127.0.0.1"


@pytest.mark.parametrize(("host", "behind_proxy"), [(ANYWHERE, False), (HERE, True)])
def test_where_other_machines_can_reach_the_server_a_long_token_is_needed(host: str, behind_proxy: bool) -> None:
    def token(given: str | None, *, insecure: bool = False) -> str | None:
        return runner.token_for(host, given, insecure=insecure, behind_proxy=behind_proxy).value

    why = "a proxy makes the server reachable from other machines" if behind_proxy else "--token auto"
    with pytest.raises(UsageError, match=why) as refused:
        token(None)
    assert behind_proxy or "at your cost" in refused.value.message
    for insecure in (False, True):
        with pytest.raises(UsageError, match="at least 16 characters") as refused:
            token(TOKEN[:15], insecure=insecure)
        assert TOKEN[:15] not in refused.value.message
    assert token(None, insecure=True) is None
    assert token(TOKEN) == TOKEN


def test_on_loopback_any_token_will_do_but_an_empty_one() -> None:
    for insecure in (False, True):
        assert runner.token_for(HERE, "mine", insecure=insecure).value == "mine"
    assert runner.token_for(HERE, None, insecure=False).value is None
    with pytest.raises(UsageError, match="the token is empty"):
        runner.token_for(HERE, "", insecure=True)


def test_a_token_comes_from_the_option_a_file_or_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("of the file\n")
    environ = {"REALTIME_TOKEN": "of the environment"}
    assert runner.given_token("of the option", None, environ) == "of the option"
    assert runner.given_token(None, file, environ) == "of the file"
    assert runner.given_token(None, None, environ) == "of the environment"
    assert runner.given_token(None, None, {}) is None
    with pytest.raises(UsageError, match="--token and --token-file exclude each other"):
        runner.given_token("mine", file, {})
    with pytest.raises(UsageError, match=r"--token-file .* cannot be read: No such file"):
        runner.given_token(None, tmp_path / "none", environ)
    with pytest.raises(UsageError, match="one line of ASCII"):
        runner.token_for("127.0.0.1", "two\nlines", insecure=False)


def test_an_automatic_token_is_long_and_new_each_time_and_only_it_is_to_be_shown() -> None:
    made = [runner.token_for(ANYWHERE, "auto", insecure=False) for _ in range(50)]
    assert len({token.value for token in made}) == 50
    assert all(len(token.value or "") >= 24 and token.is_made_here for token in made)
    given = runner.token_for(ANYWHERE, TOKEN, insecure=False)
    assert not given.is_made_here
    assert TOKEN not in repr(given)


def test_the_address_carries_scheme_and_token_and_names_an_interface_that_can_be_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with runner.open_socket(HERE, 0, strict=False, say=lambda _: None) as bound:
        port = bound.getsockname()[1]
        assert runner.address_of(bound, HERE, tls=False, token=None) == f"http://127.0.0.1:{port}"
        assert runner.address_of(bound, "::1", tls=True, token="a/b&c") == f"https://[::1]:{port}/?token=a%2Fb%26c"
        monkeypatch.setattr(runner, "lan_addresses", lambda: ["192.168.1.5", "10.0.0.1"])
        assert runner.address_of(bound, ANYWHERE, tls=True, token=None).startswith("https://192.168.1.5:")
        monkeypatch.setattr(runner, "lan_addresses", list)
        assert runner.address_of(bound, ANYWHERE, tls=False, token=None).startswith("http://localhost:")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has TCP_USER_TIMEOUT")
def test_accepted_connections_do_not_wait_for_ever_for_a_peer_that_takes_nothing() -> None:
    with (
        runner.open_socket("127.0.0.1", 0, strict=False, say=lambda _: None) as bound,
        socket.create_connection(bound.getsockname()),
        bound.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == runner.STALLED_MS


# -- certificates ------------------------------------------------------------------------------------------------------


def test_a_self_signed_certificate_names_this_machine_and_hides_its_key(tmp_path: Path) -> None:
    files = self_signed(tmp_path / "tls", ["localhost", "box.local", "127.0.0.1", "192.168.1.5", "::1"])
    certificate = x509.load_pem_x509_certificate(files.certificate.read_bytes())
    listed = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert listed.get_values_for_type(x509.DNSName) == ["localhost", "box.local"]
    assert [str(one) for one in listed.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "192.168.1.5", "::1"]
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(files.certificate, files.key)
    if sys.platform != "win32":
        assert stat.S_IMODE(files.key.stat().st_mode) == 0o600


def test_a_machine_with_a_name_that_no_certificate_can_hold_gets_one_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "größe")
    assert self_signed(tmp_path).certificate.is_file()


def test_a_certificate_is_kept_until_it_runs_out_or_lacks_a_name(tmp_path: Path) -> None:
    made = self_signed(tmp_path, ["localhost"]).certificate.read_bytes()
    assert self_signed(tmp_path, ["localhost"]).certificate.read_bytes() == made
    more = self_signed(tmp_path, ["localhost", "box.local"]).certificate.read_bytes()
    assert more != made
    assert self_signed(tmp_path, ["localhost"]).certificate.read_bytes() == more

    later = dt.datetime.now(dt.UTC) + dt.timedelta(days=tls_module.VALID_DAYS - 3)
    assert self_signed(tmp_path, ["localhost"], now=later).certificate.read_bytes() != more


@pytest.mark.parametrize("broken", ["certificate", "key"])
def test_a_broken_file_is_made_anew(tmp_path: Path, broken: str) -> None:
    files = self_signed(tmp_path, ["localhost"])
    getattr(files, broken).write_text("nonsense")
    files = self_signed(tmp_path, ["localhost"])
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(files.certificate, files.key)


def test_cache_and_calls_lie_where_the_users_own_data_does(monkeypatch: pytest.MonkeyPatch) -> None:
    home, mac = Path.home(), Path.home() / "Library"
    for found, variable, linux, darwin in (
        (folders.cache_folder, "XDG_CACHE_HOME", home / ".cache", mac / "Caches"),
        (folders.data_folder, "XDG_DATA_HOME", home / ".local" / "share", mac / "Application Support"),
    ):
        monkeypatch.setattr(folders.sys, "platform", "linux")
        monkeypatch.setenv(variable, "/somewhere")
        assert found() == Path("/somewhere/realtime")
        monkeypatch.delenv(variable)
        assert found() == linux / "realtime"
        monkeypatch.setattr(folders.sys, "platform", "darwin")
        assert found() == darwin / "realtime"
    monkeypatch.setattr(folders.sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert folders.cache_folder() == Path("/local/realtime")


# -- the end -----------------------------------------------------------------------------------------------------------


async def test_a_second_signal_ends_the_calls_at_once() -> None:
    async with serving(settings=ServerSettings(drain_s=60)) as place, place.client() as client:
        await client.make_call()
        place.server.handle_exit(2, None)
        await client.until("server_goodbye")
        place.server.handle_exit(2, None)
        assert (await client.until("server_session_ended"))["reason"] == "shutdown"
        assert (await client.closed())[0] == 1012


async def test_agents_leave_their_rooms_where_somebody_asks_again_and_again_as_well(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """None is left to the end of the loop, which would be told as the loss of its model."""
    async with hosting(rooms_of(), ServerSettings(drain_s=60)) as place, place.client("/rooms/tea/ws?name=Ann") as ann:
        await come_in(ann)
        for _ in range(2):
            place.server.handle_exit(2, None)
        assert place.server.force_exit
        await ann.until("server_goodbye")
        place.server.handle_exit(2, None)
        assert (await ann.closed())[0] == 1012
    assert [record.getMessage() for record in caplog.records if record.name.startswith("realtime.")] == []
    assert [task for task in asyncio.all_tasks() if task.get_name().startswith("agent ")] == []


async def test_sockets_without_a_call_are_closed_when_the_server_stops() -> None:
    async with serving() as place, place.client() as client:
        place.server.handle_exit(15, None)
        assert (await client.closed())[0] == 1012
