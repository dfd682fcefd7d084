"""What a provider answers, in one form, and the frames in which each of the four families sends it.

The shapes are those of the SDKs' own types: `ChatCompletionChunk` of openai, `GenerationResponse` of dashscope,
`GenerateContentResponse` of google-genai and `RawMessageStreamEvent` of anthropic.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from realtime.model.chat import ChatResponse
from realtime.model.chat.families import FAMILIES
from realtime.model.chat.sdk_model import SdkChatModel
from tests.model.local.chat_endpoint import KEY, Asked, ChatEndpoint, Frame, Json, chunk, piece
from tests.volumes import HANG_S

SEEN = {"openai": "chatcmpl-1", "dashscope": "req-1", "gemini": "resp-1", "anthropic": "msg_1"}
"""The id that each family gives its response."""
JSON = (("content-type", "application/json"),)
HELLO = [{"role": "user", "content": "Hello."}]


class Person(BaseModel):
    """Someone."""

    name: str
    age: int


@dataclass(frozen=True)
class Call:
    """A tool call; its arguments come in these pieces."""

    id: str
    name: str
    pieces: tuple[str, ...] = ("{}",)

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


@dataclass(frozen=True)
class Script:
    """One answer: thoughts, then words, then calls, each in pieces. Usage: given, made, of these cached and thought."""

    thoughts: Sequence[str] = ()
    words: Sequence[str] = ()
    calls: Sequence[Call] = ()
    usage: tuple[int, int, int, int] = (19, 10, 4, 3)
    is_held_back: bool = False
    is_cut: bool = False
    """The stream ends before the provider says that this was all."""


PERSON = Script(calls=(Call("call_1", "generate_structured_output", ('{"name": "Ann", "age": 30}',)),))
"""A `Person` as the arguments of a tool."""


async def responses_of(asked: ChatResponse | AsyncGenerator[ChatResponse, None]) -> list[ChatResponse]:
    return [asked] if isinstance(asked, ChatResponse) else [response async for response in asked]


async def whole(asked: ChatResponse | AsyncGenerator[ChatResponse, None]) -> ChatResponse:
    return (await responses_of(asked))[-1]


@dataclass(frozen=True)
class Provider(ABC):
    """How one family is asked and how it answers. Subclasses write the frames."""

    name: str = ""
    made: list[SdkChatModel] = field(default_factory=list)
    """The models that a test made."""

    def model(self, base_url: str, *, stream: bool = True, **settings: Any) -> Any:
        family = FAMILIES[self.name]
        settings = {"retries": 0, "timeout_s": HANG_S} | settings
        made: SdkChatModel = family.model()("model-x", KEY, stream=stream, **(family.at(base_url) | settings))
        self.made.append(made)
        return made

    async def close(self, model: Any) -> None:
        """Close the connections that the SDK keeps for the next request."""
        await model.client.close()

    def will(self, endpoint: ChatEndpoint, script: Script, *, stream: bool = True) -> None:
        """Let the endpoint answer one more request so."""
        if stream:
            endpoint.will(*self.frames(script))
        else:
            endpoint.will(self.whole(script), headers=JSON)

    @abstractmethod
    def frames(self, script: Script) -> list[Frame]:
        """The answer as a stream."""

    @abstractmethod
    def whole(self, script: Script) -> str:
        """The answer in one piece."""

    @abstractmethod
    def error(self, message: str, status: int) -> str:
        """The body of a refusal."""

    @abstractmethod
    def error_frame(self, message: str) -> str:
        """A failure of the provider in the middle of a stream."""

    def settings(self, asked: Asked) -> Json:
        """The part of a request that holds the tools."""
        return asked.body

    def tools(self, asked: Asked) -> list[str]:
        """Names of the tools that a request declares."""
        return [tool["function"]["name"] for tool in self.settings(asked).get("tools", [])]

    def choice(self, asked: Asked) -> Any:
        """The choice of a tool in a request."""
        return self.settings(asked).get("tool_choice")

    def payload(self, text: str) -> list[Json]:
        """The messages of a user who says this."""
        return [{"role": "user", "content": text}]


def whole_message(script: Script) -> Json:
    """The whole answer as OpenAI and DashScope write it."""
    message: Json = {"role": "assistant", "content": "".join(script.words)}
    if script.thoughts:
        message["reasoning_content"] = "".join(script.thoughts)
    if script.calls:
        message["tool_calls"] = [piece(at, one.id, one.name, one.arguments) for at, one in enumerate(script.calls)]
    return message


class OpenAI(Provider):
    def frames(self, script: Script) -> list[Frame]:
        found = [chunk({"role": "assistant", "content": ""}, id=SEEN["openai"])]
        found += [chunk({"reasoning_content": text}) for text in script.thoughts]
        found += [chunk({"content": text}) for text in script.words]
        for index, call in enumerate(script.calls):
            found.append(chunk({"tool_calls": [piece(index, call.id, call.name, "")]}))
            found += [chunk({"tool_calls": [piece(index, None, None, text)]}) for text in call.pieces]
        if script.is_cut:
            return [*found]
        reason = "content_filter" if script.is_held_back else "tool_calls" if script.calls else "stop"
        return [*found, chunk({}, reason), chunk() | {"choices": [], "usage": self._usage(script)}, "data: [DONE]\n\n"]

    def whole(self, script: Script) -> str:
        reason = "content_filter" if script.is_held_back else "stop"
        message = whole_message(script) | {"content": "".join(script.words) or None}
        choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
        body = {"id": SEEN["openai"], "object": "chat.completion", "created": 1, "model": "model-x"}
        return json.dumps(body | {"choices": [choice], "usage": self._usage(script)})

    def _usage(self, script: Script) -> Json:
        given, made, cached, thought = script.usage
        details = {
            "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens_details": {"reasoning_tokens": thought},
        }
        return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made} | details

    def error(self, message: str, status: int) -> str:
        return json.dumps({"error": {"message": message, "type": "some_error", "param": None, "code": None}})

    def error_frame(self, message: str) -> str:
        return f"data: {json.dumps({'error': {'message': message, 'type': 'server_error'}})}\n\n"


class DashScope(Provider):
    async def close(self, model: Any) -> None:
        from dashscope.api_entities.aio_session import close_shared_aio_session

        await close_shared_aio_session()

    def frames(self, script: Script) -> list[Frame]:
        found = [self._frame({"content": "", "reasoning_content": text}) for text in script.thoughts]
        found += [self._frame({"content": text}) for text in script.words]
        for index, call in enumerate(script.calls):
            pieces = [piece(index, call.id, call.name, "")]
            pieces += [piece(index, "", None, text) | {"type": "function"} for text in call.pieces]
            found += [self._frame({"content": "", "tool_calls": [one]}) for one in pieces]
        if script.is_cut:
            return [*found]
        reason = "tool_calls" if script.calls else "stop"
        return [*found, self._frame({"content": ""}, reason, usage=self._usage(script))]

    def whole(self, script: Script) -> str:
        output = {"choices": [{"finish_reason": "stop", "message": whole_message(script)}]}
        return json.dumps({"output": output, "usage": self._usage(script), "request_id": SEEN["dashscope"]})

    def _frame(self, message: Json, reason: str = "null", usage: Json | None = None) -> str:
        output = {"choices": [{"message": {"role": "assistant"} | message, "finish_reason": reason}]}
        body = {"output": output, "usage": usage or {}, "request_id": SEEN["dashscope"]}
        return f"id:1\nevent:result\n:HTTP_STATUS/200\ndata:{json.dumps(body)}\n\n"

    def _usage(self, script: Script) -> Json:
        given, made, cached, thought = script.usage
        details = {
            "prompt_tokens_details": {"cached_tokens": cached},
            "output_tokens_details": {"reasoning_tokens": thought},
        }
        return {"input_tokens": given, "output_tokens": made, "total_tokens": given + made} | details

    def error(self, message: str, status: int) -> str:
        return json.dumps({"code": "Some.Code", "message": message, "request_id": SEEN["dashscope"]})

    def error_frame(self, message: str, code: str = "InternalError.Algo", status: int = 500) -> str:
        body = {"code": code, "message": message, "request_id": SEEN["dashscope"]}
        return f"id:2\nevent:error\n:HTTP_STATUS/{status}\ndata:{json.dumps(body)}\n\n"

    def settings(self, asked: Asked) -> Json:
        parameters: Json = asked.body["parameters"]
        return parameters


class Gemini(Provider):
    async def close(self, model: Any) -> None:
        await model.client.aio.aclose()

    def frames(self, script: Script) -> list[Frame]:
        found = [self._frame({"text": text, "thought": True}) for text in script.thoughts]
        found += [self._frame({"text": text}) for text in script.words]
        found += [self._frame(self._call(call)) for call in script.calls]
        if script.is_cut:
            return [*found]
        reason = "SAFETY" if script.is_held_back else "STOP"
        return [*found, self._frame(None, reason, usage=self._usage(script))]

    def whole(self, script: Script) -> str:
        parts: list[Json] = [{"text": "".join(script.thoughts), "thought": True}] if script.thoughts else []
        parts += [{"text": "".join(script.words)}] if script.words else []
        parts += [self._call(call) for call in script.calls]
        reason = "SAFETY" if script.is_held_back else "STOP"
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": reason, "index": 0}
        body = {"candidates": [candidate], "usageMetadata": self._usage(script), "responseId": SEEN["gemini"]}
        return json.dumps(body)

    def _call(self, call: Call) -> Json:
        return {"functionCall": {"id": call.id, "name": call.name, "args": json.loads(call.arguments)}}

    def _frame(self, part: Json | None, reason: str | None = None, usage: Json | None = None) -> Json:
        candidate: Json = {"content": {"role": "model", "parts": [part] if part else []}, "index": 0}
        if reason is not None:
            candidate["finishReason"] = reason
        body: Json = {"candidates": [candidate], "modelVersion": "model-x", "responseId": SEEN["gemini"]}
        return body | ({"usageMetadata": usage} if usage else {})

    def _usage(self, script: Script) -> Json:
        given, made, cached, thought = script.usage
        return {
            "promptTokenCount": given,
            "candidatesTokenCount": made - thought,
            "thoughtsTokenCount": thought,
            "totalTokenCount": given + made,
            "cachedContentTokenCount": cached,
        }

    def error(self, message: str, status: int) -> str:
        return json.dumps({"error": {"code": status, "message": message, "status": "SOME_STATUS"}})

    def error_frame(self, message: str) -> str:
        body = {"error": {"code": 500, "message": message, "status": "INTERNAL"}}
        return f"data: {json.dumps(body)}\n\n"

    def tools(self, asked: Asked) -> list[str]:
        declared = asked.body.get("tools", [])
        return [one["name"] for tool in declared for one in tool["functionDeclarations"]]

    def choice(self, asked: Asked) -> Any:
        return asked.body.get("toolConfig", {}).get("functionCallingConfig")

    def payload(self, text: str) -> list[Json]:
        return [{"role": "user", "parts": [{"text": text}]}]


class Anthropic(Provider):
    def frames(self, script: Script) -> list[Frame]:
        begun = self._message([], None, self._usage(script) | {"output_tokens": 1})
        found = [self._event("message_start", message=begun), self._event("ping")]
        at = 0
        if script.thoughts:
            found.append(self._begin(at, {"type": "thinking", "thinking": "", "signature": ""}))
            found += [self._delta(at, {"type": "thinking_delta", "thinking": text}) for text in script.thoughts]
            found.append(self._delta(at, {"type": "signature_delta", "signature": "sig-1"}))
            found.append(self._event("content_block_stop", index=at))
            at += 1
        if script.words:
            found.append(self._begin(at, {"type": "text", "text": ""}))
            found += [self._delta(at, {"type": "text_delta", "text": text}) for text in script.words]
            found.append(self._event("content_block_stop", index=at))
            at += 1
        for index, call in enumerate(script.calls, at):
            found.append(self._begin(index, {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}))
            found.append(self._delta(index, {"type": "input_json_delta", "partial_json": ""}))
            found += [self._delta(index, {"type": "input_json_delta", "partial_json": text}) for text in call.pieces]
            found.append(self._event("content_block_stop", index=index))
        if script.is_cut:
            return [*found[: -1 if script.calls else None]]
        delta = {"stop_reason": self._reason(script), "stop_sequence": None}
        usage = {"output_tokens": script.usage[1]}
        return [*found, self._event("message_delta", delta=delta, usage=usage), self._event("message_stop")]

    def whole(self, script: Script) -> str:
        content: list[Json] = []
        if script.thoughts:
            content.append({"type": "thinking", "thinking": "".join(script.thoughts), "signature": "sig-1"})
        if script.words:
            content.append({"type": "text", "text": "".join(script.words)})
        for call in script.calls:
            made = {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)}
            content.append(made)
        return json.dumps(self._message(content, self._reason(script), self._usage(script)))

    def _reason(self, script: Script) -> str:
        return "refusal" if script.is_held_back else "tool_use" if script.calls else "end_turn"

    def _message(self, content: list[Json], reason: str | None, usage: Json) -> Json:
        head = {"id": SEEN["anthropic"], "type": "message", "role": "assistant", "model": "model-x"}
        return head | {"content": content, "stop_reason": reason, "stop_sequence": None, "usage": usage}

    def _usage(self, script: Script) -> Json:
        given, made, cached, thought = script.usage
        return {
            "input_tokens": given - cached,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": 0,
            "output_tokens": made,
            "output_tokens_details": {"thinking_tokens": thought},
        }

    def _event(self, kind: str, **fields: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind} | fields)}\n\n"

    def _begin(self, index: int, block: Json) -> str:
        return self._event("content_block_start", index=index, content_block=block)

    def _delta(self, index: int, delta: Json) -> str:
        return self._event("content_block_delta", index=index, delta=delta)

    def error(self, message: str, status: int) -> str:
        return json.dumps({"type": "error", "error": {"type": "some_error", "message": message}})

    def error_frame(self, message: str, kind: str = "overloaded_error", status: int = 0) -> str:
        return self._event("error", error={"type": kind, "message": message})

    def tools(self, asked: Asked) -> list[str]:
        return [tool["name"] for tool in asked.body.get("tools", [])]


PROVIDERS: dict[str, Provider] = {
    "openai": OpenAI("openai"),
    "dashscope": DashScope("dashscope"),
    "gemini": Gemini("gemini"),
    "anthropic": Anthropic("anthropic"),
}
