"""A self-signed certificate: browsers give no microphone to a page over plain HTTP."""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
import socket
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from realtime.server.folders import cache_folder
from realtime.server.runner import TlsFiles, lan_addresses

VALID_DAYS = 397
"""Browsers reject certificates that are valid for longer."""
RENEW_DAYS = 7


def self_signed(
    folder: Path | None = None, names: Sequence[str] | None = None, *, now: dt.datetime | None = None
) -> TlsFiles:
    """Return a stored self-signed certificate for `names`, or make one.

    `names` None: localhost, this host's name and its addresses. It is made again where it expires within a week or
    lacks a name. Only its owner can read the key.
    """
    folder = folder or cache_folder() / "tls"
    wanted = list(dict.fromkeys(names if names is not None else own_names()))
    files = TlsFiles(folder / "self-signed.crt", folder / "self-signed.key")
    now = now or dt.datetime.now(dt.UTC)
    if not _serves(files, wanted, now):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _make(files, wanted, now)
    return files


def own_names() -> list[str]:
    """Return this machine's names: loopback, its host name, its addresses."""
    name = socket.gethostname()
    # Names in a certificate are ASCII; a machine with another name is reached by its addresses.
    return ["localhost", "127.0.0.1", "::1", *([name] if name.isascii() else []), *lan_addresses()]


def _serves(files: TlsFiles, names: Sequence[str], now: dt.datetime) -> bool:
    try:
        certificate = x509.load_pem_x509_certificate(files.certificate.read_bytes())
        key = serialization.load_pem_private_key(files.key.read_bytes(), password=None)
        listed = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, TypeError, x509.ExtensionNotFound):
        return False
    return (
        certificate.public_key() == key.public_key()
        and certificate.not_valid_after_utc > now + dt.timedelta(days=RENEW_DAYS)
        and {_general(name) for name in names} <= set(listed)
    )


def _make(files: TlsFiles, names: Sequence[str], now: dt.datetime) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "realtime (self-signed)")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=VALID_DAYS - 1))
        .add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    files.key.unlink(missing_ok=True)
    # Created with its final mode, so that others can read it at no moment.
    with os.fdopen(os.open(files.key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(pem)
    files.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
