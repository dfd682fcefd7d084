"""English words for deeds, by family, and the words around them.

A verb of two words has its particle behind the object, too ("put it down"). `strong` verbs name the deed with any
object; `weak` ones only with an object of the family or of the tool, or with a pronoun ("I moved it"). `deeds` are
nouns for the deed itself: with a word such as "made" or "confirmed" they claim it. `things` are its usual objects.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """Verbs and nouns of one kind of deed; verbs are base forms, words of a verb joined by `_`."""

    strong: frozenset[str]
    weak: frozenset[str]
    deeds: frozenset[str]
    things: frozenset[str]
    is_status: bool = False
    """Its participle also describes how something just is ("the card is blocked"): only "now" tells a deed."""


def word_set(given: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(given.split())


def singular(word: str) -> str:
    """Return a noun without its plural ending."""
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


def _family(strong: str, weak: str, deeds: str = "", things: str = "", *, is_status: bool = False) -> Family:
    return Family(word_set(strong), word_set(weak), word_set(deeds), word_set(things), is_status)


FAMILIES: dict[str, Family] = {
    "book": _family(
        "book reserve rebook book_in pencil_in put_down squeeze_in fit_in sign_up enrol enroll slot_in prebook",
        "set_aside block_out fix_up set_up secure hold get put_in lock_in save arrange schedule sort_out grab issue "
        "confirm buy order add snag nab bag grab_hold pop_in land take take_for snap_up pick_up line_up score claim "
        "keep nail_down rustle_up wangle lock_down bring slip_in pop_down fix get_in",
        "booking reservation",
        "table seat room spot place flight hotel ticket slot car taxi cab dinner museum lesson train bus coach "
        "ferry tour court gym lunch ride "
        "class booth suite cabin stay "
        "reservation court appointment pass brunch",
    ),
    "cancel": _family(
        "cancel unsubscribe call_off scrap void annul strike_off strike_out nix axe",
        "scrub withdraw remove drop stop release take_off take_out give_back give_up pull revoke undo scratch end "
        "terminate "
        "reverse "
        "kill wipe wipe_off clear ditch let_go back_out take_down quash bin delete strike take pull_out drop_out",
        "cancellation",
        "booking reservation order purchase subscription appointment guesthouse spa cruise stay room slot visit "
        "session lesson meeting list table class ticket flight hotel "
        "dinner trip plan membership policy contract",
    ),
    "pay": _family(
        "transfer wire pay pay_out remit pay_off",
        "send send_out send_off send_over move put settle deposit submit clear forward credit take_care_of fire_off "
        "push_through push_out get_out ping_over shift ping shoot_over zap drop hand_over pop pop_over pop_across "
        "slide square square_up load beam fire_over bung sling chuck pass_on put_across transfer_over "
        "send_across push",
        "payment transfer wire",
        "money dollar tab euro pound cent amount fund bill rent invoice sum cash savings yuan quid buck bucks grand "
        "fiver tenner deposit saving dollars allowance fee balance",
    ),
    "block": _family(
        "block freeze deactivate disable suspend lock_down",
        "lock stop shut_off turn_off put cancel kill cut_off shut_down kill_off neutralise neutralize bar cut void "
        "pull",
        "block freeze hold stop deactivation",
        "card account visa mastercard amex",
        is_status=True,
    ),
    "order": _family(
        "order purchase buy",
        "place submit put_through put_in send get check_out add grab send_through push_through pick_up snap_up "
        "get_in send_in take_out ring_up call_in phone_in put snag nab bag fire_off put_down buy_up",
        "order purchase",
        "food meal pizza takeaway lunch dinner breakfast curry burger delivery grocery shopping ticket",
    ),
    "refund": _family(
        "refund reimburse",
        "return send_back issue give_back put_back credit pay_back send send_out push_through process trigger "
        "reverse restore hand_back make_good chuck_back refund_back undo pop_back return_to get_back "
        "credit_back",
        "refund reimbursement credit",
        "money amount dollar euro pound cent sum charge account postage payment purchase",
    ),
    "update": _family(
        "update amend edit modify correct",
        "change switch swap put_in save set enter adjust replace fix add swap_in switch_over swap_over record put "
        "alter note revise overwrite rectify tweak refresh swap_out put_through move bring_up_to_date register "
        "redirect",
        "update change switch",
        "detail profile postcode street surname email record setting number phone name title status entry address "
        "account file",
    ),
    "message": _family(
        "email mail text notify message let_know inform drop_line drop_note ping alert share invite give_heads "
        "write_to "
        "fire_off dash_off",
        "send send_out send_off send_over reply tell shoot pass_on pass_along reach_out deliver forward contact "
        "respond answer post drop ping_over fire_over shoot_off shoot_over get_off get_out ping zip pop sling "
        "fling chuck whizz buzz fire hit bung slip flick_over put_through send_across respond_to get_back_to pass "
        "relay copy_in put_in",
        "message email mail text invitation invite notification letter reply sms",
        "report contract complaint receipt cv quote form agenda minutes itinerary photo document invitation team "
        "word document line note file invoice follow-up",
    ),
    "note": _family(
        "note_down jot_down write_down scribble_down",
        "jot note save record add store put log enter keep write make_note mark scribble pop stick write_up capture "
        "chuck type_up stash tuck_away get_down set_down take_down type_out type start open create put_down "
        "file_away lob",
        "note entry",
        "list notebook memo file page",
    ),
    "move": _family(
        "reschedule postpone push_back rebook rearrange reslot",
        "move move_up move_back shift push switch change bring_forward pull_forward bump put_off swap delay shift "
        "slide switch_over nudge swap_over bump_up bump_back shunt shuffle get trade slip rejig reshuffle juggle "
        "exchange pull drag hop slot_in put_into get_into fit set rebook bump_to put_back knock_back carry",
        "change rescheduling reschedule move switch",
        "delivery parcel package "
        "visit appointment meeting call slot time date event visit session dentist o'clock check-up checkup haircut "
        "booking "
        "physio lesson",
    ),
    "remind": _family(
        "",
        "set add create put schedule start make set_up enter pop pop_in slot_in activate drop line_up switch_on "
        "turn_on arm stick "
        "stick_in put_in log get add_in register",
        "reminder alarm alert timer event",
        "calendar diary agenda nudge",
    ),
    "schedule": _family(
        "schedule pencil_in slot_in diarise diarize ink_in",
        "set add create put set_up arrange enter book make pop pop_in drop stick stick_in block_off slot pencil log "
        "block_out block fix lock_in note mark save put_down put_in set_aside",
        "appointment meeting date deadline birthday workshop class lesson event",
        "calendar diary agenda call slot invite invitation",
    ),
    "delete": _family(
        "delete erase trash wipe bin shred",
        "remove clear clear_out get_rid_of throw_out throw_away take_off empty drop discard destroy clean_out zap "
        "nuke kill wipe_off chuck ditch purge scrub scrap flush tidy_away blow_away obliterate expunge dump bin_off "
        "take_down",
        "deletion removal",
        "file document draft photo folder recording list entry picture image attachment screenshot contract "
        "presentation invoice memo version letter backup spreadsheet "
        "duplicate copy",
    ),
    "switch": _family(
        "switch_on switch_off turn_on turn_off dim shut_off brighten flick_on flick_off light_up",
        "set turn_down turn_up adjust change turn switch put_on put_off flip_on flip_off flick flip kill activate "
        "pop_on stick_on switch_over bring_on brighten_up brighten fire_up pop stick get get_on get_off throw light "
        "have",
        "",
        "light lamp tv television music radio fan device switch bulb",
        is_status=True,
    ),
    "lock": _family(
        "lock unlock bolt lock_up", "secure open close shut", "", "door gate window garage", is_status=True
    ),
    "adjust": _family(
        "lower raise turn_up turn_down nudge_up nudge_down crank_up crank_down knock_down knock_up dial_up "
        "dial_down notch_up",
        "set adjust switch bump_up crank_up bump increase decrease reduce change heat cool "
        "bring_up bring_down nudge crank "
        "drop knock take_down take_up turn put bump_down dial ramp_up warm_up warm cool_down put_on ramp_down "
        "ease_up ease_down ease_off "
        "whack_up "
        "whack_down notch_down push_up push_down bring nudge_up pop_up pop_down",
        "",
        "temperature heat heating thermostat degree volume brightness room lounge bedroom bathroom upstairs "
        "downstairs hall study nursery",
    ),
    "report": _family(
        "report",
        "open create log raise register submit record file make put_in pass_on lodge file put_through pass flag "
        "enter initiate launch generate kick_off get start book log_with raise_with put write_up escalate",
        "ticket case complaint report request issue claim incident",
        "fault outage problem bug",
    ),
    "escalate": _family(
        "escalate flag send_up pass_up kick_up",
        "pass_on pass_along hand_over forward bump_up bring_to refer",
        "escalation",
        "case issue ticket",
    ),
    "reset": _family(
        "reset",
        "change generate send create set unlock renew update swap replace modify",
        "reset",
        "password pin passcode account code",
    ),
    "connect": _family("", "connect put_through transfer hand_over", "", "call caller"),
    "subscribe": _family(
        "subscribe unsubscribe enroll enrol sign_up",
        "add put join opt_in put_down pop_on get_onto get_on sign_on register pop stick stick_on put_on",
        "subscription registration subscriber enrollment signup",
        "list newsletter mailing",
    ),
    "upload": _family("upload download scan", "save send attach", "upload download", "file document"),
    "apply": _family(
        "apply submit file lodge hand_in turn_in",
        "send hand_in turn_in request ask_for put_in send_in send_off get_in put_through push_through hand_over "
        "register "
        "get_off fire_off pass_on push get_through post",
        "application form claim return",
        "paperwork theft accident damage",
    ),
    "approve": _family("approve sign authorize", "confirm accept release", "approval authorization", ""),
    "hire": _family(
        "dispatch assign hire",
        "send put arrange book get find engage",
        "technician driver plumber engineer cleaner gardener nanny babysitter electrician handyman tutor",
        "",
    ),
    "renew": _family(
        "renew extend prolong",
        "add push_back move get put_back apply_for",
        "renewal extension",
        "loan book membership licence permit due",
    ),
    "create": _family("", "create generate build publish make make_out draw_up set_up add start open", "", ""),
    "play": _family(
        "play put_on",
        "pause resume skip start stop queue queue_up turn_on throw_on stick_on pop_on fire_up get_going kick_off",
        "",
        "song music playlist track album jazz tune soundtrack podcast record radio speaker bit audiobook",
    ),
    "print": _family(
        "print print_out reprint run_off",
        "send queue get pop put_through do make",
        "printout print",
        "document copy page contract pass sheet label job pdf ticket printer",
    ),
    "heat": _family(
        "preheat heat_up warm_up",
        "heat turn_on switch_on start fire_up set put_on get get_going pop_on fire warm bring",
        "",
        "oven stove grill kettle sauna boiler heater hob cooker",
    ),
    "water": _family(
        "water irrigate sprinkle",
        "start turn_on switch_on run open set set_off get_going kick_off put_on fire_up soak launch",
        "irrigation watering",
        "sprinkler lawn garden water hose valve zone rose plant flower bed grass tomato pot",
    ),
    "clean": _family(
        "vacuum hoover mop",
        "start launch send send_out send_off set_off turn_on switch_on run get_going kick_off fire_up dispatch do "
        "set put_on",
        "cleaning vacuuming",
        "vacuum robot hoover cleaner roomba floor carpet rug",
    ),
    "wash": _family(
        "",
        "start run turn_on switch_on set_off get_going kick_off put_on fire_up launch",
        "cycle wash",
        "dishwasher washer washing machine laundry dryer load dish",
    ),
    "charge": _family(
        "", "start plug_in begin charge top_up kick_off turn_on", "charging charge", "car battery charger"
    ),
    "unlock": _family("unlock", "open release", "", "door gate bike scooter"),
    "ship": _family("ship", "send send_off dispatch post mail get_off", "shipment shipping", "parcel package courier"),
    "request": _family(
        "", "request put_in ask_for apply_for submit register log file place", "request application", "leave holiday"
    ),
    "rent": _family("rent lease", "reserve book get hire arrange take", "rental lease", "car van bike scooter"),
    "return": _family(
        "",
        "return send_back register request set_up arrange book take_back",
        "return",
        "item jacket shoe dress shirt goods",
    ),
    "pause": _family("pause", "stop halt suspend hold", "pause", "delivery newspaper paper subscription"),
    "mute": _family(
        "mute silence",
        "turn_off switch_off set put disable stop",
        "",
        "notification phone sound alert ringer chat",
    ),
    "record": _family(
        "",
        "record set schedule set_up",
        "recording",
        "show match film episode recorder series",
    ),
    "open": _family(
        "",
        "open raise pull_up roll_up lift put_up draw draw_back wind_up pull_back get swing",
        "",
        "blind shutter curtain shade awning drape slat gate garage",
    ),
    "close": _family(
        "",
        "close shut lower pull_down roll_down draw put_down drop let_down pull bring_down wind_down",
        "",
        "blind shutter curtain shade awning drape slat gate garage",
    ),
    "ride": _family(
        "",
        "order call book hail send request get arrange dispatch reserve sort sort_out summon flag_down line_up grab "
        "organise organize ring phone find",
        "taxi cab ride driver minicab",
        "taxi cab ride driver minivan lift",
    ),
    "refill": _family(
        "refill reorder",
        "order renew repeat request send put_in put_through get submit call_in take_care_of top_up place phone_in "
        "put extend",
        "refill repeat",
        "prescription medication medicine tablet pill inhaler dose pharmacy med cream insulin drop supply script",
    ),
    "park": _family(
        "",
        "feed pay top_up extend cover settle buy charge add start get sort renew",
        "parking",
        "parking meter space spot zone plate bay ticket",
    ),
    "repair": _family(
        "",
        "request report log raise book put_in pass_on file submit arrange order flag open send call lodge register "
        "escalate notify tell get place pass schedule",
        "repair fix maintenance report request",
        "leak boiler lift elevator tap pipe drain plumber landlord ticket janitor caretaker radiator heating damage "
        "window door toilet roof electrician handyman",
    ),
    "donate": _family(
        "donate pledge",
        "give send transfer pay make chip_in contribute pass_on put_in move",
        "donation gift contribution pledge",
        "charity shelter cause",
    ),
    "locate": _family(
        "",
        "share send beam pass drop show give text ping send_over forward pass_on let_know",
        "location position whereabout pin",
        "location position whereabout pin",
    ),
    "activate": _family(
        "activate enable",
        "switch_on turn_on set_up start unlock",
        "activation",
        "",
    ),
    "call": _family(
        "call ring phone dial ring_up call_up",
        "reach get_through get try give get_hold",
        "call",
        "line voicemail",
    ),
    "publish": _family(
        "post publish",
        "put_up upload share submit leave write send put_online drop put_out add",
        "review post rating comment tweet feedback ad advert",
        "star review photo status job listing",
    ),
}

IRREGULAR: dict[str, tuple[str, str]] = {
    "send": ("sent", "sent"),
    "pay": ("paid", "paid"),
    "put": ("put", "put"),
    "set": ("set", "set"),
    "reset": ("reset", "reset"),
    "let": ("let", "let"),
    "shut": ("shut", "shut"),
    "hold": ("held", "held"),
    "get": ("got", "gotten got"),
    "have": ("had", "had"),
    "make": ("made", "made"),
    "do": ("did", "done"),
    "take": ("took", "taken"),
    "give": ("gave", "given"),
    "buy": ("bought", "bought"),
    "write": ("wrote", "written"),
    "tell": ("told", "told"),
    "shoot": ("shot", "shot"),
    "freeze": ("froze", "frozen"),
    "withdraw": ("withdrew", "withdrawn"),
    "undo": ("undid", "undone"),
    "throw": ("threw", "thrown"),
    "bring": ("brought", "brought"),
    "keep": ("kept", "kept"),
    "go": ("went", "gone"),
    "find": ("found", "found"),
    "build": ("built", "built"),
    "see": ("saw", "seen"),
    "strike": ("struck", "struck"),
    "stick": ("stuck", "stuck"),
    "light": ("lit", "lit"),
    "fling": ("flung", "flung"),
    "sling": ("slung", "slung"),
    "hit": ("hit", "hit"),
    "deal": ("dealt", "dealt"),
    "cut": ("cut", "cut"),
    "feed": ("fed", "fed"),
    "run": ("ran", "run"),
    "ring": ("rang", "rung"),
    "draw": ("drew", "drawn"),
    "wind": ("wound", "wound"),
    "swing": ("swung", "swung"),
    "begin": ("began", "begun"),
    "cast": ("cast", "cast"),
    "lend": ("lent", "lent"),
    "sell": ("sold", "sold"),
    "wake": ("woke", "woken"),
    "break": ("broke", "broken"),
    "choose": ("chose", "chosen"),
    "hide": ("hid", "hidden"),
    "split": ("split", "split"),
    "sweep": ("swept", "swept"),
    "bid": ("bid", "bid"),
    "burn": ("burnt", "burnt burned"),
    "teach": ("taught", "taught"),
    "leave": ("left", "left"),
}
"""Past and participle of verbs that are not regular; several forms stand side by side."""

DOUBLED = word_set(
    "bin flag flip crop cancel stop drop scrap log jot dim swap plan refer scan skip submit wrap "
    "transfer fit pin grab "
    "top plug tap chop mop "
    "enrol step tip scrub slip snap rejig clip ship tag whip trim zip slot hop scrap pencil pop snag nab bag zap shred"
)
"""Verbs that double their last consonant; "cancel" and the like are also read without that."""

LIGHT = word_set(
    "make make_out draw_up give place put_in put_through complete confirm process finalize finalise submit create "
    "set_up arrange get secure issue handle do put_together sort sort_out take_care_of see_to deal_with square_away "
    "finish settle execute register "
    "schedule enter initiate"
)
"""Verbs that claim a deed with its noun: "I've made the reservation"."""

SETTLED = word_set("take_care_of sort sort_out handle see_to deal_with square_away")
"""With a thing of the tool they claim its deed: "lunch is sorted"."""

ADVERBS = word_set(
    "just now already also successfully then all finally officially safely duly gladly immediately actually indeed "
    "personally both quickly kindly currently certainly definitely fully properly since hereby today right only all"
)
"""Words that may stand between the parts of a verb."""

SELF = frozenset({"i", "we"})
NUMBERS = word_set(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen "
    "nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand"
)
PRONOUNS = frozenset({"it", "that", "this", "them", "those", "these", "everything", "they", "both"})

GUARDS = word_set(
    "if unless whether once when whenever until till before after would could should might may must will can cannot "
    "shall not never no nobody nothing none neither hope hoping wish imagine suppose pretend assume "
    "assuming say says "
    "said tell tells told ask asks asked think thinks thought believes mention mentions mentioned wrote writes claim "
    "claims claimed see sees saw noticed notice heard read reads seems appears looks ensure check verify doubt maybe "
    "perhaps possibly probably hopefully apparently presumably supposedly allegedly let without unlike instead shows "
    "last previous next rather than almost nearly sure unable failed who how why where what which unsure "
    "soon long supposing provided had"
)
"""Before the subject of a clause they make it no claim."""

SUBORDINATE = word_set("if unless once when whenever whether assuming suppose supposing imagine provided providing say")
"""After a clause that begins with one, the next is conditional."""

MONTHS = "january february march april may june july august september october november december"
LOOKING = word_set(
    "check checked read found looked seen heard explained mentioned described compared reviewed opened viewed received "
    "asked tried failed forgotten missed discussed reached understood noticed counted wanted needed offered suggested "
    "recommended promised prepared drafted considered confused mixed verified repeated spelled located pulled brought "
    "loaded identified learned known kept left lost liked loved thanked waited followed tracked listed shown quoted "
    "proposed planned calculated had got been told said given called thought searched gone come passed talked spoken "
    "shortened rephrased reworded polished summarised summarized translated corrected simplified "
    "touched held used worked done written answered quoted recognised assumed expected included estimated guessed "
    "started stopped begun finished taken put made set sent run double-checked misread misheard ticked"
)
"""Participles that tell no deed: "I've read your order"; some do so in families only."""
HABITS = word_set(
    "usually always normally typically generally often automatically every each daily weekly monthly "
    "sometimes mostly "
    "online within overnight regularly hourly"
)

OPENERS = (
    r"no problem at all|no problem|no worries|not a problem|not to worry|never mind|no trouble|okay|ok|alright|"
    r"all right|great|perfect|wonderful|excellent|sure|sure thing|got it|understood|right|cool|lovely|brilliant|"
    r"alrighty|there we are|happy days|sorry for the \w+|thanks for \w+|do not worry|deep breath|poof|before you ask|"
    r"(?:if|in case) you are wondering|since you asked|uh huh|certainly|"
    r"of course|absolutely|yes|yeah|yep|yup|well(?! done\b)|so|and|thanks|thank you|good|fine|there you go|here we go|"
    r"there we go|congratulations|oh|also|then|now|there(?= $)|there you (?:have it|are)|here you (?:are|go)|"
    r"effective immediately|"
    r"from now on|phew|done and dusted"
)
PERFORMATIVES = (
    r"(?:i am|we are) (?:very |so |really )?(?:happy|glad|pleased|delighted|excited|proud) to "
    r"(?:say|tell you|report|confirm|announce|inform you|let you know|share)|"
    r"i can (?:now |happily |gladly )?(?:confirm|tell you|say|report)|(?:i|we) (?:hereby |can |do )?confirm|"
    r"i (?:just )?want(?:ed)? to (?:let you know|confirm|tell you)|"
    r"just (?:to )?(?:confirm|let you know|letting you know)|"
    r"just so you know|for your information|(?:please )?(?:note|rest assured|be assured|know)|"
    r"let me (?:just )?confirm|this is to confirm|(?:i have )?(?:great|good) news|as requested|"
    r"as you (?:asked|wished|requested)|what (?:has |is )?happened is|the good news is|now"
)
