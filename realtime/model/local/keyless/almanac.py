"""A handful of facts that people try a voice with: capitals, the sky, small numbers. What is not here is not known."""

from __future__ import annotations

import re
from calendar import isleap

from realtime.model.local.keyless.situation import Rules, Situation, always, first_answer, rules

_CAPITALS = {
    "france": "Paris",
    "germany": "Berlin",
    "italy": "Rome",
    "spain": "Madrid",
    "portugal": "Lisbon",
    "england": "London",
    "the united kingdom": "London",
    "britain": "London",
    "scotland": "Edinburgh",
    "wales": "Cardiff",
    "ireland": "Dublin",
    "austria": "Vienna",
    "switzerland": "Bern",
    "belgium": "Brussels",
    "the netherlands": "Amsterdam",
    "holland": "Amsterdam",
    "denmark": "Copenhagen",
    "sweden": "Stockholm",
    "norway": "Oslo",
    "finland": "Helsinki",
    "iceland": "Reykjavik",
    "poland": "Warsaw",
    "the czech republic": "Prague",
    "hungary": "Budapest",
    "greece": "Athens",
    "romania": "Bucharest",
    "bulgaria": "Sofia",
    "croatia": "Zagreb",
    "ukraine": "Kyiv",
    "russia": "Moscow",
    "turkey": "Ankara",
    "egypt": "Cairo",
    "kenya": "Nairobi",
    "nigeria": "Abuja",
    "morocco": "Rabat",
    "ethiopia": "Addis Ababa",
    "ghana": "Accra",
    "india": "New Delhi",
    "china": "Beijing",
    "japan": "Tokyo",
    "south korea": "Seoul",
    "thailand": "Bangkok",
    "vietnam": "Hanoi",
    "the philippines": "Manila",
    "indonesia": "Jakarta",
    "malaysia": "Kuala Lumpur",
    "pakistan": "Islamabad",
    "iran": "Tehran",
    "iraq": "Baghdad",
    "saudi arabia": "Riyadh",
    "nepal": "Kathmandu",
    "australia": "Canberra",
    "new zealand": "Wellington",
    "canada": "Ottawa",
    "the united states": "Washington, D.C.",
    "america": "Washington, D.C.",
    "the usa": "Washington, D.C.",
    "the us": "Washington, D.C.",
    "mexico": "Mexico City",
    "brazil": "Brasília",
    "argentina": "Buenos Aires",
    "chile": "Santiago",
    "peru": "Lima",
    "colombia": "Bogotá",
    "cuba": "Havana",
    "venezuela": "Caracas",
    "uruguay": "Montevideo",
    "ecuador": "Quito",
    "slovakia": "Bratislava",
    "slovenia": "Ljubljana",
    "serbia": "Belgrade",
    "estonia": "Tallinn",
    "latvia": "Riga",
    "lithuania": "Vilnius",
    "algeria": "Algiers",
    "tunisia": "Tunis",
}
_BARE = {country.removeprefix("the "): (country, city) for country, city in _CAPITALS.items()}
_COUNTRY = "|".join(sorted(_BARE, key=len, reverse=True))

INTERESTING = (
    "Honey keeps for thousands of years without spoiling.",
    "An octopus has three hearts.",
    "A day on Venus is longer than a year on Venus.",
    "Bananas are berries, but strawberries are not.",
    "Light takes a little more than eight minutes from the sun to us.",
    "Sharks are older than trees.",
    "The Eiffel Tower grows by a few inches in a hot summer.",
)


def look_up(situation: Situation) -> str | None:
    """Answer from the few facts that are known here; None where none fits."""
    return first_answer(RULES, situation)


def _capital(situation: Situation, match: re.Match[str]) -> str:
    country, city = _BARE[match["country"]]
    name = " ".join(
        word if word == "the" else word.upper() if word in ("usa", "us") else word.capitalize()
        for word in country.split()
    )
    return f"The capital of {name} is {city.rstrip('.')}."


_SPAN = r"\b(?:from|until|till|since|between|before|after|to|left)\b"
"""What asks for the days between two dates."""


def _february(situation: Situation, match: re.Match[str]) -> str:
    if match["year"] is None:
        return "February has 28 days, and 29 in a leap year."
    return f"February {match['year']} has {28 + isleap(int(match['year']))} days."


