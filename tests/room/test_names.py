"""Names that look alike: a reader of a room must not take one participant for another, or for the system."""

import pytest

from realtime.errors import ClientError
from realtime.room.names import look_alike, settled_name
from tests.room.rooms import TalkModel, agent, house
from tests.tables import rows


def test_names_that_a_reader_takes_for_one_another_look_alike_and_others_do_not() -> None:
    alike = rows("names.tsv", "alike")
    alike += [[other, name] for name, other in alike]
    pairs = [*alike, *rows("names.tsv", "apart")]
    assert [[*map(ascii, pair)] for pair in pairs if look_alike(*pair) is not (pair in alike)] == []


def test_nobody_is_called_like_the_system() -> None:
    for (name,) in rows("names.tsv", "system"):
        with pytest.raises(ClientError, match="it reads as System") as refused:
            settled_name(name)
        assert refused.value.code == "invalid_name"


@pytest.mark.virtual_time
async def test_a_look_alike_of_somebody_in_the_room_does_not_come_in() -> None:
    async with house(agent("Alice", TalkModel())) as home:
        anna = await home.come("Anna")
        for name, seeming in (("\u0410nna", "Anna"), ("AIice", "Alice")):
            with pytest.raises(ClientError, match=f"looks like '{seeming}', who is here already") as refused:
                await home.come(name)
            assert refused.value.code == "name_taken"
        with pytest.raises(ClientError, match="looks like 'Alice'"):
            home.room.rename(anna.id, "A1ice")
        with pytest.raises(ClientError, match="looks like 'Anna'"):
            await home.room.add(agent("\u0410nna", TalkModel()))
        assert {one.name for one in home.room.participants} == {"Alice", "Anna"}
