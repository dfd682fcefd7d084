"""Estimates the cost of a certification before it starts. Prices are data, with date and source."""

from __future__ import annotations

from pathlib import Path

import msgspec

from realtime.testing.certify.turns import Turn

DATA = Path(__file__).with_name("estimates.json")


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A provider's prices. `price` is US dollars per minute of call, None where it is unknown."""

    audio_tokens_per_s: float | None = None
    price: float | None = None
    seen: str = "2026-11"
    source: str = "no price and no rate of audio tokens is known here"


UNKNOWN = Price()


class Estimate(msgspec.Struct, frozen=True):
    """Seconds of audio that go to the provider and come back."""

    sent_s: float
    received_s: float
    price: Price

    def sentences(self) -> list[str]:
        """Return sentences for people, before they agree."""
        rate, minutes = self.price.audio_tokens_per_s, f"{self.sent_s / 60:.1f}"
        told = [
            f"About {minutes} minutes of audio go to the provider (the microphone is open all the time), about "
            f"{self.received_s / 60:.1f} come back."
        ]
        if rate is None:
            told.append("How many tokens that is, is unknown; the table at the end shows what was counted.")
        else:
            told.append(f"That is about {self.sent_s * rate:.0f} audio tokens in and {self.received_s * rate:.0f} out.")
        known = self.price.price
        cost = "unknown" if known is None else f"about ${known * self.sent_s / 60:.2f}"
        told.append(f"Cost: {cost} ({self.price.source}, {self.price.seen}).")
        return told


def estimate(provider: str, turns: tuple[Turn, ...]) -> Estimate:
    """Estimate the audio of these turns at this provider."""
    prices = msgspec.json.decode(DATA.read_bytes(), type=dict[str, Price])
    received_s = sum(turn.answer_s for turn in turns)
    return Estimate(sum(turn.user_s for turn in turns) + received_s, received_s, prices.get(provider, UNKNOWN))
