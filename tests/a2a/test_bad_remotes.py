"""Remote agents that break the protocol: each costs its own turn, in one sentence, and the rest is not lost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse

from realtime.a2a import A2AAgent
from realtime.a2a.mending import MAX_DEPTH
from realtime.errors import ProviderError
from realtime.message import TextBlock, UserMsg
from tests.server.harness import serving_app

Json = dict[str, Any]
Handler = Callable[[Json], Response]


@asynccontextmanager
async def office(handler: Handler, *, version: str = "0.3.0", streaming: bool = True) -> AsyncIterator[A2AAgent]:
    """An agent whose remote answers each JSON-RPC request with this."""
    app = FastAPI()

    @app.post("/rpc")
    async def rpc(request: Request) -> Response:
        return handler(await request.json())

    async with serving_app(app) as place:
        interface = {"url": f"{place.url}/rpc", "protocolVersion": version, "protocolBinding": "JSONRPC"}
        card = {"name": "Office", "supportedInterfaces": [interface], "capabilities": {"streaming": streaming}}
        agent = A2AAgent(card, timeout_s=20)
        agent.set_console_output_enabled(False)
        yield agent
        await agent.aclose()


def stream(*results: Any, request_id: Any = 1) -> Response:
    async def events() -> AsyncIterator[str]:
        for one in results:
            yield f"data: {json.dumps({'jsonrpc': '2.0', 'id': request_id, 'result': one})}\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")


def status(state: str, *parts: Any, **more: Any) -> Json:
    message = {"message": {"kind": "message", "role": "agent", "parts": [*parts]}} if parts else {}
    return {"kind": "status-update", "taskId": "t", "contextId": "c", "status": {"state": state, **message, **more}}


TASK = {"kind": "task", "id": "t", "contextId": "c", "status": {"state": "working", "timestamp": "a moment ago"}}


async def words_of(agent: A2AAgent) -> list[str]:
    msg = await agent(UserMsg("anna", "Hello."))
    return [block.text for block in msg.content if isinstance(block, TextBlock)]


async def test_parts_of_an_unknown_kind_times_and_missing_ids_do_not_cost_the_rest() -> None:
    parts = [
        {"kind": "hologram", "beam": 1},
        {"kind": "text", "text": "Seven."},
        {"kind": "file", "file": {"bytes": "@"}},
    ]
    async with office(lambda _: stream(TASK, status("completed", *parts))) as agent:
        msg = await agent(UserMsg("anna", "Hello."))
        assert msg.get_text_content() == "Seven."
        assert [one.partition(":")[0] for one in msg.metadata["a2a"]["faults"]] == [
            "result.status.timestamp",
            "result.status.message.parts[0]",
            "result.status.message.parts[2].raw",
        ]


def nested(depth: int) -> Json:
    """An object with so many objects within each other."""
    held: Json = {}
    for _ in range(depth - 1):
        held = {"x": held}
    return held


SLOPPY = {
    "role": "ASSISTANT",
    "messageId": 9,
    "parts": [{"kind": "TEXT", "text": "Seven.", "metadata": 7}, {"data": nested(MAX_DEPTH)}, {"data": float("nan")}],
}
FAULTS = (
    ".state: the state 'Done' is not known",
    ".message.parts[0].metadata: it is an object, not a number",
    ".message.parts[2].data: it is no number that JSON has",
)


@pytest.mark.parametrize(
    ("version", "events", "path"),
    [
        (
            "0.3.0",
            [
                {"kind": "TASK", "id": 7, "contextId": 8, "status": {"state": "WORKING"}},
                {"kind": "Status-Update", "taskId": 7, "final": "TRUE", "status": {"state": "Done", "message": SLOPPY}},
                {"kind": "status_update", "taskId": "7", "status": "COMPLETED"},
            ],
            "result.status",
        ),
        (
            "1.0",
            [
                {"task": {"id": 7, "contextId": 8, "status": {"state": "working"}}},
                {"statusUpdate": {"taskId": 7, "status": {"state": "Done", "message": SLOPPY}}},
                {"statusUpdate": {"task_id": "7", "kind": "x", "status": "completed"}},
            ],
            "result.statusUpdate.status",
        ),
    ],
    ids=["0.3", "1.0"],
)
async def test_capitals_numbers_and_roles_of_others_are_read_on_both_wires(
    version: str, events: list[Json], path: str
) -> None:
    async with office(lambda request: stream(*events, request_id=request["id"]), version=version) as agent:
        msg = await agent(UserMsg("anna", "Hello."))
        assert [block.text for block in msg.content if isinstance(block, TextBlock)] == ["Seven."]
        told = msg.metadata["a2a"]
        assert (told["state"], told["task_id"], told["context_id"]) == ("completed", "7", "8")
        assert told["faults"] == [path + fault for fault in FAULTS]


def _error(code: int, said: str) -> Response:
    return JSONResponse({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": said}})


BAD: dict[str, Handler] = {
    "Office cannot be asked: it redirects, and no redirect is followed": lambda _: RedirectResponse("http://10.0.0.1/"),
    r"Office cannot be asked: it does not let us in \(403\)": lambda _: Response(status_code=403),
    "Office was lost while it answered": lambda _: Response(status_code=500),
    "Office sent what is no answer|Office was lost": lambda _: PlainTextResponse("<html>busy</html>"),
    "Office refuses: out of order": lambda _: _error(-32603, "out of\norder"),
    "Office gave no answer": lambda _: stream(),
    "Office gave no answer|Office sent what is no answer": lambda _: stream(7, None, {"kind": "surprise"}),
    "Office gave up the task": lambda _: stream(TASK, status("canceled")),
    "Office failed$": lambda _: stream(TASK, status("failed")),
}


@pytest.mark.parametrize("sentence", BAD)
async def test_what_is_no_answer_is_one_sentence_and_the_next_turn_is_free(sentence: str) -> None:
    answers: list[Handler] = [BAD[sentence]]

    def handler(request: Json) -> Response:
        good = status("completed", {"kind": "text", "text": "Here."})
        return answers[0](request) if answers else stream(TASK, good)

    async with office(handler) as agent:
        with pytest.raises(ProviderError, match=sentence) as raised:
            await words_of(agent)
        assert "127.0.0.1" not in raised.value.message
        assert "\n" not in raised.value.message
        answers.clear()
        assert await words_of(agent) == ["Here."]


async def test_a_stream_that_breaks_is_taken_up_again() -> None:
    asked: list[str] = []

    def handler(request: Json) -> Response:
        asked.append(request["method"])
        if request["method"] == "message/stream":
            return stream(TASK)
        return stream(TASK, status("completed", {"kind": "text", "text": "Seven."}))

    async with office(handler) as agent:
        assert await words_of(agent) == ["Seven."]
    assert asked == ["message/stream", "tasks/resubscribe"]


async def test_a_remote_that_gives_no_stream_again_is_asked_for_its_task() -> None:
    asked: list[str] = []

    def handler(request: Json) -> Response:
        asked.append(request["method"])
        match request["method"]:
            case "message/stream":
                return stream(TASK)
            case "tasks/resubscribe":
                return _error(-32004, "unsupported")
        state = "working" if asked.count("tasks/get") < 3 else "completed"
        said = {
            "message": {"kind": "message", "messageId": "m", "role": "agent", "parts": [{"kind": "text", "text": "7"}]}
        }
        done = {"kind": "task", "id": "t", "contextId": "c", "status": {"state": state, **said}}
        return JSONResponse({"jsonrpc": "2.0", "id": 1, "result": done})

    async with office(handler) as agent:
        assert await words_of(agent) == ["7"]
    assert asked == ["message/stream", "tasks/resubscribe", *["tasks/get"] * 3]


async def test_a_card_that_promises_streams_is_asked_without_one() -> None:
    def handler(request: Json) -> Response:
        if request["method"] == "SendStreamingMessage":
            return _error(-32004, "no streams here")
        said = {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "Seven."}]}
        return JSONResponse({"jsonrpc": "2.0", "id": request["id"], "result": {"message": said}})

    async with office(handler, version="1.0") as agent:
        assert await words_of(agent) == ["Seven."]


async def test_an_interruption_before_the_first_event_cancels_the_task_once_its_id_is_there() -> None:
    asked: list[Json] = []
    begins = asyncio.Event()

    def handler(request: Json) -> Response:
        asked.append(request)
        if request["method"] == "tasks/cancel":
            return JSONResponse({"jsonrpc": "2.0", "id": 1, "result": {**TASK, "status": {"state": "canceled"}}})

        async def events() -> AsyncIterator[str]:
            await begins.wait()
            yield f"data: {json.dumps({'jsonrpc': '2.0', 'id': 1, 'result': TASK})}\n\n"
            await asyncio.Event().wait()

        return StreamingResponse(events(), media_type="text/event-stream")

    async with office(handler) as agent:
        reply = asyncio.create_task(words_of(agent))
        loop: Any = asyncio.get_running_loop()
        await loop.until(lambda: asked)
        await agent.interrupt()
        assert await reply == ["You interrupted me. What can I do for you?"]
        begins.set()
        await loop.until(lambda: len(asked) == 2)
        assert (asked[1]["method"], asked[1]["params"]["id"]) == ("tasks/cancel", "t")