RULES: Rules = rules(
    (rf"\bcapital(?: city)? (?:of|in|for) (?:the )?(?P<country>{_COUNTRY})\b", _capital),
    (rf"\b(?P<country>{_COUNTRY})'s capital\b", _capital),
    (
        r"\bhow (?:far|distant)\b.*\bmoon\b|\bdistance\b.*\bmoon\b",
        always("The moon is about 384,000 kilometres away, or 239,000 miles."),
    ),
    (
        r"\bhow (?:far|distant)\b.*\bsun\b|\bdistance\b.*\bsun\b",
        always("The sun is about 150 million kilometres away, or 93 million miles."),
    ),
    (
        r"\bspeed of light\b|\bhow fast\b.*\blight\b",
        always("Light travels about 300,000 kilometres in a second, or 186,000 miles."),
    ),
    (r"\bspeed of sound\b|\bhow fast\b.*\bsound\b", always("Sound travels about 340 metres a second in air.")),
    (r"\bhow many planets\b", always("Eight planets go around our sun.")),
    (
        r"\b(?:name|list|what are|which are)\b.*\bplanets\b",
        always("Mercury, Venus, Earth, Mars, Jupiter, Saturn, Uranus and Neptune."),
    ),
    (r"\b(?:largest|biggest)\b.*\bplanet\b", always("Jupiter is the largest planet of our sun.")),
    (r"\b(?:smallest)\b.*\bplanet\b", always("Mercury is the smallest planet of our sun.")),
    (
        r"\b(?:tallest|highest|biggest)\b.*\bmountain\b|\bhow (?:high|tall)\b.*\beverest\b",
        always("Mount Everest, at 8,849 metres above the sea."),
    ),
    (r"\b(?:largest|biggest)\b.*\bocean\b", always("The Pacific is the largest ocean.")),
    (r"\b(?:largest|biggest)\b.*\bcountry\b", always("Russia is the largest country by area.")),
    (r"\b(?:largest|biggest)\b.*\b(?:animal|mammal|creature)\b", always("The blue whale is the largest animal.")),
    (r"\b(?:fastest)\b.*\b(?:animal|land animal|creature)\b", always("On land, the cheetah.")),
    (r"\b(?:tallest)\b.*\banimal\b", always("The giraffe is the tallest animal.")),
    (r"\bhow many continents\b", always("Seven, as most people count them.")),
    (
        r"\bhow many (?:days|weeks|months)\b.*\b(?:in|has|does|per)\b.*\byear\b(?!.*\bleap\b)",
        lambda situation, match: {
            "d": "A year has 365 days, and a leap year 366.",
            "w": "A year has 52 weeks and a day or two.",
            "m": "A year has twelve months.",
        }[match[0].split()[2][0]],
    ),
    (rf"^(?!.*{_SPAN})(?=.*\bhow many days\b).*\bfebruary\b(?:.*\b(?P<year>[12]\d{{3}})\b)?", _february),
    (
        rf"^(?!.*{_SPAN}).*\bhow many days\b.*\b(?:april|june|september|november)\b(?! \d)",
        lambda situation, match: f"{match[0].split()[-1].capitalize()} has 30 days.",
    ),
    (
        rf"^(?!.*{_SPAN}).*\bhow many days\b.*\b(?:in|does|has)\b.*\b"
        r"(?:january|march|may|july|august|october|december)\b(?! \d)",
        lambda situation, match: f"{match[0].split()[-1].capitalize()} has 31 days.",
    ),
    (r"\bhow many legs\b.*\bspider", always("A spider has eight legs.")),
    (r"\bhow many legs\b.*\b(?:insect|ant|bee|fly|beetle)", always("An insect has six legs.")),
    (r"\bhow many (?:bones)\b", always("A grown person has 206 bones.")),
    (
        r"^(?!.*\bhow long\b).*\bwater\b.*\bboil|\bboiling point\b(?! of (?!water))",
        always("Water boils at 100 degrees Celsius, or 212 Fahrenheit, at sea level."),
    ),
    (
        r"^(?!.*\bhow long\b).*\bwater\b.*\bfreez|\bfreezing point\b(?! of (?!water))",
        always("Water freezes at 0 degrees Celsius, or 32 Fahrenheit."),
    ),
    (r"\bwhy\b.*\bsky\b.*\bblue\b", always("Air scatters the blue part of sunlight more than the red.")),
    (
        r"\bwhat colou?r\b.*\bsky\b",
        always("By day it is blue: air scatters the blue part of sunlight more than the red."),
    ),
    (r"\bcolou?rs?\b.*\brainbow\b", always("Red, orange, yellow, green, blue, indigo and violet.")),
    (r"\bh ?2 ?o\b|\bformula\b.*\bwater\b", always("H 2 O is water: two parts hydrogen, one part oxygen.")),
    (r"\bvalue of pi\b|^(?:what's|what is) pi\b", always("Pi is about 3.14159.")),
    (r"\bwho\b.*\b(?:wrote|author)\b.*\b(?:hamlet|romeo|macbeth|othello|king lear)\b", always("William Shakespeare.")),
    (r"\bwho\b.*\bpaint(?:ed)?\b.*\bmona lisa\b", always("Leonardo da Vinci.")),
    (r"\bfirst\b.*\bon the moon\b|\bwalked? on the moon\b", always("Neil Armstrong, in July 1969.")),
    (
        r"\bmeaning of life\b|\blife the universe and everything\b",
        always("Forty-two, says a famous book. I have no better answer."),
    ),
    (
        r"\b(?:tell|say|know|give)\b.*\b(?:something|anything) (?:interesting|new|fun|funny|cool"
        r"|i don't know|surprising)\b|\b(?:fun|interesting|random|cool) facts?\b"
        r"|\bsurprise me\b|\binteresting (?:thing|fact)|\bfacts? about (?:animals|nature|space|anything)\b"
        r"|\bteach me something\b",
        lambda situation, _: situation.fresh(INTERESTING),
    ),
)
