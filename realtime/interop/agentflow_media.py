"""Content that Agentflow refers to by a `MediaRef`: at an address, at a provider, or inline as base64."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

import pybase64

from realtime.interop.table import Json, Options, Read, an_object, word
from realtime.message.older import media_type_of

FILE = "agentflow://file/"
"""Begins the URL that stands for a `file_id`: only the provider that issued the id can resolve it."""
_DOCUMENTS = ("text", "application/pdf", "application/msword", "application/rtf", "application/vnd.")


def media_of(kind: str) -> Read:
    """Return the reader of a `MediaRef` of this kind, such as `image`."""

    def read(value: Any, options: Options) -> Json:
        media = an_object(value, options)
        given = media.get("mime_type")
        url, file_id, data = (media.get(name) for name in ("url", "file_id", "data_base64"))
        match word(media.get("kind")), url, file_id, data:
            case ("data", _, _, str(encoded)) | (None | "url", None, None, str(encoded)):
                encoded = base64_of(encoded)
                guess = media_type_of(encoded=encoded, kind=kind)
                return {"type": "base64", "data": encoded, "media_type": _text_or(given, guess)}
            case ("file_id", _, str(name), _) | (None | "url", None, str(name), _):
                guess = media_type_of(url=str(media.get("filename") or name), kind=kind)
                return {"type": "url", "url": FILE + quote(name, safe=""), "media_type": _text_or(given, guess)}
            case None | "url", str(url), _, _:
                url = quote(url.strip(), safe=_IN_URLS)
                return {"type": "url", "url": url, "media_type": _text_or(given, media_type_of(url=url, kind=kind))}
            case None | "url" | "file_id" | "data" as name, _, _, _:
                raise ValueError(f"is of the kind {name or 'url'}, but has no {_HOLDERS[name or 'url']}")
        raise ValueError(f"has the kind {str(media.get('kind'))[:64]!r}, not url, file_id or data")

    return read


_FIELDS = (
    *("kind", "url", "file_id", "data_base64", "mime_type", "size_bytes", "sha256", "filename"),
    *("width", "height", "duration_ms", "page"),
)
_HOLDERS = {"url": "url", "file_id": "file_id", "data": "data_base64"}
_IN_URLS = "%-._~:/?#[]@!$&'()*+,;="
"""What stays as it is in the address that a person wrote; the rest is escaped."""


def _text_or(value: Any, other: str) -> str:
    return value if isinstance(value, str) and value else other


def base64_of(encoded: str) -> str:
    """Return base64 without a `data:` head and blanks. Raises ValueError where it is none."""
    bare = "".join(encoded.partition(",")[2].split() if encoded.startswith("data:") else encoded.split())
    try:
        return pybase64.b64encode(pybase64.b64decode(bare, validate=True)).decode()
    except ValueError:
        raise ValueError("holds data_base64 that is no base64") from None


def written_media(value: Any, _: Options) -> Any:
    """Write a source as a `MediaRef`."""
    media: Json = dict.fromkeys(_FIELDS) | {"mime_type": value["media_type"]}
    match value:
        case {"type": "base64", "data": data}:
            media |= {"kind": "data", "data_base64": data, "size_bytes": size_bytes_of(data)}
        case {"url": str(url)} if url.startswith(FILE):
            media |= {"kind": "file_id", "file_id": unquote(url.removeprefix(FILE))}
        case {"url": url}:
            media |= {"kind": "url", "url": url}
    return media


def size_bytes_of(encoded: str) -> int:
    """Return how many bytes base64 holds."""
    return len(encoded) // 4 * 3 - encoded[-2:].count("=")


def read_name(ours: Json, theirs: Mapping[str, Any], _: Options) -> None:
    """Complete our block with the name of the file. Raises ValueError where there is no content."""
    media = theirs.get("media")
    if isinstance(media, dict) and isinstance(name := media.get("filename"), str):
        ours["name"] = name
    if "source" not in ours:
        raise ValueError("it has no media")


def write_name(ours: Json, theirs: Json, _: Options) -> None:
    """Write the name of the file."""
    theirs["media"]["filename"] = ours.get("name")


def write_audio(ours: Json, theirs: Json, options: Options) -> None:
    """Complete an audio block with what raw samples tell: rate, channels and duration."""
    write_name(ours, theirs, options)
    source = ours["source"]
    kind, *parameters = str(source["media_type"]).lower().split(";")
    if kind.strip() not in ("audio/pcm", "audio/l16"):
        return
    known = dict(one.strip().partition("=")[::2] for one in parameters)
    rate_hz, channels = (
        int(one) if one.isdecimal() else 0 for one in (known.get("rate", ""), known.get("channels", "1"))
    )
    if not rate_hz or not channels:
        return
    theirs |= {"sample_rate": rate_hz, "channels": channels}
    if source["type"] == "base64":
        theirs["media"]["duration_ms"] = round(size_bytes_of(source["data"]) / (2 * channels * rate_hz) * 1000)


def is_document(block: Json) -> bool:
    """Return whether a data block is a document."""
    return str(block["source"]["media_type"]).startswith(_DOCUMENTS)


def read_data(ours: Json, theirs: Mapping[str, Any], options: Options) -> None:
    """Complete our block of one without a kind. Raises ValueError where there is no content."""
    given, encoded, media = (theirs.get(name) for name in ("mime_type", "data_base64", "media"))
    if isinstance(encoded, str):
        encoded = base64_of(encoded)
        ours["source"] = {
            "type": "base64",
            "data": encoded,
            "media_type": _text_or(given, media_type_of(encoded=encoded)),
        }
    elif media is not None:
        inner = an_object(media, options)
        ours["source"] = media_of("")({**inner, "mime_type": inner.get("mime_type") or given}, options)
    else:
        raise ValueError("it has neither data_base64 nor media")
    if isinstance(media, dict) and isinstance(name := media.get("filename"), str):
        ours["name"] = name


def write_data(ours: Json, theirs: Json, options: Options) -> None:
    """Write a block without a kind."""
    source = ours["source"]
    is_inline = source["type"] == "base64"
    theirs |= {
        "mime_type": source["media_type"],
        "data_base64": source["data"] if is_inline else None,
        "media": None if is_inline else {**written_media(source, options), "filename": ours.get("name")},
    }
