"""Words that answer a question for consent, by language and kind.

Phrases are compared as `tokens_of` gives them, without accents; commas separate them. Each Chinese character is a
word. The longest phrase at a place wins, so that "no problem" is not read as "no". "it/that works_for_me/works" is each
of the four phrases.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from itertools import product

from realtime.tool.spoken_numbers import Language, plain, tokens_of

Phrase = tuple[str, ...]


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


class Kind(Enum):
    """What a phrase does in an answer."""

    YES = auto()
    """Agrees to the whole question."""
    WARM = auto()
    """Agrees beside a yes, and is in doubt without one: "good", "as I said"."""
    NO = auto()
    ALWAYS = auto()
    """Agrees for later calls as well; nothing without a yes."""
    DEAR = auto()
    """Calls someone close, who may be another person: "my love"."""
    PAD = auto()
    """Says nothing: fillers and courtesies."""
    CHANGE = auto()
    """Asks for something else instead, or begins to."""
    INSTEAD = auto()
    """Asks for something else by itself: "the other one"."""
    EXCEPT = auto()
    """Agrees in part: what follows changes the question, or says nothing."""
    ASK = auto()
    """Asks something."""
    SORRY = auto()
    """Alone it asks to hear the question again, else it says nothing."""
    WAIT = auto()
    DOUBT = auto()
    """Neither agrees nor refuses, whatever else it contains: "no problem", "I guess"."""
    LINK = auto()
    """Belongs to a change and says nothing alone: "it should be", "of us"."""


LIGHT = frozenset(
    {
        Kind.YES,
        Kind.WARM,
        Kind.NO,
        Kind.PAD,
        Kind.CHANGE,
        Kind.INSTEAD,
        Kind.EXCEPT,
        Kind.LINK,
        Kind.SORRY,
        Kind.ALWAYS,
    }
)
"""What may stand beside new values in a change."""


_WORDS: dict[Language, dict[Kind, str]] = {
    "en": {
        Kind.YES: (
            "if you could/would please, that would be a great/big help, yes do, sounds right, "
            "that'd/that_would/it'd be "
            "grand/smashing/champion/brilliant/super/awesome/fab/amazing/excellent/swell/helpful/appreciated/brill, "
            "put me/us down for it/that, sign me/us up, okie/okey dokie/dokey/doke, okey doke, fire away, have at it, "
            "be my guest, knock yourself out, go on/ then/ please/, why yes, yes indeed, indeed yes, yessir, yes "
            "siree, yessiree, yass, yis, yea, yah, yeh, yup yup, yep yep, yarp, uh yes, oh/ yes please, go right "
            "ahead, go right on ahead, full steam ahead, make it so, make it happen, let's/let_us "
            "go/roll/do_this/go_ahead/proceed, let's go with it, that/it suits me/us "
            "fine/perfectly/nicely/down_to_the_ground/, suits me/us fine/perfectly/down_to_the_ground/, works for us, "
            "that/it works/will_work great/perfectly/fine/ for_me/for_us, that'll/that_will/that/it_will/it'll do "
            "nicely/perfectly/just_fine/the_trick/, i'm/i_am/we're all/ "
            "for/up_for/down_for/happy_with/fine_with/good_with/okay_with/ok_with it/that, count me in, "
            "you've/you_have got/ my blessing/permission/approval/consent/go_ahead/okay, you're/you_are good/clear to "
            "go, you have the green light, green light, it's/that's a yes/go/deal/date from_me/, that's/that_is/it's "
            "exactly/ what_i_want/what_i_said/it_exactly yes, a big/resounding/hearty yes, no objections/objection, by "
            "all means, yes by all means, please go for it, for_sure/sure_thing/definitely yes, most/very certainly, "
            "most definitely, without a doubt, i'd be grateful, i'd be delighted, i would be grateful, i'd be "
            "happy/glad for you to, much obliged yes, please and thank you, you may proceed, you can proceed, you "
            "can/may do that/it/so, you do that, do your thing, do it up, work your magic, get it/that/them/this/her "
            "done/sorted, get on with it, get to it, get going, crack on, jolly good, righto, right o, rightio, righty "
            "ho, rightyho, right then yes, sounds good to me, sounds about/just/spot right/on, sounds "
            "ideal/fab/brilliant/wonderful/fantastic/excellent/awesome/amazing, that's bang/spot/dead on, spot on, "
            "bang on, ten four, 10 4, aye aye/, fair enough yes, you know it, heck/hell/damn yeah/yes/yep, damn right, "
            "darn right, too right, abso lutely, absolutely yes, yes absolutely, thumbs up, consider it done, lock it "
            "in, can do, sure can, sure yeah, you got it yes, yes you got it, i'm/i_am sure yes, i'm/i_am "
            "positive/certain, positive, i authorise/authorize it/that/this/, authorised, authorized, granted, "
            "permission granted, i do want that/to, i really/certainly/definitely/absolutely/sure do/would, i/we "
            "most_certainly do/would, yes i'm/i_am sure, yes i want you to, could you please, would you please, if you "
            "would please, i'd really/ appreciate it/that, please make it happen, proceed with it/that/this, carry on "
            "then, go ahead then, go ahead and do it/that/so, please go ahead with it/that, yes i/we do, yes, yeah, "
            "yep, yup, yes yes, yeah yeah, yes sir, yes ma'am, sure, sure thing, of course, certainly, absolutely, "
            "definitely, ok, okay, all right, alright, correct, that's right, that is right, that's correct, that is "
            "correct, exactly, go ahead, go for it, do it, do that, please do, i confirm, confirm, confirm it, confirm "
            "that, confirmed, i agree, agreed, i approve, approved, perfect, that's/that_is "
            "fine/perfect/right/correct/great/good with_me/by_me/for_me/, it's perfect/right/correct, /that/it "
            "sounds/works/would_work great/good/perfect/fine/okay/well/lovely to_me/for_me/, "
            "that_would/that'd/it_would/it'd be great/lovely/good/perfect/fine/nice/wonderful/okay/ideal/fantastic, "
            "that's perfect, that works, works for me, that's good, that's great, fine by me, fine with me, i said "
            "yes, i did say yes, i said yeah, let's do it, let's do that, proceed, please proceed, you can go ahead, "
            "you may go ahead, you may, yes you can, yes you may, yes you should, yes i do, yes i would, yes i want "
            "that, yes i'd like that, i'd/we'd/i_would/we_would like/love that/it, that would be great, that would be "
            "lovely, that'd be great, that would be perfect, affirmative, very well, yes it is, yes that's it, yes "
            "that's what i want, that's what i want, that is what i want, i'm sure, i am sure, i'm happy with that, "
            "happy with that, please do so, do so, go on then, right you are, please/ go right ahead, feel free, yes i "
            "think so, sounds like a plan, that'll/that_will/it'll work perfectly/nicely/fine/, that'll/that_will be "
            "great/fine/lovely/perfect/good/wonderful, indeed, you bet, deal, for sure, totally, go with that, let's "
            "go with that, let's go for it, yes let's, that works perfectly/fine/nicely/well for_me/, i'd/i_would "
            "appreciate that/it, do please, roger, roger that, very good, aye, okey dokey, good to go, that suits me "
            "fine/, consider it agreed"
        ),
        Kind.WARM: (
            "good thinking, no bother, that's helpful, "
            "that time/day/date/price/amount "
            "works/suits/suits_me/suits_us/is_fine/is_good/is_great/is_perfect/works_for_me/works_for_us, the "
            "time/price works/is_fine/suits_me, god, fab, brill, ace, champion, smashing, super, superb, sweet, neat, "
            "amazing, lovely jubbly, nice one, terrific, marvellous, marvelous, splendid, if you would, if you will, "
            "if you wouldn't mind, if you don't mind, you're/you_are a "
            "star/legend/lifesaver/angel/gem/sweetheart/darling, good idea, great/good/brilliant/excellent/lovely "
            "idea, good/great/perfect stuff/timing/choice, no problem, no worries, no problem at all, no question, no "
            "doubt, why not, why on earth not, no objections from me, without hesitation, i want you to, i need you "
            "to, we want you to, at/for that time/date/price/amount/address, on that day/date, then/that day, let's "
            "have it/that/them, is fair, sounds fair, seems fair, that seems right/fine/good, i'm/i_am sure, i'm/i_am "
            "quite/absolutely/very/completely/totally/a_hundred_percent/hundred_percent/100_percent "
            "sure/certain, a_hundred/hundred/one_hundred/100 percent, thank you so much, finally, at last, about time, "
            "high time, it's about time, you read my mind, whenever you're ready, that's the plan, that's the one, "
            "that's the ticket, it would, i'm on board, that's/that_is/it's/it_is okay/ok/alright/all_right/fine/good "
            "with_me/by_me/for_me/, great, good, fine, cool, nice, awesome, wonderful, lovely, excellent, brilliant, "
            "fantastic, all_good, go, carry_on, go_on, please/ continue, let's go, you heard me, as/like i said, i/ "
            "already told/said you/, i've already told/said you/, i/ already said, everything/everything's/it/that is/ "
            "correct/right/fine/good, is/'s "
            "right/correct/fine/good/okay/perfect/great/super/ideal/lovely/perfect/wonderful for_me/, works "
            "fine/well/perfectly/great/ for_me/, suits me, do, both, that/this/the one, i/we want you to, i/we "
            "would/'d like you to, i'd like you to, we'd like you to, i'm/i_am okay/fine/good/happy with that/it, "
            "thanks a million, if you could, ay, you got it right, all, us, uh huh, mm hm, mm hmm, mhm, you can, you "
            "should, we do, i do, i would, we would, that one, this one, it_is/that_is/it's/that's what i "
            "want/wanted/said/asked_for, spot"
        ),
        Kind.NO: (
            "god no, hell no, heck no, ugh no, no god no, god don't, no god don't, whoa no, oh no, nope nope, nah nah, "
            "hard pass, no sir, no ma'am, not a chance, not happening, no don't do that, not for me, absolutely no, "
            "god forbid, forget i asked, nuh uh, no siree, out of the question, i'd rather we didn't, not likely, i'd "
            "leave it, don't you dare, hard no, that's a no, no, nope, nah, no no, no no no, no way, know, know "
            "thanks, know thank you, no thanks, no thank you, don't, do not, please don't, don't do it, don't do that, "
            "do not do that, do not do it, never, not now, not yet, not today, not really, not at all, absolutely not, "
            "definitely not, certainly not, of course not, rather not, i'd rather not, i would rather not, i don't "
            "want that, i don't want it, i don't want to, i don't want you to, i do not want that, i do not want to, i "
            "don't think so, i said no, cancel, cancel that, cancel it, cancel this, stop, stop it, stop that, please "
            "stop, forget it, forget about it, forget that, never mind, nevermind, leave it, leave it be, drop it, "
            "abort, decline, i decline, denied, reject, i refuse, i disagree, that's wrong, that is wrong, that's not "
            "right, that is not right, that's not correct, that is not correct, not correct, wrong, incorrect, that's "
            "not what i want, that's not what i said, that's not what i asked for, not what i asked for, that's not "
            "what i meant, that's not what i wanted, that is not what i want, that is not what i said, not what i "
            "want, not what i said, not that, not that one, no need, no don't, no stop, scrap that/it, no chance, i'm "
            "fine thanks, i'm good thanks, better not, you better not, please no, negative, scratch that, i changed my "
            "mind, i've changed my mind, changed my mind, no you can't, no you may not, you may not, you can't, no i "
            "don't, no i do not, no i'm not, i'm not, i do not, i don't, let's not, it's too expensive, too expensive, "
            "too much, that's too much, that's too expensive, that is too much, keep/leave it/that/them/this, "
            "keep/leave it as_it_is/like_that/there, not interested, i'm/i_am not interested, i'd/i_would rather you "
            "didn't/did_not, i'd/i_would prefer you didn't/not_to, hold off, hold off on that/it, not necessary, "
            "that's/it's not necessary, i'll/i_will pass, i'll skip it/that, skip it/that, don't bother, no need for "
            "that, not okay/ok/fine/alright/good, it's/that's not okay/ok/fine/alright, that's off, let it be, i'd "
            "hold off, leave it alone, not this time, not this/next week/month/year/weekend, not tonight, please keep "
            "it, count me out"
        ),
        Kind.ALWAYS: (
            "always, don't/do_not/never ask me/ again/anymore/any_more/every_time/each_time/next_time, no_need_to ask "
            "me/ again, you/ don't/do_not have_to/need_to ask me/ "
            "again/anymore/any_more/every_time/each_time/next_time, no_need/there's_no_need to ask me/ "
            "again/anymore/every_time, just/ do it/that every_time/from_now_on, stop asking me, every time, for "
            "always, from now on, always allow, always allow it, always allow that, always do that, always do it, "
            "without asking"
        ),
        Kind.DEAR: "love, dear, my dear, honey, hun, sweetie, sweetheart, darling, babe, duck, pet, dearie",
        Kind.PAD: (
            "thanks so much, thanks very much, thank you kindly, thanks ever so much, thank you ever so much, much "
            "appreciated, appreciate it, i appreciate it, much obliged, thx, pal, bud, buddy, bro, fella, guv, chief, "
            "boss, friend, my friend, ma'am, madam, miss, sir, hun, ooh, ooo, aw, wow, oh wow, oh boy, yay, hooray, "
            "hurray, phew, whew, god, oh god, my god, oh my god, oh my, oh my goodness, my goodness, goodness, gosh, "
            "oh gosh, good lord, heavens, good heavens, crikey, blimey, jeez, gee, bloody, damn, darn, freaking, "
            "totally, ugh, whoa, whoa there, woah, oi, ha, haha, ha ha, lol, pretty please, ok so, very soon, super "
            "quick, too, in that case, honestly, seriously, obviously, clearly, kindly, um, umm, uh, uhm, er, erm, "
            "hmm, hm, mm, ah, oh, well, so, like, you know, please, thanks, thank you, thank you very much, thanks a "
            "lot, many thanks, then, now, right now, right away, just, really, actually, i mean, mate, dude, right, if "
            "you please, very much, quickly, cheers, straight away, at once, immediately, asap, quick, as soon as "
            "possible, ta, straightaway, sharp, on the dot, after all"
        ),
        Kind.CHANGE: (
            "make it, make that, make this, change it to, change that to, change to, rather, i'd rather, i would "
            "rather, i meant, what i meant was, let's make it, let's make that, let's say, can you make it, could you "
            "make it, can we make it, could we make it, can you make that, could you make that, can you change it to, "
            "could you change it to, can you change that to, could you change that to, would you make it, how about, "
            "what about, switch to, switch it to, it should be, that should be, should be, it has to be, it needs to "
            "be, i want, i wanted, i need, i'd like, i would like, i'd prefer, i prefer, give me, instead of, not the, "
            "change the, i asked for, i said, say, not for, can we do, could we do, can it be, could it be, we need, "
            "we want"
        ),
        Kind.INSTEAD: (
            "instead, the other, the other one, another one, something else, someone else, a different one, different, "
            "a different, another, the wrong, wrong number, wrong date, wrong person, the wrong one, would be better, "
            "would suit me better, is better, works better, suits me better, would do, will do, would be best, better, "
            "change it, change that, more, less, fewer, one more, one less, a different time, another day, another "
            "time, day after tomorrow, the day after, earlier, sooner, cheaper, smaller, bigger, larger, warmer, "
            "cooler, longer, shorter, a/a_bit/a_little/much/slightly "
            "earlier/sooner/later/less/more/cheaper/smaller/larger/bigger/longer, a/a_bit/a_little/much/slightly "
            "shorter/higher/lower/warmer/cooler/hotter/colder, later in_the_day/that_day/that_week, "
            "is/'s/are/will_be/would_be enough/plenty, enough, half now, only half, just/only the one, just half, half "
            "of it, half that"
        ),
        Kind.EXCEPT: (
            "but, only, except, but only, but just, only if, but make it, as long as, other than, but not, without, "
            "apart from"
        ),
        Kind.ASK: (
            "what, what's, whats, why, how, how much, how many, how long, who, who's, whose, whom, where, where's, "
            "when, which, is it, is that, is there, is this, is he, is she, are you, are there, are they, are we, do "
            "i, do you, do we, does it, does that, did you, did i, can you, can i, can we, could you, could i, will "
            "it, will you, will that, would it, would you, would that, should i, shall i, tell me, say it again, say "
            "that again, say again, repeat, repeat that, repeat it, come again, pardon, pardon me, i didn't hear, i "
            "didn't hear you, i didn't hear that, i didn't catch that, i didn't get that, i don't understand, i did "
            "not understand, i didn't understand, one more time, again please, once more, have you, has it, am i, was "
            "that, was it, remind me, explain, huh, i can't hear you, i couldn't hear you, what did you say, speak up, "
            "read it back, read that back, you said what"
        ),
        Kind.SORRY: "sorry, i'm sorry, excuse me, so sorry",
        Kind.WAIT: (
            "wait, wait a minute, wait a second, wait wait, hold on, hold on a second, hold on a minute, hang on, hang "
            "on a second, one moment, one second, one minute, just a moment, just a second, just a minute, a moment, a "
            "second, a minute, give me a second, give me a minute, give me a moment, let me think, let me see, let me "
            "check, moment, not so fast, slow down, later, maybe later, pause, i need to think, let me think about it, "
            "let me think about that"
        ),
        Kind.DOUBT: (
            "don't mind, that's it, you got it, hello/hi/hey, yes/yeah hello/hi, in_the future, in future, no idea, no "
            "matter, no wonder, no kidding, no one, maybe, perhaps, possibly, probably, i guess, i guess so, i "
            "suppose, i suppose so, i think so, sort of, kind of, if, unless, i don't know, i do not know, don't know, "
            "dunno, not sure, i'm not sure, i am not sure, whatever, depends, it depends, maybe not, i i don't care, "
            "don't care, don't worry, she said, he said, they said, you said, we said, it said, yes or no, yeah right, "
            "as if, don't you, can't you, won't you, isn't it, isn't that, cannot wait, can't wait, not bad, never "
            "better, don't stop, would be, could be, might, almost, no more, not only"
        ),
        Kind.LINK: (
            "the, a, an, to, from, her, him, number, it_was, that_was, the_same/same time/day/place/thing/name/amount, "
            "of us, for, at, on, with, it, that's, that is, it's, it is, this, of them, there are, there's, there will "
            "be, there'll be, we are, we're, we'll be, it'll be, it will be, they are, they're, people, persons, "
            "guests, of, in, be, that, them, not, in total, altogether, i'm, we"
        ),
    },
    "de": {
        Kind.YES: (
            "joa passt, der/die/es passt, gut so, au ja, oh ja, "
            "bestätige/bestätigen_sie/bestätigt es/ihn/sie/das/den_termin, weg damit, fort damit, jep, jepp, jap, jup, "
            "joa klar, jo klar, jawoll, logo, na logo, logisch, klaro, klar wie kloßbrühe, passt scho, passt schon, "
            "passt schon so, passt wunderbar/perfekt/super/prima/genau/bestens/so/, das passt mir/uns/ sehr/ "
            "gut/super/prima/perfekt/wunderbar/bestens/hervorragend, raus damit, ab damit, her damit, immer her damit, "
            "mach hin, mach hinne, mach zu, hau raus, hau rein, auf geht's, los geht's, dann los, kann losgehen, es "
            "kann losgehen, aber natürlich, aber selbstverständlich, aber unbedingt, ja natürlich, na sicher, na "
            "freilich, na gerne, na gern, sicherlich, gewiss, aber gewiss, auf jeden, jederzeit, liebend gern, liebend "
            "gerne, herzlich gern, nichts lieber als das, ich bitte darum, da bitte ich drum, ich wäre dankbar, das "
            "wäre mir recht, ist mir recht, soll mir recht sein, mir recht, das kannst du machen, das können sie "
            "machen/tun, kannst du machen, können sie machen, machen wir, machen wir so, machen wir das, so machen, "
            "genau das/so/, genau so machen wir das, mach du das, mach nur, machen sie nur, machen sie ruhig, tu das, "
            "tun sie es, nur los, nur her damit, na dann los, na los, bin dabei, ich bin dabei, bin dafür, ich bin "
            "dafür, da bin ich dabei, einverstanden ja, meinen segen haben sie/hast_du, hast meinen segen, sie haben "
            "meine zustimmung/erlaubnis/freigabe, freigegeben, genehmigt, zustimmung, dem stimme ich zu, ich stimme "
            "dem zu, bestätige ich, das bestätige ich, hiermit bestätigt, so soll's sein, so sei es, so ist's recht, "
            "so ist es richtig, geritzt, ist geritzt, gebongt, ist gebongt, alles bestens, wird gemacht, gerne doch, "
            "gern doch, ja klar, ja sicher, ja gut, ja okay, ja logo, na gut ja, basst, jo mach, jo eh, eh klar, ja "
            "eh, ganz sicher, hundertprozentig, zu hundert prozent, hundert prozent, nichts dagegen, ich habe nichts "
            "dagegen, ich hab nichts dagegen, spricht nichts dagegen, stimmt genau, das ist genau richtig, ganz "
            "richtig, vollkommen richtig, so wollte ich das, so will ich es/das, so möchte ich es/das, das hätte ich "
            "gern, das hätte ich gerne, ja hätte ich gern/gerne, ja, jawohl, jo, ja ja, jaja, ja gerne, gerne, ja "
            "bitte, sehr gerne, gern, natürlich, selbstverständlich, klar, na klar, aber klar, sicher, aber sicher, "
            "klar doch, genau, ja genau, richtig, das ist richtig, das stimmt, stimmt, stimmt so, das ist korrekt, "
            "korrekt, passt, das passt, passt so, einverstanden, ich bin einverstanden, in ordnung, das ist in "
            "ordnung, geht in ordnung, okay, ok, mach das, mach es, machs, mach's, mach mal, machen sie das, machen "
            "sie es, tu es, tun sie das, bitte machen, leg los, legen sie los, nur zu, ich bestätige, bestätigt, "
            "bestätige, ich habe ja gesagt, hab ja gesagt, ich sagte ja, auf jeden fall, unbedingt, jederzeit gerne, "
            "gut, sehr gut, prima, perfekt, super, das ist gut, das klingt gut, klingt gut, alles klar, so machen wir "
            "das, so machen wir's, so ist es, ja das will ich, ja das möchte ich, das möchte ich, ich will das, ja ich "
            "will, ja sollst du, ja sollen sie, ja darfst du, ja_das/ja "
            "sollen_sie/sollst_du/dürfen_sie/darfst_du/können_sie/kannst_du, ja dürfen sie, ja kannst du, ja können "
            "sie, absolut, definitiv, ja mach/machen_sie mal/ruhig/, ja ja mach, mach/machen_sie ruhig, "
            "hört_sich/klingt gut/super/prima/toll an/, passt mir gut/, das_passt mir/gut/, freilich, aber gerne/ja, "
            "ja doch, genau so, ganz genau, so soll es sein, wunderbar, top, ausgezeichnet, hervorragend, geht klar, "
            "abgemacht, das_wäre nett/lieb/fein/wunderbar/ideal/klasse, gute idee, ich stimme zu, das/es ist "
            "gut/okay/richtig/korrekt/in_ordnung/perfekt/super, das wäre/klingt "
            "toll/super/gut/prima/perfekt/schön/großartig, so machen wir es/das, sicher doch, sehr gern, "
            "mach/machen_sie das/es bitte"
        ),
        Kind.WARM: (
            "sehr schön, "
            "da kann ich, da habe ich zeit, da hab ich zeit, mega, geil, spitze, spitzenmäßig, bestens, herrlich, "
            "klasse, großartig, genial, fantastisch, hammer, sauber, wunderbar, schön, bin sicher, bin mir sicher, "
            "ganz bestimmt, wenn sie so nett/lieb/gut/freundlich sind/wären, wenn du so nett/lieb bist/wärst, seien "
            "sie so gut/nett/lieb, sei so gut/nett/lieb, warum nicht, wieso nicht, kein problem, keine frage, ohne "
            "frage, ohne zweifel, zu der zeit, um die zeit, um diese zeit, an dem tag, endlich, höchste zeit, wird "
            "zeit, wird auch zeit, bin ganz sicher, ich bin ganz sicher, zack zack, hopp, hopp hopp, freut mich, fein, "
            "toll, cool, los, ist/wäre "
            "gut/okay/richtig/korrekt/in_ordnung/recht/super/toll/perfekt/prima/ideal/klasse/wunderbar/fein, ich bin "
            "sicher, ich bin mir sicher, wie gesagt, alles richtig/gut, recht so, doch, sehr, weiter, ruhig"
        ),
        Kind.NO: (
            "um gottes willen nein, um himmels willen nein, gott nein, bloß nicht, ja nicht, nee nee, nö nö, nein nein "
            "nein, nee du, nicht doch, auf gar keinen, kommt nicht in die tüte, das möchte ich behalten, das will ich "
            "behalten, finger weg, nix da, untersteh dich, das lassen wir, lieber nein, nein, nee, ne, nö, nein nein, "
            "nein danke, nein bitte nicht, bitte nicht, lieber nicht, auf keinen fall, auf gar keinen fall, "
            "keinesfalls, niemals, nie, nicht, nicht jetzt, jetzt nicht, noch nicht, heute nicht, gar nicht, natürlich "
            "nicht, sicher nicht, bestimmt nicht, besser nicht, ich will nicht, ich möchte nicht, ich will das nicht, "
            "ich möchte das nicht, das will ich nicht, das möchte ich nicht, mach das nicht, mach es nicht, machen sie "
            "das nicht, tu das nicht, lass es, lass das, lass es sein, lassen sie es, lassen sie das, lass mal, lieber "
            "doch nicht, doch nicht, abbrechen, abbruch, brich ab, brechen sie ab, stopp, stop, halt, vergiss es, "
            "vergessen sie es, schon gut nein, das ist falsch, falsch, das stimmt nicht, stimmt nicht, das ist nicht "
            "richtig, nicht richtig, ich habe nein gesagt, hab nein gesagt, ich sagte nein, kommt nicht in frage, ich "
            "habe es mir anders überlegt, abgelehnt, ich lehne ab, das war nicht, so nicht, zu teuer, das ist zu "
            "teuer, storniere das, nicht nötig, kein interesse, kein bedarf, das ist nicht nötig, kommt nicht infrage, "
            "lass gut sein, lassen wir das, lass stecken, vergiss das, nichts da, keine chance, behalten, behalte "
            "es/das/sie/ihn, lass es so, lass sie, lass ihn"
        ),
        Kind.ALWAYS: (
            "immer, für immer, frag nicht mehr, frag nicht wieder, frag mich nicht mehr, frag nicht nochmal, fragen "
            "sie nicht mehr, fragen sie nicht wieder, fragen sie mich nicht mehr, nicht mehr fragen, nicht wieder "
            "fragen, nicht nochmal fragen, du musst nicht mehr fragen, du musst nicht wieder fragen, du brauchst nicht "
            "mehr zu fragen, sie müssen nicht mehr fragen, sie brauchen nicht mehr zu fragen, jedes mal, ab jetzt, ab "
            "jetzt immer, ohne zu fragen, immer erlauben"
        ),
        Kind.DEAR: "schatz, schatzi, liebling, süße, süßer, hase",
        Kind.PAD: (
            "stück, "
            "dankschön, dankesehr, danke sehr, danke ihnen, danke dir, danke vielmals, besten dank, herzlichen dank, "
            "lieben dank, tausend dank, merci, dank dir, dank ihnen, sehr nett, ganz lieb, mann, mensch, meister, "
            "chef, kollege, alter, um gottes willen, um himmels willen, gott, ach gott, oh gott, oh, mein gott, oh "
            "mein gott, herrje, puh, uff, boah, wow, doch mal, gleich mal, schnell mal, grad, gerade, zügig, asap, so "
            "schnell wie möglich, ganz, halt einfach, ruhig mal, bittschön, bittesehr, biddeschön, äh, ähm, öh, hm, "
            "hmm, mm, ach, ach so, na, also, so, nun, tja, bitte, danke, danke schön, dankeschön, vielen dank, doch "
            "bitte, dann, jetzt, gleich, sofort, mal, eben, einfach, bitte schön, bitte sehr, pünktlich, genau dann, "
            "schnell, gleich jetzt"
        ),
        Kind.CHANGE: (
            "lieber, statt, anstatt, mach daraus, machen sie daraus, machen wir, mach, machen sie, ändere, ändern sie, "
            "ändere es auf, ändern sie es auf, ich meinte, ich meine, es sollen, es soll, es sollte, sondern, ich "
            "möchte, ich will, ich wollte, ich brauche, wir brauchen, ich hätte gern, ich hätte gerne, kannst du "
            "daraus machen, können wir, kannst du, könnten sie, können sie, wie wäre es mit, wie wär's mit, was ist "
            "mit, sagen wir, doch lieber, eher, besser, ich sagte, ich habe gesagt, nicht für"
        ),
        Kind.INSTEAD: (
            "wäre besser, wäre mir lieber, ist besser, passt besser, passt mir besser, reicht, genügt, reichen, "
            "genügen, stattdessen, der andere, die andere, das andere, den anderen, ein anderer, eine andere, ein "
            "anderes, einen anderen, etwas anderes, jemand anderes, mehr, weniger, der falsche, die falsche, das "
            "falsche, andersrum, übermorgen, früher, etwas/ein_bisschen/ein_wenig/viel "
            "früher/später/mehr/weniger/größer/kleiner/länger/kürzer/wärmer/kälter, größer, kleiner, wärmer, kälter, "
            "länger, kürzer, billiger, die hälfte, nur die hälfte"
        ),
        Kind.EXCEPT: "aber, nur, aber nur, außer, bloß, allerdings, jedoch, aber nicht, ohne, solange",
        Kind.ASK: (
            "was, wie, wieviel, wie viel, wie viele, wer, wen, wem, wo, wann, warum, wieso, weshalb, welche, welcher, "
            "welches, welchen, wofür, woher, wohin, ist das, ist es, gibt es, sind das, bist du, sind sie, hast du, "
            "haben sie, kostet das, wie bitte, was kostet, nochmal, noch mal, noch einmal, wiederhole, wiederholen, "
            "wiederholen sie, wiederhol das, sag das nochmal, sagen sie das nochmal, ich habe das nicht verstanden, "
            "das habe ich nicht verstanden, ich verstehe nicht, nicht verstanden, ich habe nicht verstanden, sag mir, "
            "sagen sie mir, erklär, erklären sie, hä, muss ich, soll ich, darf ich, kann ich"
        ),
        Kind.SORRY: "entschuldigung, verzeihung, entschuldige, entschuldigen sie, sorry",
        Kind.WAIT: (
            "warte, warten sie, warte mal, warten sie mal, moment, moment mal, einen moment, ein moment, einen "
            "augenblick, augenblick, sekunde, eine sekunde, kurz, lass mich überlegen, lass mich nachdenken, ich "
            "überlege, ich muss überlegen, später, vielleicht später, langsam, nicht so schnell"
        ),
        Kind.DOUBT: (
            "und so weiter, ja gleich, na super, na toll, na prima, na bravo, na wunderbar, na herrlich, "
            "vielleicht, eventuell, möglicherweise, wahrscheinlich, ich glaube, ich glaube schon, ich denke, ich denke "
            "schon, ich schätze, wenn, falls, sofern, keine ahnung, keine sorge, ich weiß nicht, weiß nicht, weiß ich "
            "nicht, mal sehen, egal, ist mir egal, mir egal, von mir aus, meinetwegen, schon gut, kommt darauf an, "
            "kommt drauf an, jein, naja, na ja, ja nein, nicht sicher, ich bin nicht sicher, ich bin mir nicht sicher, "
            "bin mir nicht sicher, sie sagte, er sagte, sie hat, er hat, hat sie gesagt, hat er gesagt, nicht "
            "schlecht, ja oder nein, schon, passt/pass auf, passt schon auf, ja klar und"
        ),
        Kind.LINK: (
            "es, das, auf, für, um, am, an, mit, zu, zum, zur, sind, es sind, wir sind, wir, leute, personen, gäste, "
            "menschen, ist, sein, werden, es ist, das ist, der, die, den, dem, einen, ein, eine, uns, von uns, draus, "
            "nummer, hausnummer, daraus"
        ),
    },
    "es": {
        Kind.YES: (
            "confírmela, confírmelo, confírmala, confírmalo, deme/dame de baja, déme de baja, sí deme/dame de baja, "
            "simón, ándale, ándele, ándale pues, órale pues, va, va que va, vamos allá, vamos a ello, dale nomás, dale "
            "dale, dale pues, sale, sale y vale, sale pues, ya estás, ya está dicho, listo, perfecto sí, claro claro, "
            "claro hombre, claro mujer, hombre claro, hombre sí, cómo no sí, sí cómo no, pues claro, pues sí, pues "
            "vale, pues dale, pues venga, pues adelante, sí señora, sí señorita, sip, sep, sipi, chévere, bárbaro, "
            "fenomenal, de una, de una vez, obvio, obvio que sí, obviamente, naturalmente, efectivamente, cierto, así "
            "mismo, tal cual, tal y como dices, eso mero, eso eso, a huevo, sin duda, sin dudarlo, sin duda alguna, no "
            "hay problema adelante, de mil amores, encantado, encantada, con mucho gusto, cuando quieras, cuando "
            "quiera, cuando gustes, cuando guste, proceda usted, haz eso, haga eso, hagámoslo, hagamos eso, hazlo ya, "
            "hágalo ya, házmelo, hágamelo, tienes/tiene mi permiso/aprobación/consentimiento/autorización, autorizo, "
            "lo autorizo, autorizado, aprobado, lo apruebo, aceptado, conforme, estoy conforme, totalmente de acuerdo, "
            "me parece correcto/fantástico/estupendamente/ideal/excelente/fenomenal, me sirve, me va, me late, me "
            "cuadra, me conviene, me apunto, apúntame, cuenta conmigo, suena genial/perfecto/estupendo, eso es lo que "
            "quiero, es lo que quiero, lo que quiero, así es como lo quiero, sí que quiero, sí quiero eso, qué bueno "
            "sí, ya lo creo, ya te digo, eso por favor, te lo agradezco, se lo agradezco, te lo agradecería, se lo "
            "agradecería, hágale, hágale pues, métele, métele nomás, si, si si, si por favor, si claro, claro, claro "
            "que si, por supuesto, desde luego, vale, dale, de acuerdo, estoy de acuerdo, ok, okay, correcto, es "
            "correcto, eso es correcto, exacto, exactamente, asi es, eso es, eso mismo, adelante, hazlo, hágalo, está "
            "perfecto, hazlo por favor, hágalo por favor, procede, proceda, confirmo, confirmado, lo confirmo, acepto, "
            "está bien, me parece bien, perfecto, muy bien, genial, estupendo, con gusto, he dicho que si, dije que "
            "si, te he dicho que si, si quiero, lo quiero, si lo quiero, que si, si puedes, si puede, sí señor, venga, "
            "órale, por favor hazlo, por favor hágalo, seguro, afirmativo, me parece perfecto, suena bien, eso quiero, "
            "hecho, me parece genial/estupendo, me va/viene bien/perfecto/genial, está bien/perfecto/genial así, sí "
            "eso, si adelante, sí dale, venga va, así lo quiero, trato hecho, buena idea, excelente, magnífico, desde "
            "ya, me encantaría, sería genial/perfecto/estupendo/ideal"
        ),
        Kind.WARM: (
            "ese, esa, esos, esas, "
            "chido, qué padre, qué chido, guay, fantástico, maravilloso, maravilla, divino, buenísimo, de maravilla, "
            "de lujo, cómo no, por qué no, no hay problema, sin problema, sin problemas, ningún problema, si eres tan "
            "amable, si es tan amable, si fueras/fuera tan amable, si no es molestia, a esa hora, ese día, esa hora, "
            "para ese día, por fin, ya era hora, ya toca, segurísimo, segurísima, completamente, totalmente, cien por "
            "cien, cien por ciento, al cien, estoy segurísimo, estoy segurísima, completamente seguro/segura, muy "
            "amable de su/tu parte, quiero que, quisiera que, bien, va bien, es perfecto/genial/ideal/estupendo/bueno, "
            "todo bien/correcto, así, así está bien, como dije, ya te lo dije, estoy seguro/segura, qué bien"
        ),
        Kind.NO: (
            "quita, quita quita, quita quita no, ay no, uy no, no hombre, no mujer, no qué va, ni de broma, ni en "
            "broma, ni hablar, ni pensarlo, ni soñarlo, por dios no, no por dios, dios no, de eso ni hablar, ni se te "
            "ocurra, nel, nones, nanay, para nada no, no gracias no, no, no no, no gracias, no por favor, no quiero, "
            "no lo quiero, no lo hagas, no lo haga, no hagas eso, no haga eso, nunca, jamás, ahora no, todavía no, aún "
            "no, hoy no, para nada, en absoluto, de ninguna manera, claro que no, por supuesto que no, mejor no, "
            "prefiero que no, prefiero no, cancela, cancela eso, cancelar, cancélalo, cancele, pare, detente, detén, "
            "ya basta, olvídalo, olvídelo, déjalo, déjelo, deja, eso no, eso no es, eso no es correcto, eso no está "
            "bien, eso está mal, no es correcto, no es eso, está mal, incorrecto, equivocado, he dicho que no, dije "
            "que no, no estoy de acuerdo, cambié de opinión, he cambiado de opinión, no para, ni se te/le ocurra, ni "
            "loco/loca, qué va, de eso nada, déjalo/déjelo así/estar, no me interesa, no hace falta, no es necesario, "
            "déjela, déjala, déjela/déjala/déjalo/déjelo como está, no acepto, rechazo, lo rechazo, es muy caro, es "
            "demasiado caro, demasiado caro, no así no"
        ),
        Kind.ALWAYS: (
            "siempre, para siempre, no preguntes más, no vuelvas a preguntar, no me preguntes más, no me vuelvas a "
            "preguntar, no vuelva a preguntar, no pregunte más, no hace falta que preguntes más/, no hace falta "
            "preguntar, cada vez, de ahora en adelante, a partir de ahora, sin preguntar, permitir siempre, todas las "
            "veces"
        ),
        Kind.DEAR: (
            "amor, mi amor, cariño, corazón, mi vida, cielo, mi cielo, mi rey, mi reina, reina, guapo, guapa, mijo, "
            "mija"
        ),
        Kind.PAD: (
            "porfa, porfis, porfi, porfavor, plis, mil gracias, muchísimas gracias, gracias muy amable, se agradece, "
            "señor, señora, señorita, joven, amigo, amiga, tío, tía, güey, wey, hermano, compadre, jefe, jefa, hombre, "
            "mujer, che, uy, uf, ups, ostras, hostia, madre mía, dios, dios mío, ay dios, ay dios mío, por dios, "
            "caray, rapidito, rápido, lo antes posible, cuanto antes, ahorita, ahorita mismo, de inmediato, "
            "inmediatamente, nomás, oye, oiga, fíjate, mire, usted, todas, todos, toda, todo, eh, em, este, mm, hm, "
            "hmm, ah, oh, ay, pues, bueno, a ver, mira, por favor, gracias, muchas gracias, entonces, ahora, ahora "
            "mismo, ya mismo, solo que, muy amable, enseguida, pues nada, en punto, ya"
        ),
        Kind.CHANGE: (
            "mejor, en vez de, en lugar de, cámbialo a, cámbielo a, cambia, que sea, que sean, pon, ponga, ponlo, "
            "pongamos, quise decir, quiero decir, quería, quiero, quisiera, necesito, necesitamos, prefiero, sino, "
            "deberían ser, debería ser, tiene que ser, puedes hacerlo para, puede ser, pueden ser, puede ser para, qué "
            "tal, y si, dije, he dicho, haz que sean, haz que sea, hazlo para, hágalo para, somos, seremos, digamos, "
            "no para"
        ),
        Kind.INSTEAD: (
            "mejor que, sería mejor, es mejor, me viene/va mejor, en cambio, el otro, la otra, otro, otra, otra cosa, "
            "otro día, otra hora, otra persona, más, uno más, uno menos, pasado mañana, cámbialo, cámbielo, antes, "
            "basta con, basta, un_poco/algo más/menos temprano/tarde/grande/pequeño/barato/alto/bajo/caliente/frío/, "
            "la mitad, solo la mitad"
        ),
        Kind.EXCEPT: (
            "pero, solo, solamente, pero solo, excepto, menos, salvo, únicamente, sin, siempre que, con tal de que, "
            "pero no"
        ),
        Kind.ASK: (
            "cuánto, cuánta, cuántos, cuántas, cuándo, cómo, dónde, quién, quiénes, por qué, qué, cuál, cuáles, es "
            "que, hay, tiene, tienes, puedes repetir, puede repetir, repite, repita, repítelo, repítalo, otra vez, de "
            "nuevo, una vez más, no entiendo, no entendí, no he entendido, no te entiendo, no oí, no te oigo, no le "
            "oigo, no escuché, dime, dígame, explica, explícame, puedes decirme, puede decirme, es gratis, tienen, "
            "debo, a quién, para quién"
        ),
        Kind.SORRY: "perdón, perdona, disculpa, disculpe, lo siento",
        Kind.WAIT: (
            "espera, espere, espérate, un momento, un segundo, un minuto, momento, momentito, un momentito, déjame "
            "pensar, déjeme pensar, déjame ver, tengo que pensarlo, luego, más tarde, después, aguarda, aguarde, "
            "despacio, tranquilo"
        ),
        Kind.DOUBT: (
            "quizás, quizá, tal vez, a lo mejor, puede que, puede que si, creo que si, creo, supongo, supongo que si, "
            "supongo que, no sé, no lo sé, ni idea, no estoy seguro, no estoy segura, depende, si es, si hay, si está, "
            "como quieras, como quiera, me da igual, da igual, no importa, no pasa nada, ella dijo, él dijo, dijo que, "
            "dijeron, dijo, más o menos, casi, si o no, probablemente, posiblemente, no está mal, si ya, ya ya, venga "
            "ya, anda ya"
        ),
        Kind.LINK: (
            "para, a, al, de, en, con, el, la, los, las, un, una, es, son, personas, gente, nosotros, lo, eso, número, "
            "sea, sean, serán, seríamos"
        ),
    },
    "zh": {
        Kind.YES: (
            "下单吧, 快去吧, 成, 成啊, 成吧, 成的, 中, 中啊, 好嘞, 得嘞, 得咧, 好咧, 好勒, 好的呢, 好的呀, 好的好的, "
            "可以可以, 行行, 行行行, 行嘞, 是是, 是是是, 要要, 嗯行, 嗯要, 嗯对对, 妥, 妥了, 妥妥的, 没毛病, 没意见, "
            "我没意见, 没问题, 没问题的, 完全没问题, 没错没错, 一点没错, 那就这么办, 就这么办吧, 那就这样, 那就这样吧, "
            "就这样办, 就按这个办, 按你说的办, 按你说的, 照你说的办, 照办, 听你的, 听你安排, 你安排吧, 来吧, 搞吧, "
            "弄吧, 办吧, 办了吧, 整吧, 安排, 安排上, 安排吧, 走起, 动手吧, 交给你了, 拜托了, 拜托, 拜托你了, 麻烦您了, "
            "有劳了, 有劳, 正合我意, 挺好, 挺好的, 非常好, 太棒了, 完美, 同意的, 我同意的, 赞成, 我赞成, 认可, 我认可, "
            "授权, 我授权, 我确认了, 确认无误, 无误, 准确, 完全正确, 那必须, 那必须的, 必须, 那当然, 那当然了, 当然了, "
            "当然要, 当然可以了, 可以的呀, 我愿意的, 我需要, 是我要的, 就要这个, 我就要这个, 对就这样, 就它了, "
            "就这个了, 就它, 没异议, 无异议, 我没异议, 你去办吧, 去办吧, 你做吧, 你弄吧, 做吧做吧, 是, 是的, 是啊, 对, "
            "对的, 对啊, 对对, 对对对, 好, 好的, 好啊, 好吧, 好呀, 好好, 好好好, 可以, 可以的, 可以啊, 行, 行啊, 行吧, "
            "当然, 当然可以, 当然好, 确认, 我确认, 确定, 我确定, 同意, 我同意, 要, 要的, 我要, 嗯好, 嗯好的, 嗯是的, "
            "嗯对, 嗯可以, 请吧, 请做, 去做吧, 做吧, 就这样, 就这样吧, 就这么办, 就这么定了, 就这么做, 可以做, 对呀, "
            "是呀, 行呀, 可以呀, 行的, 好滴, 好哒, 那好, 那行, 那可以, 就这么着, 没错, 我说是, 我说了是, 我说了好, "
            "我说好, 我说可以, 愿意, 我愿意, 需要, 正确, 是这样, 是这样的, 开始吧, 帮我做吧, 麻烦你了, 请确认, 批准, "
            "允许, 我允许, 必须的, 肯定, 肯定的, 太好了, 很好, ok, okay, yes"
        ),
        Kind.WARM: "就/ 这个/这张/这家/这份/这间/这趟/这些, 继续, 继续吧, 很, 就是, 就是这样, 太好, 帮我, 帮我做, 帮",
        Kind.NO: (
            "不成, 不中, 还是算了, 还是算了吧, 还是不要了, 还是不了, 还是别了, 那算了, 不行不行, 不用不用, 不要不要, "
            "别别, 别别别, 不不, 不不不, 没门, 不妥, 不赞成, 我不赞成, 免了, 免了吧, 千万别删, 我没同意, 没同意, 不, "
            "不要, 不用, 不用了, 不是, 不对, 不行, 不可以, 不可以的, 不好, 不了, 不同意, 我不同意, 不需要, 不必, "
            "不必了, 不想, 我不想, 我不要, 别, 别做, 别这样, 先别, 先不要, 先不, 现在不要, 现在不, 还不要, 还没有, "
            "还没, 不是的, 不是这样, 不是这样的, 不确认, 取消, 取消吧, 算了, 算了吧, 停, 停下, 停止, 拒绝, 我拒绝, "
            "错了, 不对的, 错, 我说不, 我说了不, 我说不要, 千万别, 千万不要, 留着, 留着吧, 保留, 先留着, 绝对不行, "
            "绝不, 当然不, 当然不行, 没有, 不谢谢, 不用谢谢, 不要了, 太贵了, 我改主意了, 我改变主意了, 没必要, no"
        ),
        Kind.ALWAYS: (
            "总是, 一直, 永远, 以后都, 以后都可以, 以后都行, 每次都, 每次都可以, 别再问了, 别再问我了, 别再问, "
            "不用再问, 不用再问了, 不要再问, 不要再问了, 以后不用问, 以后不用问了, 以后不用再问, 以后不用再问了, "
            "下次不用问, 下次不用问了, 以后别问了, 总是允许, 始终允许, 永远允许, 以后都这样"
        ),
        Kind.DEAR: "亲爱的, 宝贝, 宝贝儿",
        Kind.PAD: (
            "谢了, 谢啦, 感谢, 非常感谢, 太感谢了, 哈, 哈哈, 哇, 天哪, 嘛, 呗, 哟, 麻溜, 麻溜的, 赶快, 立马, 这就, "
            "帮忙, 帮个忙, 多谢了, 嗯, 嗯嗯, 呃, 啊, 哦, 噢, 喔, 哎, 唉, 呀, 那, 那个, 那就, 就, 请, 谢谢, 谢谢你, "
            "谢谢您, 多谢, 麻烦, 麻烦你, 麻烦您, 现在, 马上, 立刻, 的, 然后, 快, 快点, 赶紧, 尽快"
        ),
        Kind.CHANGE: (
            "改成, 改为, 换成, 换, 改, 改到, 换到, 而是, 我是说, 我的意思是, 我想要, 我要的是, 应该是, 最好, 还是, "
            "要不, 不如, 能不能改成, 能改成, 可以改成, 可以换成, 能换成, 我们有, 我们是, 不要给, 变成"
        ),
        Kind.INSTEAD: (
            "再/ 低/高/早/晚/大/小/多/少/便宜/热/冷 一点/一些/点/些, 就行, 就够, 就够了, 一半, 后天, 大后天, 另一个, "
            "另外, 别的, 其他, 不同的, 换一个, 改一下, 更多, 更少, 多, 少, 换一下"
        ),
        Kind.EXCEPT: "但, 但是, 不过, 可是, 只, 只要, 只有, 只能, 除了, 除非, 只是, 但只, 但只要, 不过只要",
        Kind.ASK: (
            "成不成, 中不中, 成吗, 妥吗, 要不要得, 什么, 多少, 多少钱, 几, 几个, 几点, 谁, 给谁, 哪, 哪里, 哪个, 哪儿, "
            "什么时候, 为什么, 怎么, 怎么样, 吗, 呢, 再说一遍, 再说一次, 请再说一遍, 再说, 重复, 重复一遍, 请重复, "
            "没听清, 我没听清, 没听懂, 我没听懂, 没听见, 我没听见, 听不清, 听不懂, 不明白, 我不明白, 不懂, 告诉我, "
            "解释, 是不是, 有没有, 要不要, 能不能, 可不可以, 行不行, 对不对, 你说什么, 贵不贵"
        ),
        Kind.SORRY: "对不起, 不好意思, 抱歉",
        Kind.WAIT: (
            "等, 等等, 等一下, 等下, 稍等, 稍等一下, 请稍等, 等一等, 慢着, 慢点, 且慢, 让我想想, 让我想一想, 我想想, "
            "我想一想, 我考虑一下, 考虑一下, 以后再说, 待会儿, 一会儿, 回头, 晚点, 先等等, 先等一下"
        ),
        Kind.DOUBT: (
            "可以是可以, 好是好, 行是行, 对是对, 要是要, 没问题吧, 没问题吗, 没错吧, 没毛病吧, 没意见吧, 一定吗, 好了, "
            "对了, 行了, 可以了, 得了, 好啦, 是吧, 对吧, 可以吧, 要吧, 确定吧, 也许, 可能, 大概, 或许, 如果, 要是, "
            "的话, 不知道, 我不知道, 不确定, 我不确定, 不随便, 随你, 都可以吧, 没关系, 没事, 没什么, 无所谓, 好像, "
            "应该吧, 我觉得, 我猜, 差不多, 她说, 他说, 他们说, 你说, 好不好, 是吗, 好吗, 对吗, 不错, 不客气, 好多, "
            "好久, 好人, 好像是, 是什么, 对面, 行李, 看情况, 再看看, 好了吗"
        ),
        Kind.LINK: "吧, 到, 在, 人, 个, 位, 个人, 把, 它, 这, 用, 为, 我们, 一共, 总共, 订",
    },
}


def as_compared(text: str) -> Phrase:
    """Return the tokens of a text as they are compared.

    Accents and apostrophes, which recognisers write or leave out, are gone.
    """
    return tuple(plain(token).replace("'", "") for token in tokens_of(text))


def _phrases(words: Mapping[Kind, str]) -> dict[Phrase, Kind]:
    return {
        as_compared(" ".join(chosen)): kind
        for kind, text in words.items()
        for phrase in text.split(",")
        for chosen in product(*(word.split("/") for word in phrase.split()))
    }


PHRASES: dict[Language, dict[Phrase, Kind]] = {language: _phrases(words) for language, words in _WORDS.items()}
LONGEST: dict[Language, int] = {language: max(map(len, phrases)) for language, phrases in PHRASES.items()}
