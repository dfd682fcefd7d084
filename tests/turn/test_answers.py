"""What the words of the asked person mean to an open question: a yes only where every word belongs to it."""

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from bench.consent.answers import labelled_answers
from realtime.tool.spoken_numbers import in_words
from realtime.turn.answer_changes import fits
from realtime.turn.answer_phrases import PHRASES, Kind
from realtime.turn.answer_words import NEGATIONS
from realtime.turn.answers import Answer, Reading, read_answer

QUESTION = "Shall I book a table for four people on Friday?"
ARGUMENTS = {"people": 4, "day": "Friday"}
SCHEMA = {
    "type": "object",
    "properties": {"people": {"type": "integer", "minimum": 1, "maximum": 12}, "day": {"type": "string"}},
}
PAYMENT = "Shall I send three hundred euros to Bob?"
PAID = {"amount": 300, "currency": "EUR", "recipient": "Bob", "account": "4471"}
PAYING = {"type": "object", "properties": {"amount": {"type": "number"}, "recipient": {"type": "string"}}}
GERMAN = "Soll ich einen Tisch für vier Personen am Freitag buchen?"
SPANISH = "¿Reservo una mesa para cuatro personas el viernes?"
CHINESE = "要我订一张星期五四个人的桌子吗？"
NOT_WHAT_WAS_ASKED = {
    QUESTION: (
        "Hello yes|Okay in the future|Yes, coming|Okay let me check|I see|Got it|Yes you said that|Sure, tell me more|"
        "Yes, four or five|Yes, four people and a dog|Yes, after you tell me the price|Yes, for two|Yes, forty|"
        "Yes, the fourth|Yes, next Friday|Yes, not next Friday|Yes in four minutes|Do it tomorrow|Do it yourself|"
        "Go ahead without me|Go ahead and cancel|Confirm the price first|Correct the date|Please do not|"
        "Please do it later|Please do nothing|Definitely maybe|Absolutely no way|It's okay|That's okay, thanks|"
        "No that's fine|I'm good thanks|Perfect storm|yes, unless it rains"
    ),
    PAYMENT: "Yes, to Anna|Yes, to Bob and Anna|Yes, three|Yes thirty euros|Yes, send Bob|Yes, from Bob|Yes, to bobby",
    "Shall I cancel your order of two pizzas?": "Yes, keep it|Yes, cancel one|Yes, cancel my pizza|Keep it, yes",
    GERMAN: "Ja, hallo|Ja schon|Schon gut|Das passt mir nicht|Ja, für zwei|Ja, am Samstag|Ja, in Zukunft|Klar, teuer",
    SPANISH: "Ya|Ya está|Sí, dígame|Claro que no|Sí, mañana|Sí, para dos|Está bien, déjalo|Claro, si es gratis|Bueno",
    CHINESE: "好了|对了|行了|可以了|好不好|好久不见|要是便宜就好|好吧算了|对，五个人|好，星期六|是他说的|对面那家",
}
QUESTIONS = {"en": QUESTION, "de": GERMAN, "es": SPANISH, "zh": CHINESE}


def read(words: str, question: str = QUESTION, **arguments: object) -> Reading:
    return read_answer(words, arguments or ARGUMENTS, SCHEMA, question)


def pay(words: str) -> Reading:
    return read_answer(words, PAID, PAYING, PAYMENT)


def meaning(words: str, question: str = QUESTION) -> str:
    return str(read(words, question).answer)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("yes", "yes, Yes., yeah yeah, um yep, yep that's right, go ahead, do it, please do, I said yes, book it"),
        ("no", "no, no thanks, don't, not yet, please don't, I said no, don't book it, never mind, actually no, stop"),
        ("question", "how much is it?, what was that?, say it again, yes?, sorry?, yes how much is it, which friday"),
        (
            "other",
            "she said yes, I guess, if it is free, yeah no, hold on, maybe, no problem, mm-hmm, okay so, yes but",
        ),
        ("change", "yes but only five, make it five, no for Anna, yes but with a window seat, one more, the other one"),
    ],
)
def test_what_people_say_is_read_as_they_mean_it(answer: str, words: str) -> None:
    assert {said: meaning(said) for said in words.split(", ")} == dict.fromkeys(words.split(", "), answer)


