"""Reads the tool results in a cassette, which went to the provider."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from realtime.testing.cases.case import Returned
from realtime.testing.cassettes.format import Cassette, FrameLine


def tool_results(cassette: Cassette) -> dict[str, Returned]:
    """Return the results by call id, each with its duration.

    Only Gemini says whether a call failed: with the others a failure is a normal result that contains the failure's
    text.
    """
    results: dict[str, Returned] = {}
    called_ms: dict[str, int] = {}
    for line in cassette.lines:
        if not isinstance(line, FrameLine) or line.frame is msgspec.UNSET:
            continue
        if line.dir == "received":
            called_ms.update((call_id, line.at_ms) for call_id in _named(line.frame))
            continue
        for call_id, returned in _sent(line.frame):
            after_ms = line.at_ms - called_ms.get(call_id, line.at_ms)
            results.setdefault(call_id, msgspec.structs.replace(returned, after_ms=after_ms))
    return results


def _sent(frame: Any) -> Iterator[tuple[str, Returned]]:
    """Yield the results in a frame of ours."""
    match frame:
        case {"item": {"type": "function_call_output", "call_id": str(call_id), "output": output}}:
            yield call_id, Returned(output)
        case {"toolResponse": {"functionResponses": [*responses]}}:
            for response in responses:
                match response:
                    case {"id": str(call_id), "response": {"error": output}}:
                        yield call_id, Returned(output, state="error")
                    case {"id": str(call_id), "response": {"output": output}}:
                        yield call_id, Returned(output)


def _named(node: Any) -> Iterator[str]:
    """Yield the call ids in a provider's frame: the last that names a call before its result completed it."""
    if isinstance(node, dict):
        for name, value in node.items():
            if name in ("call_id", "id") and isinstance(value, str):
                yield value
            yield from _named(value)
    elif isinstance(node, list):
        for value in node:
            yield from _named(value)
