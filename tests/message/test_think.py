"""Thoughts in `<think>` tags, however they arrive."""

import json
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from realtime.formatter import OpenAIChatFormatter
from realtime.message import AssistantMsg, Msg, TextBlock, ThinkingBlock
from realtime.message.think import Piece, ThinkParser

TEXTS = st.lists(st.sampled_from(["<think>", "</think>", "<", "th", "ink>", "</", "a", " b ", "\n", "<thinker>"])).map(
    "".join
)


def parse(pieces: list[str], *, starts_inside: bool = False) -> list[Piece]:
    """What the parser makes of the pieces; neighbours of one kind joined."""
    parser = ThinkParser(starts_inside=starts_inside)
    out: list[Piece] = []
    for piece in [one for delta in pieces for one in parser.push(delta)] + parser.finish():
        if out and out[-1].kind == piece.kind:
            piece = Piece(piece.kind, out.pop().text + piece.text)
        out.append(piece)
    return out


def test_thoughts_are_told_apart_from_what_is_said() -> None:
    """FMT-10: also where a tag is never closed, nested, or split into single characters."""
    labelled = json.loads(Path(__file__).with_name("thoughts.json").read_text(encoding="utf-8"))
    told = {text: [(kind, words) for kind, words in pieces] for text, pieces in labelled.items()}
    assert {text: parse([text]) for text in told} == told
    assert {text: parse(list(text)) for text in told} == told
    # The prompt of some models has opened the tag: their output has an end alone.
    assert parse(["Hm.</think>Yes"], starts_inside=True) == [("thinking", "Hm."), ("text", "Yes")]


@given(text=TEXTS, cuts=st.lists(st.integers(0, 60)), starts_inside=st.booleans())
def test_cut_in_any_way_it_is_the_same(text: str, cuts: list[int], starts_inside: bool) -> None:
    """FMT-10: chunked == whole."""
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[start:end] for start, end in pairwise(places)]
    assert parse(pieces, starts_inside=starts_inside) == parse([text], starts_inside=starts_inside)


def test_what_is_certain_is_not_kept_back() -> None:
    """Speech must not wait for a tag that is not there."""
    parser = ThinkParser()
    assert parser.push("Hello <") == [Piece("text", "Hello ")]
    assert parser.push("b") == [Piece("text", "<b")]
    assert parser.push("></thin") == [Piece("text", ">")]
    assert parser.finish() == [Piece("text", "</thin")]


async def test_thoughts_stay_in_the_message_and_out_of_the_payload() -> None:
    """FMT-10, FMT-11, AMB-11: they become thinking blocks, which are stored but not sent."""
    blocks = [
        ThinkingBlock(thinking=piece.text) if piece.kind == "thinking" else TextBlock(text=piece.text)
        for piece in parse(["<thi", "nk>The user greets.</think>", "Hello!"])
    ]
    assert [type(block) for block in blocks] == [ThinkingBlock, TextBlock]
    message = Msg.from_json(AssistantMsg("Friday", blocks).to_json())
    assert [block.thinking for block in message.get_content_blocks("thinking")] == ["The user greets."]
    assert await OpenAIChatFormatter().format([message]) == [{"role": "assistant", "content": "Hello!"}]