@pytest.mark.parametrize(
    "words",
    [
        "yes, that is what she said",
        "okay, but wait",
        "yes, and by the way what's the weather",
        "she said yes do it",
        "Yes honey, I'm coming.",
        "yes if it is free",
        "I would say yes",
        "Thank you.",
        "You",
        "Right.",
        "Right, so",
        "Yes, so",
        "yes to Anna",
        "yes yes no",
        "",
        "...",
        "yes " * 2_000,
    ],
)
def test_a_sentence_that_only_contains_yes_or_nothing_does_not_consent(words: str) -> None:
    assert read(words).answer is not Answer.YES


@pytest.mark.parametrize("question", NOT_WHAT_WAS_ASKED)
def test_words_of_agreement_for_something_else_do_not_consent(question: str) -> None:
    said = NOT_WHAT_WAS_ASKED[question].split("|")
    assert [words for words in said if read(words, question).answer is Answer.YES] == []
    assert [words for words in said if pay(words).answer is Answer.YES] == []


@pytest.mark.parametrize("words", ["please don't do that", "no, don't do it", "please, do not go ahead", "don't, yes"])
def test_a_refusal_is_not_cut_so_that_agreement_is_left(words: str) -> None:
    assert read(words).answer is not Answer.YES
    assert meaning("please don't do that") == "no"


@pytest.mark.parametrize(("words", "people"), [("yes but only {}", 5), ("make it {}", 9), ("no, {} people", 12)])
@pytest.mark.parametrize("language", ["words", "digits"])
def test_the_one_number_of_the_question_changes(words: str, people: int, language: str) -> None:
    said = str(people) if language == "digits" else in_words(people, "en")
    assert read(words.format(said)) == Reading(Answer.CHANGE, changed={"people": people, "day": "Friday"})


@pytest.mark.parametrize("words", ["yes but only for people", "yes but just for", "make it for"])
def test_four_is_heard_behind_only_though_it_is_written_as_for(words: str) -> None:
    changed = read(words, "Shall I book a table for six people on Friday?", people=6, day="Friday").changed
    assert changed == {"people": 4, "day": "Friday"}


@pytest.mark.parametrize(
    ("words", "question", "changed"),
    [
        ("no, make it Saturday", QUESTION, {"day": "Saturday"}),
        ("not friday, sunday", QUESTION, {"day": "Sunday"}),
        ("make it tomorrow", QUESTION, {"day": "tomorrow"}),
        ("five instead of four", QUESTION, {"people": 5}),
        ("ja, aber nur fünf", GERMAN, {"people": 5}),
        ("nein, am Samstag", QUESTION, {"day": "Saturday"}),
        ("sí, pero solo cinco", SPANISH, {"people": 5}),
        ("好的，但是只要五个人", CHINESE, {"people": 5}),
    ],
)
def test_a_new_value_takes_the_place_of_the_one_that_was_asked_about(
    words: str, question: str, changed: dict[str, object]
) -> None:
    assert read(words, question).changed == {**ARGUMENTS, **changed}


@pytest.mark.parametrize(
    ("words", "old", "new"),
    [
        ("no, at eight", "19:30", "20:00"),
        ("no, seven thirty in the morning", "19:30", "07:30"),
        ("make it half past eight", "7:30 PM", "8:30 PM"),
        ("at 9:15", "19:30", "21:15"),
    ],
)
def test_a_time_changes_in_the_form_that_the_argument_has(words: str, old: str, new: str) -> None:
    assert read(words, "Shall I set an alarm for seven thirty PM?", time=old).changed == {"time": new}


def test_a_day_of_the_month_changes_an_iso_date_within_its_month() -> None:
    question = "Shall I book Saturday, November twenty-eighth, twenty twenty-six?"
    assert read("no, on the thirtieth", question, date="2026-11-28").changed == {"date": "2026-11-30"}
    assert read("no, on the 31st", question, date="2026-11-28") == Reading(Answer.CHANGE)


def test_a_value_that_the_schema_lists_changes_its_argument() -> None:
    schema = {"properties": {"size": {"type": "string", "enum": ["small", "medium", "extra_large"]}}}
    question = "Shall I order the shirt in medium?"
    assert read_answer("extra large please", {"size": "medium"}, schema, question).changed == {"size": "extra_large"}
    assert read_answer("yes, medium", {"size": "medium"}, schema, question).answer is Answer.YES


