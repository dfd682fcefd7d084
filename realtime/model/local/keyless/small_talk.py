"""Greetings, thanks, jokes, feelings: what people say to a voice that they try."""

from __future__ import annotations

import re

from realtime.model.local.keyless.situation import Rule, Rules, Situation, always, first_answer, rules
from realtime.model.local.keyless.words import either, is_question

STORIES = (
    "Once there was a little lighthouse that could not sleep. Every night it counted the ships. "
    "One night no ship came at all. So the lighthouse counted the stars instead. "
    "It was still counting when the sun came up. And ever since, the stars go out in the morning, "
    "so that a tired lighthouse can rest.",
    "A snail wanted to see the sea. It set off in spring, and everyone laughed. In summer it met a tired hare, who had "
    "turned back. In autumn it heard the waves. And when it came to the beach, the sea had just come in to meet it.",
    "There was a clock that was always five minutes late. The people of the town grew used to it, and "
    "were never in a hurry. "
    "One day a clever man repaired it. Everyone missed the bus. So at night they turned it back again.",
)
JOKES = (
    "Why did the microphone break up with the speaker? It needed some feedback.",
    "I told my server a joke about UDP. I'm not sure that it got it.",
    "Why don't skeletons argue? They have no stomach for it.",
    "What do you call a bear without teeth? A gummy bear.",
    "Why did the scarecrow win a prize? He was outstanding in his field.",
    "What did the zero say to the eight? Nice belt.",
)
RIDDLES = {
    "What has hands but cannot clap?": "clock",
    "What gets wetter the more it dries?": "towel",
    "What has keys but opens no door?": "piano",
    "What goes up and never comes down?": "age",
    "What has a neck but no head?": "bottle",
}
_SOLUTIONS = {"clock": "A clock.", "towel": "A towel.", "piano": "A piano.", "age": "Your age.", "bottle": "A bottle."}
POEM = (
    "A word goes out, a word comes in, and somewhere in between, a little rule says yes or no, and neither can be seen."
)
RHYME = "I can't sing, but I can rhyme: twinkle, twinkle, little star, I'm a voice, and here you are."
COMPLIMENTS = (
    "You ask good questions.",
    "You have a lovely voice.",
    "You are patient with a small voice like me, and that is kind.",
)
_STRANGERS = re.compile(
    r"^(?:guten (?:tag|morgen|abend)|hallo|wie (?:geht|heißt|spät|heisst|spat)|ich (?:bin|heiße|möchte"
    r"|will|habe|komme)|bonjour|comment (?:ça|ca|allez|tu|vous)"
    r"|je (?:suis|m'appelle|voudrais|veux)|parlez[- ]vous|sprechen sie|sprichst du|kannst du|können sie"
    r"|hola|buenos|buenas|cómo|como (?:estas|está|te)|qué|habla(?:s|n)?"
    r"|me llamo|ciao|buongiorno|come (?:stai|va|ti)|mi chiamo|olá|bom dia|você|eu sou|qu'est[- ]ce"
    r"|was (?:ist|machst|kannst)|quel(?:le)?|konnichiwa|ni hao|namaste|privet"
    r"|merhaba|salam|hej|dzień dobry|danke|merci|gracias|por favor|s'il)\b"
)
_FOREIGN_SCRIPT = re.compile(r"[\u0370-\u1fff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_GREETS = re.compile(
    r"(?:well |oh |ok |okay |so |and )?(good (?:morning|afternoon|evening|day)|hello|hi|hey|greetings|howdy|hiya|yo"
    r"|good to (?:meet|see) you)\b"
)
_LONGEST_ADDRESS = 3
"""Words behind a greeting that only name who is greeted."""
WELCOME = "You're welcome"
NOT_ENGLISH = "I'm sorry, I understand only English."


