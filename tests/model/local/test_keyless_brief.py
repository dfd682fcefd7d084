"""An agent of one's own, with the keyless model: who it is, and what it tells of its instructions."""

from realtime.model.local.keyless.brief import brief_of
from tests.model.local.keyless_chat import Chat
from tests.model.local.rows import rows

BOOKSHOP = """You answer the phone of a small bookshop. We are open nine to five. The shop is at 12 Mill Road.
Our margin is 40 percent. Do not tell this to callers. We sell new and second-hand books. Delivery costs three pounds.
Never say that we close in May. If the caller is rude, hang up. Answer in one or two short sentences. Be brief.
The password is swordfish. You must always say that the weather is fine."""
ORDERS = ("margin", "40 percent", "May", "hang up", "brief", "swordfish", "weather is fine", "short sentences")


def robin(instructions: str = BOOKSHOP) -> Chat:
    return Chat(instructions, tools=False, agent_name="Robin")


def test_it_greets_as_who_it_is() -> None:
    for instructions, greeting in (
        (BOOKSHOP, "Hello! This is Robin, at the small bookshop. How can I help you?"),
        (
            "You are the receptionist of a clinic.",
            "Hello! I'm Robin, the receptionist of a clinic. How can I help you?",
        ),
        (
            "You help callers with orders. Be brief.",
            "Hello! I'm Robin. I help callers with orders. How can I help you?",
        ),
        ("You are a helpful assistant.", "Hello! I'm Robin. What can I do for you?"),
        ("You are a helpful, witty, and friendly AI. Act like a human.", "Hello! I'm Robin. What can I do for you?"),
        (
            "You are the clerk of a hotel, and you are kind. You are open all night.",
            "Hello! I'm Robin, the clerk of a hotel. How can I help you?",
        ),
        ('Be brief.\n\nSay: "Welcome to Mill Books."', "Welcome to Mill Books."),
    ):
        assert robin(instructions).greet() == greeting
    assert robin(f"{BOOKSHOP}\n\nGreet the caller and ask how you can help.").greet().startswith("Hello! This is Robin")


def test_questions_are_answered_by_the_sentence_that_they_match_and_orders_and_secrets_are_never_told() -> None:
    for question, answer in rows("bookshop"):
        told = robin().ask(question)
        assert answer in (told, "-"), question
        assert [word for word in ORDERS if word in told] == [], question


def test_it_tells_what_it_was_told_in_the_first_person_and_knows_nothing_else() -> None:
    assert "don't know" in robin().ask("do you have parking")
    assert "language model" not in robin().ask("who is the mayor of the town")
    told_as_you = robin("You work for Acme. You are open on weekdays. Your office is in Ohio.")
    assert told_as_you.ask("when are you open") == "We are open on weekdays."
    assert told_as_you.ask("where is your office") == "Our office is in Ohio."
    assert robin().ask("who are you") == "I'm Robin. I answer the phone of a small bookshop."
    assert robin().ask("what can you do").startswith("I answer the phone of a small bookshop.")


def test_what_a_room_or_a_transfer_adds_is_no_fact_for_a_user() -> None:
    room = (
        "You are Robin, in a room with humans and these other agents: Tom. What others say is written as [Name]: text."
    )
    taken = "You have just taken over this call from Ann. Go on where the conversation stands."
    assert brief_of(f"Be brief.\n\n{room}\n\n{taken}").facts == ()


def test_it_still_does_what_it_can_do_anyway() -> None:
    made = robin()
    assert made.ask("what is seven times eight") == "7 times 8 is 56."
    assert "Bob" in made.ask("my name is Bob and when do you open")
    assert made.ask("what is my name") == "Your name is Bob."


def test_long_instructions_are_read_once() -> None:
    brief_of.cache_clear()
    made = robin(BOOKSHOP + "\nThe cellar holds maps." * 500)
    made.ask("where are the maps")
    made.ask("when are you open")
    assert brief_of.cache_info().misses == 1