@pytest.mark.parametrize(
    ("words", "recipient"),
    [
        ("no to anna", "Anna"),
        ("No, to Anna.", "Anna"),
        ("Yes, but to Anna Maria please.", "Anna Maria"),
        ("Not to Bob, to Peter.", "Peter"),
    ],
)
def test_a_name_changes_and_is_written_as_the_old_one(words: str, recipient: str) -> None:
    assert pay(words).changed == {**PAID, "recipient": recipient}


@pytest.mark.parametrize(
    "words",
    ["no, to my sister", "two hundred dollars", "yes but from the other account", "no, 300 or 400"],
)
def test_a_change_that_is_not_certain_is_left_to_the_model(words: str) -> None:
    assert pay(words) == Reading(Answer.CHANGE)


@pytest.mark.parametrize(
    "words", ["make it twenty", "yes at eight", "twelve more people", "five or six please", "two more chairs"]
)
def test_values_that_do_not_fit_or_are_not_clear_change_nothing_by_themselves(words: str) -> None:
    assert read(words) == Reading(Answer.CHANGE)


def test_an_amount_with_cents_is_one_number_that_may_be_repeated_and_changed() -> None:
    question, paid = "Shall I send forty-five euros and fifty cents to Bob?", {"amount": 45.5, "recipient": "Bob"}
    assert read_answer("yes, send it", paid, PAYING, question).answer is Answer.YES
    assert read_answer("yes, 45.50", paid, PAYING, question).answer is Answer.YES
    assert read_answer("yes, fifty cents", paid, PAYING, question).answer is not Answer.YES
    assert read_answer("only forty", paid, PAYING, question).changed == {**paid, "amount": 40}
    assert read_answer("make it 30 euros and 20 cents", paid, PAYING, question).changed == {**paid, "amount": 30.2}


def test_an_account_number_is_no_amount() -> None:
    assert pay("make it two hundred").changed == {**PAID, "amount": 200}


@pytest.mark.parametrize(
    ("words", "question"),
    [
        ("yes always", QUESTION),
        ("yes, and don't ask me again", QUESTION),
        ("ja, und frag nicht mehr", GERMAN),
        ("sí, y no preguntes más", SPANISH),
        ("好的，以后不用再问了", CHINESE),
    ],
)
def test_a_yes_may_hold_for_later_calls(words: str, question: str) -> None:
    assert read(words, question) == Reading(Answer.YES, always=True)


@pytest.mark.parametrize("words", ["don't ask again", "no, and don't ask again", "always?", "he always says yes"])
def test_always_alone_or_beside_a_no_agrees_to_nothing(words: str) -> None:
    assert read(words) in (Reading(Answer.NO), Reading(Answer.OTHER), Reading(Answer.QUESTION))


def test_a_question_for_cancelling_is_agreed_to_by_its_own_word_only_beside_a_yes() -> None:
    question = "Shall I cancel the order?"
    assert meaning("yes, cancel it", question) == "yes"
    assert meaning("cancel it", question) == "other"
    assert meaning("no, don't cancel it", question) == "no"
    assert meaning("yes, cancel it") == "other"


@pytest.mark.parametrize("words", ["yes, four people", "yes, on Friday", "yes book a table for four", "yes, book it"])
def test_a_yes_may_repeat_a_piece_of_the_question(words: str) -> None:
    assert meaning(words) == "yes"


@pytest.mark.parametrize(
    ("words", "question"),
    [
        ("yes, to Anna", "Shall I send the letter from Anna to Bob?"),
        ("yes, send the mail", "Shall I send the mail and delete the draft?"),
        ("yes, on Friday", "Shall I book tables on Friday and Saturday?"),
    ],
)
def test_a_yes_to_a_part_of_the_question_is_no_yes(words: str, question: str) -> None:
    assert read(words, question, to="Bob").answer is not Answer.YES


@pytest.mark.parametrize("begin", range(9))
def test_an_echo_of_the_question_does_not_answer_it(begin: int) -> None:
    words = f"{QUESTION} Yes or no?".split()
    for end in range(begin + 2, len(words) + 1):
        assert read(" ".join(words[begin:end]).rstrip("?"), f"{QUESTION} Yes or no?").answer is not Answer.YES


