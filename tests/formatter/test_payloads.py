"""What each family is sent: golden payloads, judged by the types and calls of the provider's own SDK."""

from typing import Any

import pytest

from realtime.formatter import NO_RESULT, NO_RESULT_YET
from realtime.message import (
    AssistantMsg,
    Base64Source,
    Block,
    DataBlock,
    HintBlock,
    Msg,
    SystemMsg,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolResultState,
    URLSource,
    UserMsg,
    system_reminder,
)
from tests.formatter.families import FAMILIES

Json = dict[str, Any]
ARGUMENTS = '{"city": "Oslo"}'
TOOL_SHOWS = system_reminder("What the tool weather shows:")


def data(media_type: str, content: bytes = b"\x89PNG", name: str | None = None) -> DataBlock:
    return DataBlock(source=Base64Source(data=content, media_type=media_type), name=name)


def at_url(media_type: str, url: str) -> DataBlock:
    return DataBlock(source=URLSource(url=url, media_type=media_type))


def call(call_id: str = "c1", arguments: str = ARGUMENTS) -> ToolCallBlock:
    return ToolCallBlock(id=call_id, name="weather", input=arguments)


def result(output: Any = "Rain", state: ToolResultState = ToolResultState.SUCCESS) -> ToolResultBlock:
    return ToolResultBlock(id="c1", name="weather", output=output, state=state)


def asked(text: str = "") -> dict[str, Json]:
    """The assistant's call in each family, perhaps with words before it."""
    function = {"name": "weather", "arguments": ARGUMENTS}
    tool_calls = [{"id": "c1", "type": "function", "function": function}]
    arguments = {"city": "Oslo"}
    said: list[Json] = [{"text": text}] if text else []
    return {
        "openai": {"role": "assistant", "content": text or None, "tool_calls": tool_calls},
        "dashscope": {"role": "assistant", "content": text, "tool_calls": tool_calls},
        "gemini": {
            "role": "model",
            "parts": [*said, {"function_call": {"id": "c1", "name": "weather", "args": arguments}}],
        },
        "anthropic": {
            "role": "assistant",
            "content": [
                *({"type": "text", **part} for part in said),
                {"type": "tool_use", "id": "c1", "name": "weather", "input": arguments},
            ],
        },
    }


def answered(text: str, *, error: bool = False) -> dict[str, Json]:
    """The result of the call in each family."""
    tool = {"role": "tool", "tool_call_id": "c1", "content": text}
    response = {"id": "c1", "name": "weather", "response": {"error" if error else "output": text}}
    block = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": text}]}
    return {
        "openai": tool,
        "dashscope": tool,
        "gemini": {"role": "user", "parts": [{"function_response": response}]},
        "anthropic": {"role": "user", "content": [{**block, "is_error": True} if error else block]},
    }


def spoken(role: str, *texts: str) -> dict[str, Json]:
    """Words of a role in each family."""
    line = {"role": role, "content": "\n".join(texts)}
    return {
        "openai": line,
        "dashscope": line,
        "gemini": {"role": "model" if role == "assistant" else role, "parts": [{"text": text} for text in texts]},
        "anthropic": {"role": role, "content": [{"type": "text", "text": text} for text in texts]},
    }


def shown(text: str, *, openai: Json, dashscope: Json, gemini: Json, anthropic: Json) -> dict[str, Json]:
    """A user's words and one part of each family."""
    return {
        "openai": {"role": "user", "content": [{"type": "text", "text": text}, openai]},
        "dashscope": {"role": "user", "content": [{"text": text}, dashscope]},
        "gemini": {"role": "user", "parts": [{"text": text}, gemini]},
        "anthropic": {"role": "user", "content": [{"type": "text", "text": text}, anthropic]},
    }


def note(text: str) -> dict[str, Json]:
    """The part that names what cannot be shown, in each family."""
    typed = {"type": "text", "text": text}
    return {"openai": typed, "dashscope": {"text": text}, "gemini": {"text": text}, "anthropic": typed}


