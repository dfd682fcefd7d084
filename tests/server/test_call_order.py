"""What clients may rely on in the order of a call (docs/protocol.md, docs/lifecycle.md)."""

import pytest

from realtime.event import model as m
from tests.agent.fakes import FakeModel
from tests.real_loop import settled
from tests.server.harness import Client, FakeSocket, Place, begun_calls, create, serving
from tests.server.steps import TEXT, calling, friday
from tests.server.test_consent import PAID, paying_agent

# -- how it ends -------------------------------------------------------------------------------------------------------


async def resumed(place: Place, created: dict[str, str]) -> str:
    """What a client is answered that comes back: `server_session_resumed`, or the code of the error."""
    async with place.client() as client:
        await client.send({"type": "client_session_resume", "token": created["resume_token"], "last_seq": 0})
        answer = await client.next()
        return str(answer.get("code", answer["type"]))


async def close_without_a_code(client: Client) -> None:
    """As a page does by `socket.close()`."""
    client.connection.protocol.send_close()
    client.connection.send_data()
    await client.connection.wait_closed()


@pytest.mark.parametrize("code", [1000, None])
async def test_a_socket_closed_with_1000_ends_its_call_and_one_without_a_code_leaves_it_to_be_resumed(
    code: int | None,
) -> None:
    async with serving() as place:
        begun = begun_calls(place.calls)
        async with place.client() as client:
            created = await client.make_call()
            if code is None:
                await close_without_a_code(client)
            else:
                await client.connection.close(code)
                await settled(lambda: place.calls.running == 0)
        assert await resumed(place, created) == ("invalid_resume_token" if code else "server_session_resumed")
        assert len(begun) == 1


@pytest.mark.virtual_time
@pytest.mark.parametrize("native", [True, False])
async def test_what_is_told_outside_a_call_has_no_place_in_its_log(native: bool) -> None:
    async with FakeSocket(native=native) as client:
        client.say(TEXT, create())
        await client.until("agent_ready")
        error, created, *_ = client.sent
        assert error["code"] == "no_session"
        assert "seq" not in error
        assert created["seq"] == 1


# -- what comes in between ---------------------------------------------------------------------------------------------


@pytest.mark.virtual_time
async def test_an_answer_with_a_tool_is_two_responses() -> None:
    PAID.clear()
    async with FakeSocket(paying_agent) as client:
        client.say(create(), TEXT)
        asking = await client.until("agent_response_tool_use_done")
        first = await client.until("agent_response_done")
        assert asking["response_id"] == first["response_id"]
        assert "agent_response_audio_delta" not in client.types, "the first one only asks"
        answer = {"type": "client_tool_result", "id": asking["tool_use"]["id"], "name": "pay", "output": ""}
        client.say(answer | {"confirmed": True})
        second = await client.until("agent_response_done", 2)
        order = ["agent_response_tool_result", "agent_response_created", "agent_response_audio_delta"]
        after = client.types[client.types.index("agent_response_done") + 1 :]
        assert sorted(order, key=after.index) == order
        assert second["response_id"] != first["response_id"]


@pytest.mark.virtual_time
@pytest.mark.parametrize("transcribed", ["before", "during", "after"])
async def test_the_user_s_words_may_come_before_during_or_after_the_answer(transcribed: str) -> None:
    model = FakeModel()
    async with calling(friday(model)) as client:
        words = m.ModelInputTranscriptionDoneEvent(item_id="u1", transcript="Hello?")
        model.link.hear_start("u1")
        model.link.hear_end("u1", 500)
        if transcribed == "before":
            model.link.say(words)
        response_id = model.link.begin()
        if transcribed == "during":
            model.link.say(words)
        model.link.speak(response_id, 400, "Yes.")
        model.link.finish(response_id, "Yes.")
        if transcribed == "after":
            model.link.say(words)
        done = await client.until("agent_input_transcription_done")
        assert done["transcript"] == "Hello?"
        of_the_answer = ["agent_response_created", "agent_response_audio_delta", "agent_response_audio_done"]
        of_the_answer += ["agent_response_audio_transcript_done", "agent_response_done"]
        assert sorted(of_the_answer, key=client.types.index) == of_the_answer
        place = client.types.index("agent_input_transcription_done")
        begins, ends = client.types.index("agent_response_created"), client.types.index("agent_response_done")
        assert {"before": place < begins, "during": begins < place < ends, "after": ends < place}[transcribed]