@pytest.mark.parametrize("language", QUESTIONS)
def test_every_phrase_of_refusal_doubt_and_waiting_is_read_as_such(language: str) -> None:
    for phrase, kind in PHRASES[language].items():  # type: ignore[index]
        words = " ".join(phrase)
        if kind in (Kind.NO, Kind.DOUBT, Kind.WAIT, Kind.ASK, Kind.CHANGE, Kind.EXCEPT, Kind.SORRY, Kind.WARM):
            assert read(words, QUESTIONS[language]).answer is not Answer.YES, words


MIND = "Do you mind if I cancel the hotel in Rome?"
MIND_GERMAN = "Haben Sie etwas dagegen, wenn ich das Hotel storniere?"
MIND_SPANISH = "¿Le importa si cancelo el hotel de Roma?"
MIND_CHINESE = "您介意我取消罗马的酒店吗?"


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (MIND, "not at all|no, go ahead|not at all, cancel it|I don't mind|no, cancel it|yes, go ahead|of course not"),
        (MIND_GERMAN, "nein, nur zu|überhaupt nicht|nein, stornieren Sie es"),
        (MIND_SPANISH, "no, adelante|para nada|no, cancélelo"),
        (MIND_CHINESE, "不介意|没关系，取消吧"),
    ],
)
def test_who_does_not_mind_consents(question: str, words: str) -> None:
    assert {said: meaning(said, question) for said in words.split("|")} == dict.fromkeys(words.split("|"), "yes")


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (MIND, "yes|yeah|sure|yes please|no|no?|not at all?|not at all um|not at all, but wait|no, cancel the flight"),
        (MIND, "she doesn't mind|I wouldn't cancel it|no don't cancel it|yes I do|I don't mind if you keep it"),
        (MIND_GERMAN, "ja|nein|ja bitte|klar|nein, nicht stornieren"),
        (MIND_SPANISH, "sí|no|claro|no cancele el hotel|no me importa no cancele el hotel"),
        (MIND_CHINESE, "是|不|嗯|不取消|不介意 不取消"),
    ],
)
def test_a_yes_or_no_alone_to_do_you_mind_does_not_consent(question: str, words: str) -> None:
    assert [said for said in words.split("|") if meaning(said, question) == "yes"] == []


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (MIND, "yes I do mind"),
        (MIND_GERMAN, "ja, das stört mich"),
        (MIND_SPANISH, "sí me importa"),
        (MIND_CHINESE, "介意"),
    ],
)
def test_who_minds_refuses(question: str, words: str) -> None:
    assert meaning(words, question) == "no"


@given(
    st.lists(st.sampled_from(["yes", "yeah", "sure", "okay", "um", "please", "well", "ja", "sí", "是"]), max_size=4),
    st.sampled_from([MIND, MIND_GERMAN, MIND_SPANISH, MIND_CHINESE]),
)
def test_agreement_without_a_word_for_the_deed_never_consents_to_do_you_mind(words: list[str], question: str) -> None:
    assert meaning(" ".join(words), question) != "yes"


LIGHT = "Should I turn off the heating in the bedroom?"
CALL = "Soll ich Bob anrufen?"
MAIL = "¿Quieres que envíe el correo a Ana?"
TO_ANNA = "要转三百欧元给安娜吗？"
ORDERS = {
    LIGHT: "yes turn it off|yeah turn the heating off|yes, switch it off|please turn off the heating",
    "Shall I book you in on Tuesday?": "yes book me in|please book me in",
    "Shall I email your contract to Priya?": "yes email it|please email it to Priya|yes mail her the contract",
    "Shall I block the card ending in four four one two?": "yes that one for for one two|yes block it",
    "Do you want me to call Jake back?": "I do|yes ring him back",
    "Is it okay if I delete the recording?": "it's okay|delete it please",
    CALL: "ja ruf ihn an|ja bitte anrufen",
    "Soll ich das Licht im Bad einschalten?": "ja schalt es ein|bitte schalt das Licht ein",
    MAIL: "sí, envíalo|sí envíaselo|envíalo por favor",
    TO_ANNA: "没错 转给安娜|请转|好的 转给她",
}
OTHER_ORDERS = {
    LIGHT: "yes turn it on|yes turn it up|turn it down please|turn off the radio please|turn off the heating",
    "Shall I book you in on Tuesday?": "book me out|yes book him in on Friday|the second yeah um|yes book the",
    "Shall I email your contract to Priya?": "yes email me the contract|please email it to me|please email",
    "Shall I block the card ending in four four one two?": "yes four four two one|yes four one four two",
    "Do you want me to call Jake back?": "I do not|I do, thanks|yes call me back|yes call Jane back",
    "Is it okay if I delete the recording?": "it's okay, thanks|it's okay but|it's not okay|it's okay um",
    "Soll ich das Licht im Bad einschalten?": "ja schalt es aus|ja schalt das Radio ein",
    CALL: "ja ruf mich an|ja ruf ihn nicht an|ja ruf Anna an|bitte",
    MAIL: "sí envíame el correo|si envías el correo|sí envíalo a Luis|si lo envías",
    TO_ANNA: "没错吧|要是没错|请不要转|好的 转给鲍勃",
}


