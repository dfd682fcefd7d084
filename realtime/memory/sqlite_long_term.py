"""`SqliteLongTermMemory`: a long-term memory in one SQLite file, found by words."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import sqlite3
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from heapq import nlargest
from math import log
from pathlib import Path
from typing import Any, Literal
from unicodedata import normalize

from realtime.errors import UsageError
from realtime.memory.long_term import LongTermMemoryBase, Memory, MemoryId
from realtime.message import Msg, TextBlock
from realtime.message.remembered import LONG_TERM_MEMORY, quoted
from realtime.options import checked
from realtime.runtime import iso, wall_clock_iso
from realtime.state.files import in_thread
from realtime.state.sqlite_file import SqliteFile, Tables
from realtime.texts import fits_utf8
from realtime.tool.response import ToolResponse

MAX_CHARS = 2_000
"""The longest memory; longer texts become several."""
MAX_QUERY_WORDS = 24
"""Words of a query that are looked up. With `NEWEST` it bounds the time of a recall."""
MAX_QUERY_CHARS = 20_000
"""The part of a text whose words are looked up: a pasted page may have millions."""
NEWEST = 300
"""Memories that are looked at for each word, the newest ones."""
LEAST_SHARE = 0.4
"""The least score that is recalled, as a share of the best."""
QUESTION_SHARE = 0.25
"""What the score of a question counts: it has the words of the next one like it, but seldom the answer."""
MAX_NUMBER = 2**63 - 1
"""The largest id that SQLite can give."""
STEM_CHARS = 7
"""Letters of a word that count: its forms are found, in languages without a stemmer here, too."""

_MEMORIES = Tables(
    "long-term memories",
    1,
    {
        0: [
            "CREATE TABLE users (id INTEGER PRIMARY KEY, user_id TEXT NOT NULL UNIQUE, n INTEGER NOT NULL DEFAULT 0)",
            "CREATE TABLE memories (id INTEGER PRIMARY KEY AUTOINCREMENT, user INTEGER NOT NULL, "
            "said_by TEXT NOT NULL, text TEXT NOT NULL, kept_at TEXT NOT NULL, digest BLOB NOT NULL, "
            "UNIQUE (user, digest))",
            # Each word begins with its user's number: a search meets no memory of another one, and one term is enough.
            "CREATE VIRTUAL TABLE words USING fts5(said, detail=none, tokenize='porter ascii')",
        ]
    },
    kind=0x72_74_4D_45,
)
_ADD = """
INSERT INTO memories (user, said_by, text, kept_at, digest) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
RETURNING id
"""
_ALL = "SELECT id, user FROM memories WHERE user = ?"
_OLD = "SELECT id, user FROM memories WHERE kept_at < ?"
_FIND = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?"
_ONE = "SELECT id FROM memories WHERE id = ? AND user = ?"
_SAME = "SELECT id FROM memories WHERE user = ? AND digest = ? AND id != ?"
_REPLACE = "UPDATE memories SET text = ?, kept_at = ?, digest = ? WHERE id = ? AND user = ?"
_MERGE = "INSERT INTO words (words) VALUES ('optimize')"
"""Until its parts are merged the index has deleted words."""
_LIST = """
SELECT memories.id, said_by, text, kept_at FROM memories JOIN users ON users.id = memories.user
WHERE user_id = ? AND memories.id < ? ORDER BY memories.id DESC LIMIT ?
"""

_WORD = re.compile(r"[^\W_]+")
_ACCENTS = re.compile("[\u0300-\u036f]")
_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")
"""Scripts without blanks between words: there, pairs of characters stand for words."""


class SqliteLongTermMemory(LongTermMemoryBase):
    """Keeps what one user has said in the SQLite database `path`.

    Many users may share the file, each with an object; none finds the memories of another one (see `SqliteFile`).
    A search is for words: the more of them a memory has, and the rarer they are, the better. No model takes part, so
    that recalling takes milliseconds. All methods that read or write raise StoreError.
    """

    @checked()
    def __init__(
        self, path: str | os.PathLike[str], user_id: str, *, clock: Callable[[], str] = wall_clock_iso
    ) -> None:
        super().__init__()
        if not user_id or not fits_utf8(user_id):
            raise UsageError("a long-term memory is one of a user: give a user_id", code="invalid_id")
        self.path = Path(path)
        self.user_id = user_id
        self._clock = clock
        # One connection for writers and one for readers: neither waits for the other.
        self._writer = SqliteFile(self.path, _MEMORIES)
        self._reader = SqliteFile(self.path, _MEMORIES)

    # -- for programs, and agents by themselves ------------------------------------------------------------------------

    async def record(self, msgs: list[Msg | None], **kwargs: Any) -> None:
        """Remember what users and assistants say in these messages; what is known already is skipped."""
        said = [
            (msg.name, text)
            for msg in msgs
            if msg is not None and msg.role != "system" and msg.name != LONG_TERM_MEMORY
            if (text := msg.get_text_content())
        ]
        await self._keep(said)

    async def retrieve(self, msg: Msg | list[Msg] | None, limit: int = 5, **kwargs: Any) -> str:
        """Return up to `limit` memories with the words of these messages.

        A line has one, the best first."""
        messages = [msg] if isinstance(msg, Msg) else msg or []
        return await self._recall([text for one in messages if (text := one.get_text_content())], limit)

    async def remembered(self, limit: int = 100, before_id: MemoryId | None = None) -> list[Memory]:
        """See `LongTermMemoryBase.remembered`."""
        last = MAX_NUMBER if before_id is None else _number(before_id, "before_id is the id of a memory")

        def act(connection: sqlite3.Connection) -> list[Memory]:
            return [Memory(*row) for row in connection.execute(_LIST, (self.user_id, last, limit))]

        return await in_thread(self._reader.read, act)

    async def correct(self, memory_id: MemoryId, text: str) -> bool:
        """Replace the text of a memory, which counts as said now.

        It keeps its id, and its old words are gone. Returns False where there is none with this id. Another one that
        says the same is forgotten. Raises
        UsageError for what is no id, and for a text that is empty or longer than `MAX_CHARS`.
        """
        clean = _clean(text).strip()
        if not clean or len(clean) > MAX_CHARS:
            raise UsageError(f"a memory is a text of 1 to {MAX_CHARS:,} characters", code="bad_option")
        number = _number(memory_id, "correct takes the id of a memory")
        return await in_thread(self._correct, number, clean, self._clock())

    async def forget(self, which: MemoryId | Literal["all"]) -> int:
        """See `LongTermMemoryBase.forget`. The words are gone from the file then."""
        if which == "all":
            return await in_thread(self._forget, None)
        return await in_thread(self._forget, _number(which, "forget takes the id of a memory or 'all'"))

    async def scrub(self) -> None:
        """Write the file anew, without what is forgotten. Raises StoreError while another process hinders it."""
        await in_thread(self._reader.close)
        await in_thread(self._writer.scrub)

    async def aclose(self) -> None:
        """See `LongTermMemoryBase.aclose`: the next use opens the file again."""
        await in_thread(self._reader.close)
        await in_thread(self._writer.close)

    # -- tools ---------------------------------------------------------------------------------------------------------

    async def record_to_memory(self, thinking: str, content: list[str], **kwargs: Any) -> ToolResponse:
        """Remember facts about the user for later conversations.

        Args:
            thinking: Why they are worth remembering.
            content: The facts, each as a sentence that can be understood by itself.
        """
        n_new = await self._keep([("note", one) for one in _texts(content)])
        return ToolResponse([TextBlock(text=f"Remembered: {n_new} new.")])

    async def retrieve_from_memory(self, keywords: list[str], limit: int = 5, **kwargs: Any) -> ToolResponse:
        """Look up what earlier conversations with the user have said.

        Args:
            keywords: Words that it has to do with, such as names, places and things.
            limit: The most memories to return for each keyword.
        """
        words = [*dict.fromkeys(_texts(keywords))][:MAX_QUERY_WORDS]
        found = [await self._recall([word], limit) for word in words]
        lines = dict.fromkeys(line for text in found for line in text.splitlines())
        text = quoted("\n".join(lines)) if lines else "Nothing is remembered about that."
        return ToolResponse([TextBlock(text=text)])

    # -- in threads ----------------------------------------------------------------------------------------------------

    async def _keep(self, said: Sequence[tuple[str, str]]) -> int:
        """Remember texts and who said them; return how many are new."""
        kept_at = self._clock()

        def keep() -> int:
            rows = [(_clean(name), piece) for name, text in said for piece in textwrap.wrap(_clean(text), MAX_CHARS)]
            return self._writer.write(partial(act, rows)) if rows else 0

        def act(rows: Sequence[tuple[str, str]], connection: sqlite3.Connection) -> int:
            connection.execute("INSERT INTO users (user_id) VALUES (?) ON CONFLICT DO NOTHING", (self.user_id,))
            user, _ = _user(connection, self.user_id)
            n_new = 0
            for name, text in rows:
                row = connection.execute(_ADD, (user, name, text, kept_at, _digest(text))).fetchone()
                if row is not None:
                    n_new += 1
                    _index(connection, row[0], user, text)
            connection.execute("UPDATE users SET n = n + ? WHERE id = ?", (n_new, user))
            return n_new

        # All of it in a thread: a long text takes its time.
        return await in_thread(keep) if said else 0

    async def _recall(self, texts: Sequence[str], limit: int) -> str:
        def recall() -> str:
            asked = {_digest(_clean(text)) for text in texts}
            words = {word: None for text in texts for word in _words(_clean(text[:MAX_QUERY_CHARS]), is_query=True)}
            # Of a long message the long words: they say the most.
            longest = sorted(words, key=len, reverse=True)[:MAX_QUERY_WORDS]

            def act(connection: sqlite3.Connection) -> list[Memory]:
                return _best(connection, self.user_id, longest, asked, limit)

            return _lines(self._reader.read(act)) if words else ""

        if limit < 1:
            return ""
        return await asyncio.get_running_loop().run_in_executor(None, recall)

    def _correct(self, memory_id: int, text: str, kept_at: str) -> bool:
        def act(connection: sqlite3.Connection) -> bool:
            user, _ = _user(connection, self.user_id)
            if connection.execute(_ONE, (memory_id, user)).fetchone() is None:
                return False
            same = connection.execute(_SAME, (user, _digest(text), memory_id)).fetchall()
            _delete(connection, [(number, user) for (number,) in same])
            connection.execute("DELETE FROM words WHERE rowid = ?", (memory_id,))
            connection.execute(_REPLACE, (text, kept_at, _digest(text), memory_id, user))
            _index(connection, memory_id, user, text)
            connection.execute(_MERGE)
            return True

        found: bool = self._writer.write(act)
        self._drop_old_pages()
        return found

    def _drop_old_pages(self) -> None:
        """Empty the write-ahead log: until then it contains the words."""
        self._writer.use(lambda connection: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone())

    def _forget(self, memory_id: int | None) -> int:
        def act(connection: sqlite3.Connection) -> int:
            user, _ = _user(connection, self.user_id)
            if memory_id is not None:
                return _delete(connection, [(memory_id, user)])
            gone = _delete(connection, connection.execute(_ALL, (user,)).fetchall())
            connection.execute("DELETE FROM users WHERE id = ?", (user,))
            return gone

        gone = self._writer.write(act)
        self._drop_old_pages()
        return gone


async def forget_before(path: str | os.PathLike[str], wall_s: float) -> int:
    """Forget what all users of the file said before a time; return how many memories there were.

    The time is in seconds, as of `time.time()`. Raises StoreError.
    """
    if not await in_thread(Path(path).exists):
        return 0
    file = SqliteFile(Path(path), _MEMORIES)

    def act(connection: sqlite3.Connection) -> int:
        return _delete(connection, connection.execute(_OLD, (iso(wall_s),)).fetchall())

    try:
        gone: int = await in_thread(file.write, act)
        if gone:
            await in_thread(file.scrub)
        return gone
    finally:
        await in_thread(file.close)


def _index(connection: sqlite3.Connection, memory_id: int, user: int, text: str) -> None:
    """Make the words of a memory be found."""
    words = " ".join(_term(user, word) for word in _words(text, is_query=False))
    connection.execute("INSERT INTO words (rowid, said) VALUES (?, ?)", (memory_id, words))


def _delete(connection: sqlite3.Connection, memories: Iterable[tuple[int, int]]) -> int:
    """Delete memories, given as their ids and those of their users; return how many there were."""
    gone = 0
    for memory_id, user in memories:
        if connection.execute("DELETE FROM memories WHERE id = ? AND user = ?", (memory_id, user)).rowcount:
            gone += 1
            connection.execute("DELETE FROM words WHERE rowid = ?", (memory_id,))
            connection.execute("UPDATE users SET n = n - 1 WHERE id = ?", (user,))
    if gone:
        connection.execute(_MERGE)
    return gone


def _user(connection: sqlite3.Connection, user_id: str) -> tuple[int, int]:
    """Return the number of a user, and how many memories there are; zeros for an unknown one."""
    row = connection.execute("SELECT id, n FROM users WHERE user_id = ?", (user_id,)).fetchone()
    return (0, 0) if row is None else (int(row[0]), int(row[1]))


def _best(
    connection: sqlite3.Connection, user_id: str, words: Iterable[str], asked: set[bytes], limit: int
) -> list[Memory]:
    """Return the memories with the most and the rarest of the words."""
    user, n_memories = _user(connection, user_id)
    scores: defaultdict[int, float] = defaultdict(float)
    for word in words:
        found = connection.execute(_FIND, (f'"{_term(user, word)}"', NEWEST)).fetchall()
        # Short words say less, in all languages with letters: "I" is no reason to recall something.
        weight = min(len(word), 4) * log(1 + n_memories / max(len(found), 1))
        for (memory_id,) in found:
            scores[memory_id] += weight
    # Of equal ones the newest: it may correct what was said before.
    best = nlargest(4 * limit, scores, key=lambda memory_id: (scores[memory_id], memory_id))
    ranked: list[tuple[float, Memory]] = []
    for memory_id in best:
        query = "SELECT id, said_by, text, kept_at, digest FROM memories WHERE id = ? AND user = ?"
        row = connection.execute(query, (memory_id, user)).fetchone()
        if row is not None and bytes(row[4]) not in asked:
            is_question = row[2].rstrip().endswith(("?", "？"))
            ranked.append((scores[memory_id] * (QUESTION_SHARE if is_question else 1.0), Memory(*row[:4])))
    ranked.sort(key=lambda one: -one[0])
    return [memory for score, memory in ranked[:limit] if score >= LEAST_SHARE * ranked[0][0]]


def _lines(memories: Iterable[Memory]) -> str:
    """Write memories for a prompt: a line each, as a quote that no line end leaves."""
    return "\n".join(
        f"- {one.kept_at[:10]}, {json.dumps(one.said_by, ensure_ascii=False)[1:-1]}: "
        f"{json.dumps(one.text, ensure_ascii=False)}"
        for one in memories
    )


def _words(text: str, *, is_query: bool) -> Iterator[str]:
    """Yield the words of a text as they stand in the index."""
    plain = _ACCENTS.sub("", normalize("NFKD", text.casefold()))
    for found in _WORD.finditer(normalize("NFC", plain)):
        at = 0
        word = found[0]
        for run in _UNSPACED.finditer(word):
            if at < run.start():
                yield word[at : run.start()][:STEM_CHARS]
            at = run.end()
            yield from map("".join, zip(run[0], run[0][1:], strict=False))
            if not is_query or len(run[0]) == 1:
                yield from run[0]
        if at < len(word):
            yield word[at:][:STEM_CHARS]


def _term(user: int, word: str) -> str:
    """Return a word of a user as it stands in the index."""
    return f"u{user}x{word}"


def _number(given: MemoryId, what: str) -> int:
    """Return an id as SQLite has it: a URL, and a model, write one as text. Raises UsageError for what is none."""
    text = str(given) if type(given) is int else given
    if not isinstance(text, str) or not text.isdecimal() or not 0 < int(text[:20]) <= MAX_NUMBER:
        raise UsageError(f"{what}, not {given!r:.80}", code="bad_option")
    return int(text)


def _texts(given: Any) -> list[str]:
    """Return the texts that a model gave: it may give one in place of a list."""
    return [given] if isinstance(given, str) else [str(one) for one in given or ()]


def _clean(text: str) -> str:
    """Return a text that UTF-8 can hold: models send halves of characters."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.strip().casefold().encode(), digest_size=16).digest()