def only_words(text: str, named: str) -> dict[str, Json]:
    """What `shown` is where the part is but a text."""
    return {
        **shown(text, **note(named)),
        "openai": {"role": "user", "content": f"{text}\n{named}"},
        "dashscope": {"role": "user", "content": f"{text}\n{named}"},
    }


def user(*blocks: Block) -> list[Msg]:
    return [UserMsg("Ada", [TextBlock(text="Look:"), *blocks])]


def agent(*blocks: Block) -> list[Msg]:
    return [AssistantMsg("Friday", [*blocks])]


PICTURE = shown(
    "Look:",
    openai={"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
    dashscope={"image": "data:image/png;base64,iVBORw=="},
    gemini={"inline_data": {"data": b"\x89PNG", "mime_type": "image/png"}},
    anthropic={"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}},
)
PICTURE_AT_URL = shown(
    "Look:",
    openai={"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    dashscope={"image": "https://example.org/a.png"},
    gemini={"file_data": {"file_uri": "https://example.org/a.png", "mime_type": "image/png"}},
    anthropic={"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
)
NO_SOUND = "[audio/wav, which cannot be shown to you]"
SOUND = shown(
    "Look:",
    openai={"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
    dashscope={"audio": "data:audio/wav;base64,UklGRg=="},
    gemini={"inline_data": {"data": b"RIFF", "mime_type": "audio/wav"}},
    anthropic=note(NO_SOUND)["anthropic"],
)
NO_SOUND_AT_URL = "[audio/mpeg at https://example.org/a.mp3, which cannot be shown to you]"
SOUND_AT_URL = {
    **only_words("Look:", NO_SOUND_AT_URL),
    "dashscope": {"role": "user", "content": [{"text": "Look:"}, {"audio": "https://example.org/a.mp3"}]},
    "gemini": {
        "role": "user",
        "parts": [
            {"text": "Look:"},
            {"file_data": {"file_uri": "https://example.org/a.mp3", "mime_type": "audio/mpeg"}},
        ],
    },
}
FILM = {
    **only_words("Look:", "[video/mp4, which cannot be shown to you]"),
    "dashscope": {"role": "user", "content": [{"text": "Look:"}, {"video": "data:video/mp4;base64,bXA0"}]},
    "gemini": {
        "role": "user",
        "parts": [{"text": "Look:"}, {"inline_data": {"data": b"mp4", "mime_type": "video/mp4"}}],
    },
}
PDF = {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}
FILE = {
    **shown(
        "Look:",
        openai={"type": "file", "file": {"filename": "plan.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}},
        dashscope={},
        gemini={"inline_data": {"data": b"%PDF", "mime_type": "application/pdf"}},
        anthropic={"type": "document", "source": PDF, "title": "plan.pdf"},
    ),
    "dashscope": {"role": "user", "content": "Look:\n[plan.pdf, application/pdf, which cannot be shown to you]"},
}
TEXT_FILE = only_words("Look:", '<file name="a.csv">\nn,m\n1,2\n</file>')
ARCHIVE = only_words("Look:", "[a.zip, application/zip, which cannot be shown to you]")


def result_with_a_picture() -> dict[str, list[Json]]:
    """A tool message holds text alone, so the picture follows it, except in Anthropic's results."""
    words = "A cloud\n[image/png, shown below]\n[audio/wav, which cannot be shown to you]"
    after = shown(
        TOOL_SHOWS,
        openai={"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
        dashscope={"image": "data:image/png;base64,iVBORw=="},
        gemini={"inline_data": {"data": b"\x89PNG", "mime_type": "image/png"}},
        anthropic={},
    )
    rounds = {family: [asked()[family], answered(words)[family], after[family]] for family in FAMILIES}
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}
    parts = [
        {"type": "text", "text": "A cloud"},
        {"type": "image", "source": source},
        {"type": "text", "text": NO_SOUND},
    ]
    in_result = {"type": "tool_result", "tool_use_id": "c1", "content": parts}
    return {**rounds, "anthropic": [asked()["anthropic"], {"role": "user", "content": [in_result]}]}


def in_turn(*messages: dict[str, Json]) -> dict[str, list[Json]]:
    """The payload of each family from the messages of each family."""
    return {family: [message[family] for message in messages] for family in FAMILIES}


SIGNED = ThinkingBlock(thinking="Hm.", signature="sig", thought_signature="c2ln")
CASES: dict[str, tuple[list[Msg], dict[str, list[Json]]]] = {
    "system": ([SystemMsg("system", "Be nice.")], in_turn(spoken("system", "Be nice."))),
    "user": ([UserMsg("Ada", "Hello")], in_turn(spoken("user", "Hello"))),
    "assistant": (agent(TextBlock(text="Hi"), TextBlock(text="Ada")), in_turn(spoken("assistant", "Hi", "Ada"))),
    "call and result": (
        agent(TextBlock(text="Let me see."), call(), result(), TextBlock(text="Rain.")),
        in_turn(asked("Let me see."), answered("Rain"), spoken("assistant", "Rain.")),
    ),
    "call without result": (agent(call()), in_turn(asked(), answered(NO_RESULT, error=True))),
    "running": (agent(call(), result("", ToolResultState.RUNNING)), in_turn(asked(), answered(NO_RESULT_YET))),
    "empty result": (agent(call(), result("")), in_turn(asked(), answered("The tool returned nothing."))),
    "error": (
        agent(call(), result("No network", ToolResultState.ERROR)),
        in_turn(asked(), answered("No network", error=True)),
    ),
    "denied": (
        agent(call(), result("", ToolResultState.DENIED)),
        in_turn(asked(), answered("The call was not allowed.", error=True)),
    ),
    "result with a picture": (
        agent(call(), result([TextBlock(text="A cloud"), data("image/png"), data("audio/wav", b"RIFF")])),
        result_with_a_picture(),
    ),
    "picture": (user(data("image/png")), in_turn(PICTURE)),
    "picture at a URL": (user(at_url("image/png", "https://example.org/a.png")), in_turn(PICTURE_AT_URL)),
    "picture in a data URL": (user(at_url("image/png", "data:image/png;base64,iVBORw==")), in_turn(PICTURE)),
    "sound": (user(data("audio/x-wav", b"RIFF")), in_turn(SOUND)),
    "sound at a URL": (user(at_url("audio/mp3", "https://example.org/a.mp3")), in_turn(SOUND_AT_URL)),
    "raw sound": (
        user(data("audio/pcm;rate=24000", b"\0\0")),
        in_turn(only_words("Look:", "[audio/pcm, which cannot be shown to you]")),
    ),
    "film": (user(data("video/mp4", b"mp4")), in_turn(FILM)),
    "file": (user(data("application/pdf", b"%PDF", "plan.pdf")), in_turn(FILE)),
    "text file": (user(data("text/csv", b"n,m\n1,2", "a.csv")), in_turn(TEXT_FILE)),
    "archive": (user(data("application/zip", b"PK", "a.zip")), in_turn(ARCHIVE)),
    "hint": (
        agent(TextBlock(text="One."), HintBlock(hint=system_reminder("It is late.")), TextBlock(text="Two.")),
        in_turn(
            spoken("assistant", "One."),
            spoken("user", "<system-reminder>\nIt is late.\n</system-reminder>"),
            spoken("assistant", "Two."),
        ),
    ),
    "hint of blocks": (agent(HintBlock(hint=[TextBlock(text="Look:"), data("image/png")])), in_turn(PICTURE)),
    "thinking": (agent(ThinkingBlock(thinking="Hm."), TextBlock(text="Hi")), in_turn(spoken("assistant", "Hi"))),
    "thinking with a signature": (
        agent(SIGNED, call(), result()),
        {
            **in_turn(asked(), answered("Rain")),
            "gemini": [
                {
                    "role": "model",
                    "parts": [
                        {
                            "function_call": {"id": "c1", "name": "weather", "args": {"city": "Oslo"}},
                            "thought_signature": b"sig",
                        }
                    ],
                },
                answered("Rain")["gemini"],
            ],
            "anthropic": [
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
                        {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}},
                    ],
                },
                answered("Rain")["anthropic"],
            ],
        },
    ),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("case", CASES)
async def test_the_payload_is_the_one_that_the_family_takes(case: str, family: str) -> None:
    """FMT-01, FMT-02, FMT-03, FMT-04, FMT-06, FMT-09, FMT-12, FMT-17, FMT-18, MSG-53, MSG-54, AMB-04: golden payloads,
    judged by the SDK of the family."""
    messages, payloads = CASES[case]
    payload = await FAMILIES[family].chat().format(messages)
    assert payload == payloads[family]
    await FAMILIES[family].judge(payload)


@pytest.mark.parametrize("family", FAMILIES)
async def test_participants_are_users_by_name(family: str) -> None:
    """FMT-07, FMT-08, MSG-17: the documented two lines; three speakers stay three, one message each."""
    views = [AssistantMsg("AgentA", "View A"), AssistantMsg("AgentB", "View B"), UserMsg("Ada", "And I?")]
    payload = await FAMILIES[family].speakers().format(views)
    lines = ("[AgentA]: View A", "[AgentB]: View B", "[Ada]: And I?")
    assert payload == in_turn(*(spoken("user", line) for line in lines))[family]
    await FAMILIES[family].judge(payload)


@pytest.mark.parametrize("family", FAMILIES)
async def test_the_system_prompts_come_first_as_one(family: str) -> None:
    """FMT-05: also one that was said later: strict chat templates take one at the beginning alone."""
    messages = [UserMsg("Ada", "Hello"), SystemMsg("system", "Be nice."), SystemMsg("system", "Be brief.")]
    payload = await FAMILIES[family].chat().format(messages)
    assert payload == in_turn(spoken("system", "Be nice.", "Be brief."), spoken("user", "Hello"))[family]


@pytest.mark.parametrize("family", FAMILIES)
async def test_pictures_of_the_assistant_are_shown_as_its_own_and_its_voice_is_words(family: str) -> None:
    """No family takes pictures from its assistant; what it said aloud is in its text."""
    messages = agent(TextBlock(text="Look."), data("image/png"), data("audio/wav", b"RIFF"))
    payload = await FAMILIES[family].chat().format(messages)
    (said, showed) = payload
    assert said == spoken("assistant", "Look.")[family]
    assert showed["role"] == "user"
    parts = showed["parts"] if family == "gemini" else showed["content"]
    assert parts[0]["text"] == system_reminder("What you showed:")
    assert len(parts) == 2
    await FAMILIES[family].judge(payload)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("arguments", ["", '{"city": "Os', "[1]", "null", '{"city": NaN}', "[" * 100_000])
async def test_arguments_that_are_no_object_are_none(arguments: str, family: str) -> None:
    """FMT-13: they are JSON in the block and an object to the model: servers fail on a history with broken ones."""
    payload = await FAMILIES[family].chat().format(agent(call(arguments=arguments)))
    written = {
        "openai": lambda: payload[0]["tool_calls"][0]["function"]["arguments"] == "{}",
        "dashscope": lambda: payload[0]["tool_calls"][0]["function"]["arguments"] == "{}",
        "gemini": lambda: payload[0]["parts"][0]["function_call"]["args"] == {},
        "anthropic": lambda: payload[0]["content"][0]["input"] == {},
    }
    assert written[family]()


async def test_what_a_tool_shows_is_named_where_the_program_says_so() -> None:
    """For models without eyes."""
    formatter = FAMILIES["openai"].chat(promote_tool_result_images=False)
    payload = await formatter.format(agent(call(), result([data("image/png")])))
    assert payload == [asked()["openai"], answered("[image/png, which cannot be shown to you]")["openai"]]


async def test_sound_and_film_of_a_tool_are_shown_where_the_program_says_so() -> None:
    formatter = FAMILIES["dashscope"].chat(promote_tool_result_audios=True, promote_tool_result_videos=True)
    payload = await formatter.format(agent(call(), result([data("audio/wav", b"RIFF"), data("video/mp4", b"mp4")])))
    assert payload[1]["content"] == "[audio/wav, shown below]\n[video/mp4, shown below]"
    assert payload[2]["content"][1:] == [
        {"audio": "data:audio/wav;base64,UklGRg=="},
        {"video": "data:video/mp4;base64,bXA0"},
    ]


async def test_ids_of_another_family_take_the_form_that_anthropic_takes() -> None:
    """FMT-12: call and result stay together."""
    blocks: list[Block] = [
        ToolCallBlock(id="a+b/c=", name="weather"),
        ToolResultBlock(id="a+b/c=", name="weather", output="Rain"),
    ]
    payload = await FAMILIES["anthropic"].chat().format(agent(*blocks))
    assert payload[0]["content"][0]["id"] == payload[1]["content"][0]["tool_use_id"] == "a_b_c_"


async def test_redacted_thinking_goes_back_and_thinking_is_never_last() -> None:
    """Anthropic refuses a message that ends with it."""
    redacted = ThinkingBlock(thinking="", redacted_thinking="opaque")
    payload = await FAMILIES["anthropic"].chat().format(agent(redacted, TextBlock(text="Hi"), SIGNED))
    assert payload == [
        {
            "role": "assistant",
            "content": [{"type": "redacted_thinking", "data": "opaque"}, {"type": "text", "text": "Hi"}],
        }
    ]
    await FAMILIES["anthropic"].judge(payload)


async def test_a_signature_belongs_to_the_call_that_it_names() -> None:
    """Whatever stands between: Gemini refuses a call whose signature is missing."""
    named = ThinkingBlock(thinking="", thought_signature="c2ln", tool_call_id="c2")
    calls = [ToolCallBlock(id="c1", name="weather"), ToolCallBlock(id="c2", name="weather")]
    payload = await FAMILIES["gemini"].chat().format(agent(named, TextBlock(text="Hi"), *calls))
    assert [part.get("thought_signature") for part in payload[0]["parts"]] == [None, None, b"sig"]


async def test_a_signature_after_the_words_has_a_part_of_its_own() -> None:
    """Gemini sends one so at the end of a stream. A broken one is left out."""
    broken = ThinkingBlock(thinking="", thought_signature="?")
    payload = await FAMILIES["gemini"].chat().format(agent(broken, TextBlock(text="Hi"), SIGNED))
    assert payload == [{"role": "model", "parts": [{"text": "Hi"}, {"text": "", "thought_signature": b"sig"}]}]
    await FAMILIES["gemini"].judge(payload)


@pytest.mark.parametrize("family", FAMILIES)
async def test_a_pdf_at_a_url_is_read_by_those_that_can(family: str) -> None:
    """FMT-17: the others are given its address as words."""
    payload = await FAMILIES[family].chat().format(user(at_url("application/pdf", "https://example.org/a.pdf")))
    named = "[application/pdf at https://example.org/a.pdf, which cannot be shown to you]"
    reads = {
        "gemini": {"file_data": {"file_uri": "https://example.org/a.pdf", "mime_type": "application/pdf"}},
        "anthropic": {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}},
    }
    expected = {**only_words("Look:", named), **{one: shown("Look:", **{**note(""), **reads})[one] for one in reads}}
    assert payload == [expected[family]]
    await FAMILIES[family].judge(payload)


@pytest.mark.parametrize("family", FAMILIES)
async def test_only_lists_of_messages_are_formatted(family: str) -> None:
    formatter = FAMILIES[family].chat()
    with pytest.raises(TypeError, match="list of messages"):
        await formatter.format("Hello")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not str"):
        await formatter.format(["Hello"])  # type: ignore[list-item]
    assert await formatter.format([]) == []