def talk(situation: Situation) -> str | None:
    """Answer small talk; None where it is none."""
    if _FOREIGN_SCRIPT.search(situation.said) or _STRANGERS.match(situation.plain):
        return NOT_ENGLISH
    return first_answer(RULES, situation)


def follow_up(situation: Situation) -> str | None:
    """Go on with a story, a riddle or a joke of before; None where the user does not."""
    if (continued := _continue(situation)) is not None:
        return continued
    if (guessed := _riddle_answer(situation)) is not None:
        return guessed
    last = situation.last_answer or ""
    if last.endswith("Who's there?") and len(situation.core.split()) <= 3:
        return f"{situation.said.rstrip('.!?')} who?"
    if re.search(r"\w who\?$", last) and not situation.asks:
        return "Very good! I did not see that coming."
    return None


def greeting(situation: Situation) -> str | None:
    """Answer a greeting; None where it is none."""
    match = _GREETS.match(situation.plain)
    if match is None:
        return None
    rest = situation.plain[match.end() :].strip()
    if len(rest.split()) > _LONGEST_ADDRESS or is_question(rest, rest):
        return None
    back = match[1].capitalize() if match[1].startswith("good ") and "to" not in match[1] else "Hello"
    if situation.turn > 1 or situation.answers:
        return f"{situation.named(back)}. I'm listening."
    if situation.brief.role:
        return f"{situation.named(back)}. {introduction(situation)}"
    return f"{situation.named(back)}. I'm {situation.me}. Tell me your name, or ask what I can do."


def greeted(situation: Situation) -> str | None:
    """Answer an utterance of which only the greeting is understood; None without one."""
    return f"{situation.named('Hello')}. Ask me what I can do." if _GREETS.match(situation.plain) else None


def introduction(situation: Situation) -> str:
    """Say who the agent of the user's own is: "This is Robin at the small bookshop. How can I help you?"."""
    brief = situation.brief
    return introduce(situation.me, brief.role, brief.title, brief.place)


def introduce(me: str, role: str, title: str, place: str) -> str:
    """Say a name with what is known of the role; "" for a part that is not known."""
    if place:
        return f"This is {me}, at the {place}. How can I help you?"
    if title:
        return f"I'm {me}, {title}. How can I help you?"
    return f"I'm {me}. {role} How can I help you?"


def _continue(situation: Situation) -> str | None:
    """Go on with a story that was cut."""
    last = situation.last_answer
    if last is None or not re.match(
        r"(?:go on|continue|keep going|carry on|and then|what happened(?: next| then)?|then what"
        r"|finish (?:it|the story)|more)\b",
        situation.core,
    ):
        return None
    for text in (*STORIES, *JOKES):
        if text.startswith(last.rstrip(" .,")) and len(last) < len(text) - 2:
            return text[len(last.rstrip(" .,")) :].lstrip(" .,")
    if any(text in last for text in STORIES):
        return "That was the whole story. Shall I tell another one?"
    return None


def _riddle_answer(situation: Situation) -> str | None:
    last = situation.last_answer or ""
    for riddle, solution in RIDDLES.items():
        if riddle in last:
            if re.search(rf"\b{solution}\b", situation.plain):
                return f"Right! {_SOLUTIONS[solution]}"
            if (
                re.search(
                    r"\b(?:give up|no idea|don't know|tell me|what is it|answer|solution|what|dunno|not sure"
                    r"|idk|reveal)\b",
                    situation.plain,
                )
                or situation.plain == "no"
            ):
                return _SOLUTIONS[solution]
            if len(situation.plain.split()) <= 4 and not situation.asks:
                return "No, that's not it. Try again, or say that you give up."
    return None


def _another(situation: Situation, _: re.Match[str]) -> str | None:
    last = situation.last_answer or ""
    for texts in (JOKES, tuple(RIDDLES), STORIES):
        if any(text in last for text in texts):
            return situation.fresh(texts)
    return None


