"""Words of a server, made fit to be shown: none of them steers a terminal, or turns a text round."""

from __future__ import annotations

import re
from typing import Any

from realtime.tool.output import printable

_STEERING = re.compile(
    # What terminals obey; what turns the direction of a text round; what is not seen.
    "\x1b\\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]|[\u200b\u202a-\u202e\u2060-\u2069\ufeff]"
    "|[\U000e0000-\U000e007f]"
)


def plain(text: str) -> str:
    """Return a text without what steers terminals or hides; lines and tabs stay."""
    return _STEERING.sub("", printable(text))


def plain_values(value: Any) -> Any:
    """Return a JSON value whose texts are plain; keys stay, since answers have them."""
    match value:
        case str():
            return plain(value)
        case list():
            return [plain_values(one) for one in value]
        case dict():
            return {key: plain_values(one) for key, one in value.items()}
        case _:
            return value
