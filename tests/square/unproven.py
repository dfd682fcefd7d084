"""What this server takes to be so of the services, and what that rests on. No test has spoken to a service."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Unproven:
    """A fact of a provider's protocol that only the service itself could prove."""

    provider: str
    fact: str
    source: str


UNPROVEN = (
    Unproven("openai", "order and ids of a typed turn, a spoken turn and a tool round", RECORDED),
    Unproven("openai", "how a response ends that the client cancels", RECORDED),
    Unproven("openai", "how a response ends that speech interrupts: taken to be as for a cancel", ASSUMED),
    Unproven("openai", "truncation: an end beyond the audio made is an error, the words of the item are gone", PRINTED),
    Unproven("openai", "an item of which nothing was heard is deleted, not truncated to 0 ms", PRACTISED),
    Unproven("openai", "images in user items, as data URIs", PRINTED),
    Unproven("openai", "names and optional fields of all other events", TYPED),
    Unproven("openai", "a session ends after 60 minutes", PRINTED),
    Unproven("gemini", "order of a typed turn, a spoken turn with its detector on, and a tool round", RECORDED),
    Unproven("gemini", "frames are binary, and several keys share one", RECORDED),
    Unproven("gemini", "a frame without turns and with `turnComplete` stops the answer", RECORDED),
    Unproven("gemini", "after `interrupted` comes `turnComplete` and no `generationComplete`", PRINTED),
    Unproven("gemini", "turns told by `activityStart` and `activityEnd`, with its detector off", PRINTED),
    Unproven("gemini", "images belong to the activity in which they are sent", PRINTED),
    Unproven("gemini", "an unknown field closes the session with 1007; other errors are close codes too", PRINTED),
    Unproven("gemini", "notice before the end, resumption by handle, the old socket closed first", PRACTISED),
    Unproven("gemini", "spelling of the setup's fields", TYPED),
    Unproven("dashscope", "order of a spoken turn with its detector on", PRINTED),
    Unproven("dashscope", "typed text as a user item: practised, not promised", PRACTISED),
    Unproven("dashscope", "functions nested under `function`, one request after the last result", PRINTED),
    Unproven("dashscope", "schemas without type unions and `additionalProperties`", PRACTISED),
    Unproven("dashscope", "an image before the first audio is an error, later ones join the turn", PRINTED),
    Unproven("dashscope", "speech ends a response as `cancelled`, reason `turn_detected`", PRINTED),
    Unproven("dashscope", "it cannot learn what was played: its own context keeps all of an answer", PRINTED),
    Unproven("dashscope", "`invalid_request_error` leaves the session open, `server_error` ends it", TYPED),
    Unproven("dashscope", "close codes", ASSUMED),
    Unproven("dashscope", "a new session is seeded with the conversation as text messages", PRACTISED),
)