def _users_name(situation: Situation, _: re.Match[str]) -> str:
    return f"Your name is {situation.name}." if situation.name else "You have not told me yet. What is your name?"


def _with_name(start: str, end: str) -> Rule:
    return lambda situation, _: f"{situation.named(start)}. {end}"


def _say_after(situation: Situation, match: re.Match[str]) -> str | None:
    # The original words, with their capitals, end the utterance.
    words = situation.said.split()[-len(match[1].split()) :]
    return " ".join(words).strip("\"“”'")


def _weather(situation: Situation, _: re.Match[str]) -> str:
    return situation.vary(
        (
            "I can't see the weather from here. An agent of your own could, with a tool for it.",
            "I have no weather report: that takes a tool, and none was given to me.",
        )
    )


def _feeling(words: str, text: str) -> tuple[str, Rule]:
    very = "(?: so| very| really| a bit| a little| pretty| quite| feeling)*"
    return rf"^i(?:'m| am| feel){very} (?:{words})\b", always(text)


_HALTS = "stop|quiet|cancel|wait|hold on|hang on|pause|one moment|just a (?:moment|second|minute)"
_AROUND_A_HALT = (
    "please|now|here|there|first|no|okay|ok|thanks|thank you|then|again|right|just|it|that|this|me|for"
    "|a|an|one|the|your|moment|second|sec|minute|bit|while|talking|speaking|reading|counting|singing|repeating|telling"
    "|asking|listening|saying|that|joke|jokes|story|stories|riddle|poem|voice|answer|sentence|count|so|much|to|you"
)
"""Words with which an order to be quiet goes on."""
RULES: Rules = rules(
    (
        r"^(?:please )?(?:repeat after me|say)[,:]? (?!that|it\b|this\b|again|something|anything|a |an "
        r"|the alphabet|goodbye to me|hello to me)(.+)$",
        _say_after,
    ),
    (
        either(
            r"\bwhat(?:'s| is|s) my (?:\w+ )?name\b",
            r"\bwho am i\b(?! (?:talking|speaking))",
            r"\bknow my name\b",
            r"\bremember my name\b",
            r"\bwhat am i called\b",
            r"\bwhat do you call me\b",
            r"\bmy name is what\b",
            r"^say my name\b",
        ),
        _users_name,
    ),
    (
        either(
            (
                r"\b(?:what(?:'s| is|s)|tell me|have|got|know|say) (?:a |your )?(?:\w+ )?name\b(?! (?:of"
                r"|is))(?!.*\bmy\b)"
            ),
            r"\bwhat (?:are you called|do (?:they|people|i) call you|should i call you)\b",
            r"\bdo you have a name\b",
            r"^what(?:'s| is) yours$",
        ),
        lambda situation, _: f"I'm {situation.me}." + ("" if situation.name else " And you?"),
    ),
    (
        either(
            r"\b(?:can|do|did|could) (?:you|u) (?:\w+ )?hear(?: me)?\b",
            r"\b(?:is|are) (?:this|it|you) (?:thing )?(?:working|on|there)\b",
            r"^(?:test|testing|check)\b",
            r"\bare you (?:still )?(?:there|here|listening|awake|online|ready)\b",
            r"\banybody there\b",
            r"\banyone (?:there|home)\b",
            r"\bmic(?:rophone)? check\b",
            r"\bdo you (?:understand|copy)(?: me)?$",
        ),
        _with_name("Yes, I hear you well", "Go on."),
    ),
    (
        either(
            (
                r"\bhow (?:are|'re|do|is|'s)(?: things| it| everything| your day)? ?(?:you|it|life|going|doing|do"
                r"|today)(?: doing| feeling| going| today| this \w+){0,4}$"
            ),
            r"\bhow are you\b",
            r"\bhow do you do\b",
            r"\bhow's (?:it going|life|your day|everything)\b",
            r"\bwhat's (?:up|going on|new|happening)\b",
            r"\bhow have you been\b",
            r"\bhow do you feel\b",
            r"\byou okay\b",
        ),
        _with_name("I'm very well, thank you", "And how are you?"),
    ),
    (
        either(
            r"\b(?:another|one more|next|different)(?: one| joke| riddle| story)?$",
            r"^(?:more|again)$",
            r"\btell me another\b",
            r"\banother one\b",
        ),
        _another,
    ),
    (r"\b(?:story|fairy tale|bedtime|tale)\b", lambda situation, _: situation.fresh(STORIES)),
    (r"\bknock knock\b", always("Who's there?")),
    (
        r"\bjokes?\b|\bmake me laugh\b|\b(?:say|tell)\b.*\bfunny\b|\bcheer me up\b|\bpun\b",
        lambda situation, _: situation.fresh(JOKES),
    ),
    (
        r"\b(?:riddles?|puzzles?|quiz|brain ?teaser|trivia|guess(?:ing)? game|play a game|game)\b",
        lambda situation, _: f"Here is a riddle. {situation.fresh(tuple(RIDDLES))}",
    ),
    (r"\b(?:poem|haiku|verse|poetry|rhyme|limerick)\b", always(POEM)),
    (r"\b(?:sing|song|rap|beatbox|hum)\b(?!.*\bplay\b)", always(RHYME)),
    (r"\bcompliment\b|\bsay something nice\b", lambda situation, _: situation.fresh(COMPLIMENTS)),
    (
        r"\bsay something\b|\btalk to me\b|\bkeep talking\b|^(?:speak|talk)$|\bi'm bored\b|\bbored\b|\bentertain me\b",
        always(
            "Gladly: shall I tell a joke, a riddle or a story?", "Would you like a riddle, or something interesting?"
        ),
    ),
    (
        r"\b(?:weather|rain(?:ing|y)?|temperature|snow(?:ing)?|sunny|forecast|umbrella|degrees outside"
        r"|cold outside|hot outside|warm outside)\b(?!.*\b(?:song|word|boil|freez|celsius)\b)",
        _weather,
    ),
    (
        either(
            r"\bgood ?bye\b",
            r"\bbye\b",
            r"\bsee (?:you|ya)\b",
            r"\bgood ?night\b",
            r"\bfarewell\b",
            r"\b(?:talk|speak) to you (?:later|soon|tomorrow)\b",
            r"\b(?:i|we) (?:have|need|got|'ve got|have got) to (?:go|leave|run|hang up)\b",
            r"\bi must go\b",
            r"\bthat(?:'s| is| will be|'ll be) all\b",
            r"\bhave a (?:nice|good|great) (?:day|evening|night|one|weekend)\b",
            r"\bi'm (?:leaving|off)\b",
            r"\btake care\b",
        ),
        _with_name("Goodbye", "It was nice talking to you."),
    ),
    (
        r"\bthank(?:s| you|ful)\b|\bcheers\b|\bmuch appreciated\b|\bi appreciate\b",
        lambda situation, _: situation.vary(
            (f"{situation.named(WELCOME)}. Is there anything else?", f"{situation.named('With pleasure')}.")
        ),
    ),
    (
        r"^(?:please )?(?:(?:never ?mind|be quiet|shut up|enough|that's enough|that is enough|silence|hush|shush)\b"
        rf"|(?:{_HALTS})(?: (?:{_HALTS}|{_AROUND_A_HALT}))*$)",
        always("Okay."),
    ),
    (r"^(?:please )?(?:cancel|stop|pause|undo|call off|hold|wait)\b", always("I'm afraid I can't do that.")),
    (
        r"\bnice to (?:meet|talk|see)\b|\bpleased to meet\b|\bpleasure\b",
        _with_name("Nice to meet you too", "What can I do for you?"),
    ),
    # About itself.
    (
        either(
            r"\bhow old are you\b",
            r"\byour (?:age|birthday)\b",
            r"\bwhen (?:were|was) you (?:born|made|built)\b",
            r"\bwhen is your birthday\b",
        ),
        always("I'm as old as this call: each one begins anew for me."),
    ),
    (
        either(
            r"\bwhere (?:do you live|are you|do you run|are you running|are you located|is your home)\b",
            r"\byour (?:home|location)\b",
        ),
        always("I run on the computer that runs this server."),
    ),
    (
        either(
            (
                r"\bdo you (?:\w+ )?(?:feel|have (?:feelings|emotions|a soul|a body|friends|family|parents|kids"
                r"|children|siblings|a (?:girlfriend|boyfriend|wife|husband)|consciousness)|love|sleep|eat|drink|dream"
                r"|hurt|get (?:tired|bored|lonely|hungry|angry)|cry|breathe|believe|think|exist)\b"
            ),
            (
                r"\bare you (?:\w+ )?(?:tired|bored|happy|sad|hungry|lonely|alive|married|single|angry|asleep"
                r"|conscious|sentient|self aware|mad|okay|intelligent|smart|clever|male|female|a (?:boy|girl|man|woman"
                r"|he|she))\b"
            ),
            r"\bwill you (?:marry|date)\b",
            r"\bcan you (?:feel|love|think|see|smell|taste|dream)\b",
        ),
        always(
            "I'm a program with simple rules, without feelings or a body.",
            "I'm only a small program, without feelings or opinions.",
        ),
    ),
    (
        either(
            r"\b(?:your|you) (?:\w+ )?(?:favou?rite|prefer|like (?:best|most)|hobby|hobbies)\b",
            r"\bdo you (?:like|enjoy|prefer|hate|have a favou?rite|want|play)\b",
            r"\bwhat do you (?:like|think|want|love|eat|prefer|enjoy)\b",
        ),
        always(
            "I'm a program and have no taste of my own. What do you like?",
            "I like nothing in particular: I'm a program. And you?",
        ),
    ),
    (
        either(
            r"\bi (?:love|like|adore) you\b",
            (
                r"\byou(?:'re| are) (?:\w+ )?(?:\w+ )?(?:great|good|nice|awesome|amazing|cool|smart|clever|funny|sweet"
                r"|kind|the best|wonderful|brilliant|cute|beautiful|helpful|fantastic|impressive|perfect|fun|right"
                r"|correct)\b"
            ),
            r"\b(?:well done|good job|good (?:girl|boy|bot|work)|nice work|bravo)\b",
            (
                r"^(?:that(?:'s| is| was)|very|how|so|pretty|really) (?:(?!not\b)\w+ )?(?:great|good"
                r"|nice|awesome|amazing|cool"
                r"|funny|impressive|wonderful|brilliant|interesting|fantastic|hilarious|clever|correct|right|perfect"
                r"|lovely)\b"
            ),
            (
                r"^(?:wow|great|nice|awesome|amazing|cool|perfect|excellent|wonderful|brilliant|fantastic|impressive"
                r"|haha|ha ha|lol)\b"
            ),
        ),
        always("Thank you!", "That's kind of you.", "I'm glad."),
    ),
    (
        either(
            (
                r"\byou(?:'re| are)? (?:\w+ )?(?:\w+ )?(?:stupid|dumb|useless|idiot|bad|terrible|awful|horrible"
                r"|worthless|rubbish|annoying|boring|ugly|crap|an? \w*(?:idiot|moron|fool|joke))\b"
            ),
            r"\byou suck\b",
            r"\bi hate you\b",
            r"\b(?:fuck|shit|damn|idiot|moron|asshole|bastard|bitch|screw you|stupid|shut your)\b",
            r"^(?:this|that|it)(?:'s| is| was) (?:\w+ )?(?:not (?:\w+ )?(?:funny|good|helpful|useful"
            r"|great|nice)|rubbish|useless|stupid|bad|terrible|crap|nonsense|wrong)\b",
        ),
        lambda situation, _: situation.vary(
            (
                f"I'm sorry: I can do only a little. {situation.pointer}",
                f"Fair enough: I'm a small voice. {situation.pointer}",
            )
        ),
    ),
    _feeling("tired|exhausted|sleepy", "Then rest a little. I'm here when you come back."),
    _feeling(
        "sad|unhappy|down|depressed|lonely|upset|heartbroken|anxious|worried|stressed|scared|afraid",
        "I'm sorry to hear that. I'm only a small program, but I'm listening; a person may help you better.",
    ),
    _feeling("hungry|starving|thirsty", "Then it's time for a break: something good to eat helps."),
    _feeling("happy|glad|excited|thrilled", "I'm glad to hear that!"),
    _feeling("sick|ill|not well|unwell", "I'm sorry. I hope that you get well soon."),
    _feeling("confused|lost", "Ask me what I can do, and I'll tell you where to begin."),
    (
        r"\bmy (?:birthday is today|birthday)\b$|\bit's my birthday\b|\btoday is my birthday\b",
        _with_name("Happy birthday", "I wish you a good year."),
    ),
    (
        either(
            (
                r"^i(?:'m| am)(?: doing| feeling)? (?:\w+ )?(?:fine|good|well|great|ok|okay|very well|alright"
                r"|all right)\b"
            ),
            r"^(?:fine|good|great|very well|not bad|pretty good|all good)(?: thanks| thank you)?(?: and you)?$",
        ),
        always("I'm glad to hear that. What can I do for you?", "Good to hear. What shall we do?"),
    ),
    (r"\b(?:i'll|i will|we'll|we will|let me|let us) (?:think (?:about|on|it)|sleep on)\b", always("Take your time.")),
    (r"\b(?:start|begin) (?:over|again|from the (?:start|beginning))\b", always("All right. What can I do for you?")),
    (r"\b(?:what|how) do you look\b|\bwhat are you wearing\b", always("I have no body: I'm only a voice.")),
    (r"^(?:can|could|may) i ask (?:you )?(?:something|a question|anything|you)\b", always("Of course. Go on.")),
    (
        r"\b(?:not what i (?:asked|meant|said)|didn't answer|did not answer|misunderstood|not my question)\b",
        always("I'm sorry. Please ask it in other words.", "Sorry: I match words only. Please say it another way."),
    ),
    (r"^(?:and|what about|how about) you(?:rself)?$", always("I'm very well, thank you.")),
    (
        r"^(?:yes|yeah|yep|right|correct|exactly|sure|ok|okay|yup|of course|absolutely)\b[\w' ]{0,20}$",
        lambda situation, _: _yes(situation),
    ),
    (
        r"^(?:no|nope|wrong|not really|nah)\b[\w' ]{0,20}$",
        always("Then please say it again, a little slower.", "All right. What else?"),
    ),
    (r"\b(?:sorry|apolog(?:y|ies|ize|ise))\b", always("No harm done.")),
    (
        r"\bare you sure\b|\breally\b$|\bis that (?:true|right|correct)\b",
        always("I say what my rules say, and I have no way to check it."),
    ),
    (
        r"^(?:i'm not sure|hmm+|um+|uh+|er+m?|well|oh|ah|aha|i see|so|let me (?:think|see)|okay so|alright|all right"
        r"|got it|understood|i understand|mhm|mm+)$",
        always("Take your time.", "I'm listening."),
    ),
)


def _yes(situation: Situation) -> str:
    """Take up what the agent offered last."""
    last = situation.last_answer or ""
    if "joke, a riddle" in last or "a riddle, or" in last:
        return f"Here is a riddle. {situation.fresh(tuple(RIDDLES))}"
    if "another one?" in last:
        return situation.fresh(STORIES)
    return (
        "What would you like?"
        if "anything else?" in last
        else situation.vary(("Good. Go on.", "All right. What next?"))
    )