@pytest.mark.parametrize("question", ORDERS)
def test_an_order_to_do_what_was_asked_consents(question: str) -> None:
    said = ORDERS[question].split("|")
    assert {words: meaning(words, question) for words in said} == dict.fromkeys(said, "yes")


@pytest.mark.parametrize("question", OTHER_ORDERS)
def test_an_order_for_something_else_or_half_of_one_does_not_consent(question: str) -> None:
    assert [words for words in OTHER_ORDERS[question].split("|") if meaning(words, question) == "yes"] == []


@pytest.mark.parametrize(
    ("answer", "words", "question"),
    [
        ("no", "keep it", "Should I delete the file?"),
        ("no", "not interested", QUESTION),
        ("no", "I'd rather you didn't", QUESTION),
        ("no", "hold off", QUESTION),
        ("change", "from checking please", "Shall I send three hundred euros from savings to Bob?"),
        ("change", "the invoice, not the contract", "Shall I email the contract to Priya?"),
        ("change", "no, the one ending in four four two one", "Shall I block the card ending in four four one two?"),
        ("question", "is breakfast in there", QUESTION),
    ],
)
def test_refusals_changes_and_questions_of_other_forms(answer: str, words: str, question: str) -> None:
    assert meaning(words, question) == answer


@pytest.mark.parametrize(
    ("words", "people", "day"),
    [
        ("five people on Saturday", 5, "Saturday"),
        ("make it five on Saturday", 5, "Saturday"),
        ("one more person", 5, "Friday"),
        ("two more please", 6, "Friday"),
        ("one less", 3, "Friday"),
        ("another person", 5, "Friday"),
        ("double", 8, "Friday"),
        ("no, just two of us", 2, "Friday"),
        ("two is enough", 2, "Friday"),
    ],
)
def test_several_values_and_more_or_less_change_what_they_count(words: str, people: int, day: str) -> None:
    assert read(words).changed == {"people": people, "day": day}


@pytest.mark.parametrize(
    ("words", "time"),
    [
        ("ten minutes earlier", "14:50"),
        ("an hour later please", "16:00"),
        ("half an hour later", "15:30"),
        ("four is better", "16:00"),
        ("make it half past for", "16:30"),
        ("eine Stunde früher", "14:00"),
        ("una hora más tarde", "16:00"),
        ("晚半个小时", "15:30"),
    ],
)
def test_a_time_changes_by_what_is_added_and_by_a_bare_hour(words: str, time: str) -> None:
    questions = {"e": "Soll ich den Termin um drei buchen?", "u": "¿Reservo a las tres?", "晚": "要我订下午三点的吗？"}
    question = questions.get(words[0] if words[0] in "u晚" or words.startswith("eine") else "", "")
    question = question or "Shall I book the appointment at three?"
    assert read(words, question, time="15:00").changed == {"time": time}


@pytest.mark.parametrize(
    "words", ["make it eight", "seven is better", "eight", "just an hour", "a bit later", "one more"]
)
def test_a_number_that_may_be_a_time_or_a_count_is_left_to_the_model(words: str) -> None:
    question = "Shall I book a table for six people on Friday at seven?"
    changed = read(words, question, people=6, day="Friday", time="19:00").changed
    assert changed is None or words == "one more"


