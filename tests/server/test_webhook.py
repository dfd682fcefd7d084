"""Signed requests to an address of the owner's: what is sent, what is refused, and every wrong answer."""

import base64
import hashlib
import hmac
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest

from realtime.errors import UsageError
from realtime.server.tls import self_signed
from realtime.server.webhook import SECRET, Webhook, WebhookFailed, secret_in, signature
from tests.server.receivers import Answer, receiving, says, status, then_hangs

KEY = bytes(range(32))
BODY = b'{"type": "call.record"}'
NOW_S = 1_767_225_600.9
PATIENT_S = 60.0
HASTY_S = 0.2


def test_a_signature_is_that_of_the_standards_example() -> None:
    """The example of the reference implementation's documents."""
    secret = base64.b64decode("plJ3nmyCDGBKInavdOK15jsl")
    body = b'{"event_type":"ping","data":{"success":true}}'
    told = signature(secret, "msg_loFOjxBNrRLzqYUf", 1731705121, body)
    assert told == "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0="


async def test_a_message_is_posted_with_its_id_its_time_and_its_signature() -> None:
    async with receiving(status(204)) as receiver:
        assert await Webhook(receiver.url, KEY).post("call_1-7", BODY, NOW_S) == 204
    (got,) = receiver.got
    assert (got.line, got.body) == ("POST /records?key=k3y HTTP/1.1", BODY)
    assert got.headers["content-type"] == "application/json"
    assert got.headers["host"] == receiver.url.split("/")[2]
    assert (got.headers["webhook-id"], got.headers["webhook-timestamp"]) == ("call_1-7", "1767225600")
    signed = hmac.new(KEY, b"call_1-7.1767225600." + got.body, hashlib.sha256).digest()
    assert got.headers["webhook-signature"] == "v1," + base64.b64encode(signed).decode()


HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 10000000000\r\n\r\n"
INTERIM = b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"
ANSWERS: list[tuple[str, Answer, int | str]] = [
    # what the receiver does, the status that counts or a word of why there is none
    ("refuses", status(500), 500),
    ("redirects to a private address", status(302, "location: http://169.254.169.254/latest"), 302),
    ("never ends its answer", then_hangs(HEAD, b"x" * 100_000), 200),
    ("closes in the middle of its answer", says(HEAD, b"x"), 200),
    ("sends interim answers", says(INTERIM, INTERIM, b"HTTP/1.1 204 No Content\r\n\r\n"), 204),
    ("knows HTTP/1.0 only", says(b"HTTP/1.0 202 Accepted\r\n\r\n"), 202),
    ("closes without an answer", says(b""), "did not answer in HTTP"),
    ("closes in the middle of the status", says(b"HTTP/1.1 2"), "did not answer in HTTP"),
    ("speaks something else", says(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), "did not answer in HTTP"),
    ("has an endless head", says(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 100_000), "did not answer in HTTP"),
    ("hangs", then_hangs(), "within 0.2 s"),
    ("hangs in the middle of the head", then_hangs(b"HTTP/1.1 200 OK\r\nx: "), "within 0.2 s"),
    ("sends interim answers without end", says(INTERIM * 100, repeated=1_000_000), "within 0.2 s"),
]


@pytest.mark.parametrize(("answer", "told"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS])
async def test_of_any_answer_the_status_counts_and_nothing_waits_for_the_rest(answer: Answer, told: int | str) -> None:
    async with receiving(answer) as receiver:
        webhook = Webhook(receiver.url, KEY, timeout_s=HASTY_S if told == "within 0.2 s" else PATIENT_S)
        if isinstance(told, int):
            assert await webhook.post("m", BODY, NOW_S) == told
        else:
            with pytest.raises(WebhookFailed, match=told) as failed:
                await webhook.post("m", BODY, NOW_S)
            assert "k3y" not in failed.value.message
        assert len(receiver.got) == 1


async def test_a_redirect_is_not_followed() -> None:
    async with receiving(status(200)) as there, receiving(status(307, f"location: {there.url}")) as receiver:
        assert await Webhook(receiver.url, KEY).post("m", BODY, NOW_S) == 307
        assert there.got == []


async def test_a_receiver_whose_certificate_no_one_vouches_for_gets_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    files = self_signed()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(files.certificate, files.key)
    async with receiving(status(200), tls=tls) as receiver:
        with pytest.raises(WebhookFailed, match="certificate"):
            await Webhook(receiver.url, KEY).post("m", BODY, NOW_S)
        assert receiver.got == []


async def test_no_one_listens() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        with pytest.raises(WebhookFailed, match="cannot be reached"):
            await Webhook(f"http://localhost:{port}/", KEY).post("m", BODY, NOW_S)


@pytest.mark.parametrize(
    ("leads_to", "allowed", "why"),
    [
        ("10.0.0.8", [], "private address"),
        ("169.254.169.254", [], "private address"),
        ("127.0.0.1", [], "private address"),
        ("::ffff:127.0.0.1", [], "private address"),
        ("224.0.0.1", [], "private address"),
        ("127.0.0.1", ["10.0.0.8"], "private address"),
        ("127.0.0.1", ["127.0.0.1:443"], "private address"),
        ("127.0.0.1", ["127.0.0.1"], "cannot be reached"),
    ],
)
async def test_a_public_name_that_leads_to_a_private_address_is_dialled_only_where_that_is_allowed(
    leads_to: str, allowed: list[str], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        family = socket.AF_INET6 if ":" in leads_to else socket.AF_INET

        def found(host: str, *args: Any, **more: Any) -> list[Any]:
            return [(family, socket.SOCK_STREAM, 6, "", (leads_to, port))]

        monkeypatch.setattr(socket, "getaddrinfo", found)
        with pytest.raises(WebhookFailed, match=why):
            await Webhook(f"https://crm.example.org:{port}/", KEY, addresses=allowed).post("m", BODY, NOW_S)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://crm.example.org/records", "https"),
        ("http://10.0.0.8/records", "https"),
        ("ftp://crm.example.org", "https"),
        ("https://user:pass@crm.example.org/", "user or a password"),
        ("https://", "address"),
        ("", "address"),
        ("https://crm.example.org/réc", "ASCII"),
        ("https://crm.example.org:0/", "address"),
        (f"https://{'a' * 64}.example.org/", "host"),
    ],
)
def test_an_address_that_cannot_be_is_refused_when_the_server_is_made(url: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        Webhook(url, KEY)


@pytest.mark.parametrize("written", ["", "whsec_", "secret", "whsec_" + "A" * 20, "whsec_" + "A" * 200, "whsec_ä"])
def test_a_weak_or_missing_secret_is_refused_and_not_repeated(written: str) -> None:
    with pytest.raises(UsageError, match=f"secret in {SECRET}") as refused:
        secret_in({SECRET: written})
    assert len(written) < 8 or written not in refused.value.message


@pytest.mark.parametrize("prefix", ["whsec_", "", " whsec_"])
def test_a_secret_is_taken_as_it_is_pasted(prefix: str) -> None:
    assert secret_in({SECRET: prefix + base64.b64encode(KEY).decode() + "\n"}) == KEY
    assert "AAEC" not in repr(Webhook("https://crm.example.org/?key=1", KEY))
