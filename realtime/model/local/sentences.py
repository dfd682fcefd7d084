"""Split text into sentences, the unit of synthesis."""

from __future__ import annotations

import re

# hibari needs over a second for a page without a full stop; 200 characters are 12 s of speech and 0.1 s of work.
MAX_CHARS = 200
# A shorter piece, cut at a comma, would sound clipped.
_MIN_PIECE_CHARS = 60

_END = re.compile(r"""(?<![.!?…])[.!?…]+["'”’)\]]*(?=\s)|\n""")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"'“‘])(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|Gen|Capt|Lt|Col|Rev|Hon|vs|etc|approx|No|Fig|e\.g|i\.e|[A-HJ-Z])\.$"
)
_CLAUSE = re.compile(r"[,;:—–](?=\s)")


class SentenceSplitter:
    """Cuts streamed text into sentences, the same for any division into deltas.

    A full stop ends a sentence when white space follows and it does not belong to an abbreviation or initial ("Mr.",
    "J."), so that decimals ("3.5") and times ("10:30") stay whole. Text without full stops is cut at the last comma
    before 200 characters, else at the last word.
    """

    def __init__(self) -> None:
        self._rest = ""

    def push(self, delta: str) -> list[str]:
        """Add text; returns the sentences that are now complete."""
        self._rest += delta
        sentences: list[str] = []
        while (cut := self._next_cut()) is not None:
            sentences.append(self._rest[:cut].strip())
            self._rest = self._rest[cut:]
        return [sentence for sentence in sentences if sentence]

    def finish(self) -> list[str]:
        """End the text; returns the remaining sentence and resets the splitter."""
        rest, self._rest = self._rest.strip(), ""
        return [rest] if rest else []

    def _next_cut(self) -> int | None:
        self._rest = self._rest.lstrip()
        for match in _END.finditer(self._rest, 0, MAX_CHARS + 1):
            if match.group() == "\n" or not _ABBREVIATION.search(self._rest, 0, match.end()):
                return match.end()
        if len(self._rest.rstrip()) <= MAX_CHARS:
            return None
        clauses = [match.end() for match in _CLAUSE.finditer(self._rest, _MIN_PIECE_CHARS, MAX_CHARS + 1)]
        if clauses:
            return clauses[-1]
        space = self._rest.rfind(" ", 1, MAX_CHARS + 1)
        return space if space > 0 else MAX_CHARS
