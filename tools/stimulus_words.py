"""The wordings of fixtures/audio/listening. Those behind `HELD_OUT` are never used to tune anything."""

from __future__ import annotations

TUNING_VOICES = ("heart", "heart-low", "en-us", "en+f3")
HELD_OUT_VOICES = ("heart-high", "en-gb")

QUESTION = "Tell me about the mountains."
"""The turn that each voice begins a call with."""

BACKCHANNELS = (
    "Mm-hmm.",
    "Uh-huh.",
    "Yeah.",
    "Right.",
    "Okay.",
    "I see.",
    "Got it.",
    "Sure.",
    "Oh.",
    "Wow.",
    "Hmm.",
    "Really?",
    "Mm.",
    "Yeah, yeah.",
)
HELD_OUT_BACKCHANNELS = ("Oh, okay.", "Makes sense.", "Yep.", "Oh, really?", "Exactly.", "Ah, I see.")

INTERRUPTIONS = (
    "Stop.",
    "Wait.",
    "Hold on.",
    "No, actually, I meant the coast.",
    "What about tomorrow?",
    "Can you say that again?",
    "That is not what I asked.",
    "Sorry, which month was that?",
    "Please stop talking.",
    "Let me ask you something else.",
    "How much does it cost?",
    "I have a question about that.",
    "No, no, the other one.",
    "Is there a train as well?",
    "Okay, but what about the weather?",
    "Yeah, but I only have one day.",
)
HELD_OUT_INTERRUPTIONS = (
    "That's enough, thank you.",
    "Just a second, please.",
    "Not October, I said August.",
    "Where does the bus leave?",
    "Could you speak more slowly?",
    "Right, so when should I leave?",
    "Never mind.",
    "I want to change my booking.",
)

SIDE_REMARKS = (
    "Put it over there, please.",
    "I'm on the phone.",
    "Not you, I was talking to Peter.",
    "Can you close the door, Anna?",
    "Dinner is in the oven.",
    "The dog wants to go out.",
    "I'll be down in five minutes.",
    "Have you seen my keys?",
    "Thanks, just leave it on the table.",
    "Tom, turn that music down.",
    "Yes, darling, I'm coming.",
    "Somebody is at the front door.",
)
HELD_OUT_SIDE_REMARKS = (
    "Give me a minute, I'm in a call.",
    "Did you feed the cat, Maria?",
    "The parcel has arrived.",
    "No sugar for me, thanks.",
)

BABBLE = (
    "We went there last summer and it rained the whole week.",
    "He said the meeting is on Thursday, not on Friday.",
    "I think the blue one looks much better in the kitchen.",
    "And then she told me the whole story once again.",
)
TELEVISION = ("Good evening, here is the news.", "The strike of the train drivers goes on until Sunday.")

HOLDS: tuple[tuple[tuple[str, int], ...], ...] = (
    (("I would like a table for two and", 600), ("a glass of water.", 0)),
    (("I need a flight to Rome and", 900), ("a hotel near the station.", 0)),
    (("We could go by train, or", 1_200), ("maybe by car.", 0)),
    (("I called you yesterday because", 600), ("my order did not arrive.", 0)),
    (("I am looking for the", 1_600), ("opening hours of the museum.", 0)),
    (("Could you book it for, um,", 600), ("next Tuesday?", 0)),
    (("My address is, um,", 1_200), ("twelve Station Road.", 0)),
    (("I think it was, uh,", 900), ("in the spring.", 0)),
    (("So, well,", 600), ("how long does it take?", 0)),
    (("It's about, hmm,", 1_600), ("the bill from last month.", 0)),
    (("My number is zero four one,", 600), ("five five two,", 600), ("nine one seven.", 0)),
    (("It is four four,", 900), ("two zero seven,", 900), ("one eight.", 0)),
    (("The code is A seven,", 600), ("K nine,", 300), ("D three.", 0)),
    (("My card ends in eight eight", 1_200), ("four two.", 0)),
    (("Order number one six,", 300), ("three three,", 900), ("seven.", 0)),
    (("I want to change my booking.", 600), ("It is for Friday.", 0)),
    (("The printer does not work.", 900), ("I have already restarted it.", 0)),
    (("I have two questions.", 1_200), ("What does it cost?", 0)),
    (("It was raining.", 600), ("So we stayed at home.", 0)),
    (("I like the red one.", 1_600), ("Do you have it in blue?", 0)),
    (("Please send it to my office", 300), ("in the new building.", 0)),
    (("I was there in May", 600), ("with my whole family.", 0)),
    (("Set an alarm for seven", 900), ("on working days.", 0)),
    (("If it rains tomorrow,", 600), ("what should we do?", 0)),
    (("When I get home,", 300), ("turn the heating on.", 0)),
    (("I spell it M,", 600), ("A, Y,", 600), ("E, R.", 0)),
    (("First I would like to know", 900), ("who is in charge.", 0)),
    (("Tell my sister that", 1_200), ("I will be late.", 0)),
    (("The red bag,", 600), ("the one with the wheels,", 300), ("is missing.", 0)),
    (("You said ten o'clock,", 900), ("but the door was closed.", 0)),
)
"""Turns with pauses inside: each part, and the silence behind it in ms."""
HELD_OUT_HOLDS: tuple[tuple[tuple[str, int], ...], ...] = (
    (("I wanted to ask whether", 1_200), ("dogs are allowed.", 0)),
    (("My birthday is the, um,", 900), ("third of June.", 0)),
    (("The reference is B two,", 600), ("zero,", 600), ("nine nine.", 0)),
    (("I moved house.", 1_200), ("Can you update my address?", 0)),
    (("After the meeting", 600), ("we should talk again.", 0)),
    (("Give me the first, and", 1_600), ("the last one.", 0)),
)
