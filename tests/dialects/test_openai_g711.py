"""The 8 kHz audio of telephony: both laws against the standard, and in any cutting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.dialects.openai_family.g711 import SUBTYPES, Encoder, decode

laws = pytest.mark.parametrize("law", SUBTYPES)


def samples(encoded: list[int], law: str) -> list[int]:
    return [int(one) for one in np.frombuffer(decode(bytes(encoded), law), "<i2")]


def test_known_bytes_of_both_laws_are_the_samples_of_the_standard() -> None:
    """G.711: the two extremes, and the smallest step of each sign."""
    assert samples([0x00, 0x80, 0x7F, 0xFF], "audio/pcmu") == [-32_124, 32_124, 0, 0]
    assert samples([0x2A, 0xAA, 0x55, 0xD5], "audio/pcma") == [-32_256, 32_256, -8, 8]


@laws
def test_every_byte_survives_the_way_to_pcm_and_back(law: str) -> None:
    pcm = decode(bytes(range(256)), law)
    again = Encoder(8_000, law).push(pcm)
    assert decode(again, law) == pcm


@laws
@given(st.binary(max_size=600).map(lambda pcm: pcm[: len(pcm) // 2 * 2]), st.data())
def test_any_cutting_of_an_answer_gives_the_same_bytes(law: str, pcm: bytes, data: st.DataObject) -> None:
    whole = Encoder(24_000, law)
    expected = whole.push(pcm) + whole.flush()
    encoder, said, at = Encoder(24_000, law), b"", 0
    while at < len(pcm):
        n = 2 * data.draw(st.integers(1, 60))
        said += encoder.push(pcm[at : at + n])
        at += n
    assert said + encoder.flush() == expected
    assert len(expected) == -(-len(pcm) // 6)