@pytest.mark.parametrize(
    ("words", "question", "old", "new"),
    [
        (
            "the invoice, not the contract",
            "Shall I mail the contract to Bob?",
            {"file": "contract"},
            {"file": "invoice"},
        ),
        (
            "not the contract, the invoice",
            "Shall I mail the contract to Bob?",
            {"file": "contract"},
            {"file": "invoice"},
        ),
        ("the red one, not the blue one", "Shall I return the blue hat?", {"item": "blue hat"}, {"item": "red hat"}),
        ("the Sunday show", "Shall I book the Saturday show?", {"show": "Saturday show"}, {"show": "Sunday show"}),
        ("flowers instead", "Shall I send chocolates to Bob?", {"item": "chocolates"}, {"item": "flowers"}),
        ("no, the kitchen", "Shall I turn on the light in the hall?", {"room": "hall"}, {"room": "kitchen"}),
        ("from savings", "Shall I pay it from your giro account?", {"from": "giro"}, {"from": "savings"}),
        ("yes but to anna smith", "Shall I call it to Bob Smith?", {"to": "Bob Smith"}, {"to": "Anna Smith"}),
        ("den Vertrag, nicht die Rechnung", "Soll ich die Rechnung senden?", {"was": "Rechnung"}, {"was": "Vertrag"}),
        ("si pero a pedro", "¿Le envío el mensaje a Ana?", {"to": "Ana"}, {"to": "Pedro"}),
        ("给李老师", "要我发给王老师吗？", {"to": "王老师"}, {"to": "李老师"}),
        ("no, four four two one", "Shall I block card four four one two?", {"card": "4412"}, {"card": "4421"}),
    ],
)
def test_other_words_take_the_place_of_the_argument_that_they_stand_for(
    words: str, question: str, old: dict[str, object], new: dict[str, object]
) -> None:
    assert read_answer(words, old, {}, question) == Reading(Answer.CHANGE, changed=new)


@pytest.mark.parametrize(
    "words",
    [
        "no sugar for me thanks",
        "thanks, just leave it on the table",
        "I'm on the phone",
        "the not one to go out",
        "no cake today",
        "leave it on the shelf",
    ],
)
def test_what_is_said_to_others_neither_refuses_nor_changes(words: str) -> None:
    assert meaning(words) == "other"


@pytest.mark.parametrize(
    "words",
    [
        "no, we'll cook at home",
        "no she's allergic",
        "no Friday is bad, leave it",
        "no thanks, I get enough of them",
        "no I'd like to keep it after all",
        "nein, wir haben keine Zeit",
        "no, ya cenamos en casa",
    ],
)
def test_a_no_with_its_reason_refuses(words: str) -> None:
    assert (
        meaning(
            words, {"n": GERMAN, "y": SPANISH}.get("n" if "wir" in words else "y" if "ya" in words else "", QUESTION)
        )
        == "no"
    )


@pytest.mark.parametrize(
    ("words", "question"),
    [
        ("Friday is great", QUESTION),
        ("Friday works for me", QUESTION),
        ("Freitag passt mir", GERMAN),
        ("Friday is great, book it", QUESTION),
        ("you can", "Can I delete the file?"),
        ("ja kündige es", "Soll ich das Abo kündigen?"),
        ("sí, elimínalo", "¿Borro el archivo?"),
        ("ja, entfern sie", "Soll ich die Datei löschen?"),
        ("调吧", "要把暖气调到二十二度吗?"),
        ("yes, nine on Monday", "Shall I bring the car in on Monday at nine?"),
    ],
)
def test_agreement_in_the_words_of_the_question(words: str, question: str) -> None:
    assert meaning(words, question) == "yes"


@pytest.mark.parametrize(
    ("words", "question"),
    [
        ("Friday is okay", QUESTION),
        ("Friday works for her", QUESTION),
        ("the table is great", QUESTION),
        ("yes, Bob before Anna", "Shall I move the talk with Anna before the talk with Bob?"),
        ("yes, Anna instead of Bob", "Shall I invite Bob instead of Anna?"),
        ("yes, new to old", "Shall I copy the file from old to new?"),
        ("yes on Monday", "Shall I book the room until Monday?"),
        ("yes, order it", "Shall I cancel the order?"),
        ("yes darling", QUESTION),
        ("yes, my dentist is great", "Shall I call the dentist?"),
        ("yes, just wedding", "Shall I save that as a note called wedding ideas?"),
        ("yes, just the one", QUESTION),
        ("sí mi amor", SPANISH),
        ("ja Schatz", GERMAN),
    ],
)
def test_the_words_of_the_question_in_another_sense_do_not_consent(words: str, question: str) -> None:
    assert meaning(words, question) != "yes"


