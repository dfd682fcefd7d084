"""What this server takes to be so of the services, and what that rests on. No test has spoken to a service."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

RECORDED = "recording"
TYPED = "SDK"
PRINTED = "documentation"
PRACTISED = "public clients"
ASSUMED = "nothing"

SOURCES = {
    RECORDED: "frames of real sessions of OpenAI and Gemini that others published (none of DashScope was found); with "
    "their typed turns, tool rounds and seeded histories our decoders and endpoints are compared if they are at hand",
    TYPED: "types and code of the official SDK; every frame of our OpenAI and Gemini endpoints satisfies these, and "
    "DashScope's SDK, which has none, reads ours",
    PRINTED: "what the provider prints of its protocol",
    PRACTISED: "what published programs that speak to the service rely on",
    ASSUMED: "plausible, and no source",
}
"""By name: what it means that a fact rests on it. The first is the best."""


class Unproven(NamedTuple):
    """A fact of a provider's protocol that only the service itself could prove, and what it rests on."""

    provider: str
    source: str
    fact: str


_LINES = Path(__file__).with_suffix(".tsv").read_text(encoding="utf-8").splitlines()
UNPROVEN = [Unproven(*line.split("\t")) for line in _LINES]
