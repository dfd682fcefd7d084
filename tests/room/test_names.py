"""Names that look alike: a reader of a room must not take one participant for another, or for the system."""

import pytest

from realtime.errors import ClientError
from realtime.room.names import look_alike, settled_name
from tests.room.rooms import TalkModel, agent, house

PAIRS = [
    # Other scripts.
    ("Ann", "\u0410nn"),
    ("Ann", "\u0391nn"),
    ("Sue", "\u0405ue"),
    ("Kate", "\u039aate"),
    ("Kate", "\u13e6ate"),
    ("Max", "\u041c\u0430\u0445"),
    ("ann", "\u0251\u0578\u0578"),
    ("Omar", "\u0555mar"),
    ("Bob", "B\u03bfb"),
    # Letters and digits of one script.
    ("Alice", "AIice"),
    ("Alice", "A1ice"),
    ("ALICE", "AL\u0406CE"),
    ("alice", "AL\u0406CE"),
    ("Ida", "lda"),
    ("Ida", "|da"),
    ("Oscar", "0scar"),
    # Letters that run together, and what the tables of the library lack.
    ("Emma", "Ernma"),
    ("Mia", "rnia"),
    ("Will", "VVill"),
    ("Will", "\u2cb0ill"),
    ("Tom", "\u01abom"),
    ("Nora", "N\u07cbra"),
    # Marks, shapes, spaces and signs.
    ("Ann", "A\u00f1\u00f1"),
    ("Ann", "A\u0338nn"),
    ("May", "Ma\u1ef5"),
    ("Ann", "\U0001d400nn"),
    ("Emma", "\u1d07mma"),
    ("Ann 2", "Ann2"),
    ("Ann", "Ann."),
    ("Jean-Luc", "Jean\u2010Luc"),
]


@pytest.mark.parametrize(("name", "other"), PAIRS, ids=lambda name: ascii(name))
def test_names_that_a_reader_takes_for_one_another_look_alike(name: str, other: str) -> None:
    assert look_alike(name, other)
    assert look_alike(other, name)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        *[("Ann", "Anna"), ("Ann", "Hanna"), ("Bob", "Ben"), ("Lea", "Leo"), ("Tom", "Tim"), ("Carl", "Karl")],
        *[("Clara", "Dara"), ("Ann", "Ann 2"), ("Ida", "Ina"), ("Ann", "\u5b89"), ("\u674e", "\u738b")],
        *[("\u3042\u3044\u3053", "\u3042\u304d\u3053"), ("\u0645\u0631\u064a\u0645", "\u0645\u0631\u064a\u0645\u0629")],
        *[("\u0915\u093f", "\u0915\u0941"), ("\N{GRINNING FACE}", "\N{HEAVY BLACK HEART}"), ("...", "!!!")],
    ],
    ids=lambda name: ascii(name),
)
def test_different_names_do_not(name: str, other: str) -> None:
    assert not look_alike(name, other)


@pytest.mark.parametrize(
    "name", ["System", "SYSTEM", "S\u0443stem", "\u0405\u0443\u0455t\u0435m", "Sys tem", "System:"]
)
def test_nobody_is_called_like_the_system(name: str) -> None:
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


@pytest.mark.virtual_time
async def test_two_of_one_name_are_still_told_apart_by_a_number() -> None:
    async with house(agent("Alice", TalkModel())) as home:
        assert [(await home.come(name)).name for name in ("Anna", "ANNA", "Anna")] == ["Anna", "ANNA 2", "Anna 3"]
