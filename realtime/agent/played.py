"""Cuts a message to the words that were played. Pure."""

from __future__ import annotations

import msgspec

from realtime.message import Block, Msg, TextBlock


def cut_to_played(msg: Msg, played_text: str) -> Msg:
    """Return a copy of a reply with the text that was heard; all else in it stays.

    `played_text` is the beginning of its words, whatever the white space; other words replace the text. A message that
    loses words has `finished_reason="interrupted"`.
    """
    cut = msg.copy()
    blocks: list[Block] = []
    left = "".join(played_text.split())
    is_cut = False
    for block in msg.content:
        if not isinstance(block, TextBlock):
            blocks.append(block)
            continue
        text, left = _beginning(block.text, left)
        if left and text != block.text:
            return _replaced(cut, played_text)
        is_cut = is_cut or text != block.text
        if text.strip():
            blocks.append(block if text == block.text else msgspec.structs.replace(block, text=text.rstrip()))
    if left:
        return _replaced(cut, played_text)
    if is_cut:
        cut.content = blocks
        cut.finished_reason = "interrupted"
    return cut


def _beginning(text: str, played: str) -> tuple[str, str]:
    """Return the part of `text` that was played, and what remains.

    `played` has no white space; what of it is not in the text remains.
    """
    n_played = 0
    for place, character in enumerate(text):
        if character.isspace():
            continue
        if n_played == len(played) or played[n_played] != character:
            return text[:place], played[n_played:]
        n_played += 1
    return text, played[n_played:]


def _replaced(msg: Msg, played_text: str) -> Msg:
    """Put the played words in the place of the first text."""
    blocks: list[Block] = []
    words: str | None = played_text
    for block in msg.content:
        if not isinstance(block, TextBlock):
            blocks.append(block)
        elif words is not None:
            blocks.append(msgspec.structs.replace(block, text=words))
            words = None
    if words:
        blocks.append(TextBlock(text=words))
    msg.content = blocks
    msg.finished_reason = "interrupted"
    return msg