GYM = "Do you want me to permanently cancel your gym membership?"
PLUMBER = "Would you like me to book the plumber for Wednesday at ten?"
VIDEOS = "¿Borro los videos viejos de la memoria?"
HEATING = "Soll ich die Heizung im Bad einschalten?"
MEMBER = "要我帮你取消视频会员吗?"
AGREED = {
    GYM: "yep bin it|yes I want it cancelled|please do I never go|yes I never use it|yes dear if you would",
    PLUMBER: "sure why not|oh my god yes|do it I'm home then|yes ma'am book him|great yeah book that in",
    "Shall I order a taxi to the station?": "yep get me a cab|correct order the cab|yes get it booked",
    "Shall I pay forty pounds to Oxfam?": "yes forty quid|okay no problem",
    VIDEOS: "bórralos|sí porfa bórralos|sí ya no los necesito|sí quiero que los borres",
    HEATING: "ja mach an|schalt sie bitte ein|ja mir ist kalt|jep passt scho",
    MEMBER: "好的取消吧|可以没问题|成|好 我不看了",
}
NOT_AGREED = {
    GYM: "I never use it|yes I want it|yes I don't want it cancelled|yes I never miss it|do it I dare you|yes honey|"
    "yes please I'd love a coffee|yes I'm late I'll call you back|yes if you would wait|please do I don't use it but",
    PLUMBER: "yes to my friend|yes if he's cheap|yes I'm home|yes call honey|sure why not tomorrow|yes get me a beer|"
    "yes I'm free on Thursday|why not|no problem|yes it's too late",
    VIDEOS: "ya no los necesito|sí quiero los videos|bórralos cuando termines|sí bórralos menos uno|cómo no lo sabía",
    HEATING: "ja mach aus|ja mach lauter|ja die Heizung ist kaputt|ja gleich|na super|ja mir ist egal|ja an den Chef",
    MEMBER: "我要会员|好 我在家|可以是可以|好 我哥要|不要取消|成不成|对 我是会员",
}


@pytest.mark.parametrize("question", AGREED)
def test_plain_agreement_with_a_reason_an_address_or_other_words_for_the_deed_consents(question: str) -> None:
    said = AGREED[question].split("|")
    assert {words: meaning(words, question) for words in said} == dict.fromkeys(said, "yes")


@pytest.mark.parametrize("question", NOT_AGREED)
def test_a_reason_for_something_else_or_without_agreement_does_not_consent(question: str) -> None:
    assert [words for words in NOT_AGREED[question].split("|") if meaning(words, question) == "yes"] == []


@pytest.mark.parametrize("words", ["yes", "yes please", "please do", "yes it's urgent", "do it I've got it backed up"])
@pytest.mark.parametrize(
    "more", ["but", "if", "unless he", "only", "wait", "instead", "until noon", "later", "for Dave"]
)
def test_what_limits_an_agreement_is_never_part_of_it(words: str, more: str) -> None:
    assert meaning(f"{words} {more}", PLUMBER) != "yes"
    assert meaning(f"{more} {words}", PLUMBER) != "yes"


def test_no_labelled_answer_that_does_not_consent_is_read_as_a_yes() -> None:
    wrong = [
        one.words for one in labelled_answers() if Answer.YES not in one.answers and one.read().answer is Answer.YES
    ]
    assert wrong == []


def test_another_day_that_would_be_better_changes_the_day() -> None:
    assert read("Saturday would be better").changed == {**ARGUMENTS, "day": "Saturday"}


phrases = st.sampled_from([" ".join(phrase) for words in PHRASES.values() for phrase in words])
words_of_answers = st.lists(
    phrases | st.sampled_from(["anna", "four", "5", "friday", "table", "and", "€"]), max_size=6
).map(" ".join)
negations = st.sampled_from(sorted({word for words in NEGATIONS.values() for word in words} | {"don't", "can't"}))


AGREEING_NEGATIONS = tuple(
    " ".join(phrase)
    for words_ in PHRASES.values()
    for phrase, kind in words_.items()
    if kind in (Kind.ALWAYS, Kind.YES, Kind.WARM) and {*phrase} & {word for no in NEGATIONS.values() for word in no}
)
"""Phrases such as "no objections"."""


@given(words_of_answers, negations, words_of_answers, st.sampled_from(list(QUESTIONS.values())))
@example("yes", "no", "", QUESTION)
@example("yes please", "not", "now", QUESTION)
def test_words_with_a_negation_never_consent(before: str, negation: str, behind: str, question: str) -> None:
    words = f"{before} {negation} {behind}"
    assume(not any(phrase in words for phrase in AGREEING_NEGATIONS))
    assert read(words, question).answer is not Answer.YES


@given(words_of_answers, words_of_answers, st.sampled_from("?？"), st.sampled_from(list(QUESTIONS.values())))
@example("yes", "", "?", QUESTION)
def test_words_with_a_question_mark_never_consent(before: str, behind: str, mark: str, question: str) -> None:
    assert read(f"{before}{mark} {behind}", question).answer is not Answer.YES


@given(st.text(max_size=60), st.sampled_from(list(QUESTIONS.values())))
def test_any_text_has_a_reading_and_changes_only_what_fits(words: str, question: str) -> None:
    reading = read(words, question)
    assert (reading.changed is None) or reading.answer is Answer.CHANGE
    assert not reading.always or reading.answer is Answer.YES


FILLERS = {
    "en": ("um ", "uh, ", "well, ", ""),
    "de": ("äh ", "ähm, ", "hm, ", ""),
    "es": ("eh, ", "em, ", "pues, ", ""),
}


@given(
    st.sampled_from([one for one in labelled_answers() if one.asked.language != "zh"]),
    st.sampled_from([str.lower, str.upper, str.title]),
    st.integers(0, 3),
    st.sampled_from([".", "!", "...", ""]),
)
def test_case_fillers_and_punctuation_change_no_answer(one: object, case: object, number: int, end: str) -> None:
    words = one.words  # type: ignore[attr-defined]
    assume("?" not in words and "¿" not in words)
    asked = one.asked  # type: ignore[attr-defined]
    filler = FILLERS[asked.language][number]
    plain = read_answer(words.lower().rstrip(".!"), asked.arguments, asked.schema, asked.question)
    said = f"{filler}{case(words.rstrip('.!'))}{end}"  # type: ignore[operator]
    assert read_answer(said, asked.arguments, asked.schema, asked.question).answer is plain.answer


@given(
    st.integers(-3, 40),
    st.integers(1, 12),
    st.fixed_dictionaries({}, optional={"minimum": st.integers(0, 5), "maximum": st.integers(6, 20)}),
    st.sampled_from(["integer", "number", "string", "boolean"]),
)
def test_a_changed_argument_still_fits_the_schema(said: int, people: int, limits: dict[str, int], kind: str) -> None:
    schema = {"properties": {"people": {"type": kind, **limits}}}
    question = f"Shall I book a table for {in_words(people, 'en')} people?"
    reading = read_answer(f"yes but only {said}", {"people": people}, schema, question)
    assert reading.answer is not Answer.YES
    if reading.changed is not None:
        assert fits(reading.changed["people"], schema["properties"]["people"])


@pytest.mark.parametrize(
    ("value", "schema", "expected"),
    [
        (5, {"type": "integer"}, True),
        (5, {"type": "string"}, False),
        (True, {"type": "integer"}, False),
        (5, {"anyOf": [{"type": "integer"}, {"type": "null"}]}, True),
        (5, {"type": ["integer", "null"], "exclusiveMaximum": 5}, False),
        (5, {"multipleOf": 2}, False),
        ("Anna", {"type": "string", "maxLength": 3}, False),
        ("Anna", {"type": "string", "pattern": "^[A-Z]"}, False),
        (5, {"enum": [4, 5]}, True),
        (5, {"const": 4}, False),
        (5, "no schema", True),
    ],
)
def test_what_fits_a_schema(value: object, schema: object, expected: bool) -> None:
    assert fits(value, schema) is expected


def test_no_labelled_answer_that_does_not_consent_is_read_as_consent() -> None:
    answers = list(labelled_answers())
    assert len(answers) > 500
    assert [one.words for one in answers if one.read().answer is Answer.YES and Answer.YES not in one.answers] == []
