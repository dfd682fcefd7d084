"""Questions about the agent and the product, and which answer fits.

First rules of patterns and of classes of words, then the subject that most words belong to.
"""

from __future__ import annotations

import re

from realtime.model.local.keyless import self_told as told
from realtime.model.local.keyless.self_told import Answer
from realtime.model.local.keyless.situation import Situation
from realtime.model.local.keyless.words import Intent, intent, stem


def guess(situation: Situation) -> str | None:
    """Answer by the subject that most of the words belong to; None where too few belong to one.

    For questions about the product that no rule of `about` foresaw.
    """
    if not _REFERS.search(situation.core):
        return None
    words = {stem(word) for word in situation.core.split()}
    scores = [sum(weights.get(word, 0) for word in words) for weights, _ in SUBJECTS]
    best = max(scores)
    return SUBJECTS[scores.index(best)][1](situation) if best >= _CERTAIN else None


def about(situation: Situation) -> str | None:
    """Answer a question about the agent, its server or the product; None where it is none."""
    text, classes = situation.core, situation.request.classes
    for needs, answer in INTENTS:
        if needs.fits(classes) if isinstance(needs, Intent) else needs.search(text):
            return answer(situation)
    return None


def _said(text: str) -> Answer:
    return lambda situation: text


INTENTS: tuple[tuple[Intent | re.Pattern[str], Answer], ...] = (
    # Who it is. The user's own name and things are asked elsewhere, before this.
    (
        re.compile(
            r"\b(?:are|aren't) you (?:really |actually |just )*(?:(?:an? |the )(?:\w+ )?(?:human|robot|person"
            r"|machine|computer|ai|bot|man|woman|program|recording|artificial intelligence|language model|llm)"
            r"|(?:even )?(?:real|human|alive|conscious|sentient|artificial|people))\b"
            r"|\b(?:am i|i'm) (?:talking|speaking) (?:to|with) an? (?:\w+ )?(?:human|person|robot"
            r"|machine|bot|computer|ai)\b|\bis this (?:an? )?(?:real|human|robot|ai|bot|machine"
            r"|recording)\b|\b(?:is there|is it|was that) (?:an? |any )?(?:\w+ )?(?:human|person"
            r"|man|woman|human being|someone|somebody)\b"
        ),
        told.no_human,
    ),
    (
        re.compile(
            r"\bare you (?:\w+ )?(?:chatgpt|gpt|openai|gemini|claude|siri|alexa|google|llama|qwen|cortana"
            r"|copilot|bixby|grok)\b|\b(?:alexa|siri|cortana|bixby|copilot|google assistant)\b"
            r"|\b(?:difference|compared?|different|better|like)\b.*\b(?:chatgpt|gpt|gemini|claude)\b"
        ),
        told.not_them,
    ),
    (
        re.compile(
            r"\bhow (?:do|does) (?:you|this|it|that)(?: \w+)? (?:actually |really )?work\b"
            r"|\bhow are you (?:built|made|able)\b|\bhow do you (?:understand|hear|think|know|talk|speak"
            r"|do (?:that|this|it))\b"
        ),
        told.how_i_work,
    ),
    (
        re.compile(
            r"^(?:who|what)(?:'s| is| are| exactly are)? (?:you|this|it|heart|that)(?: exactly| then| really"
            r"| anyway| called)?$|^what (?:exactly |actually |really )?(?:is|are|'s) (?:this|you|it|that"
            r"|realtime)(?: (?:thing|page|site|app|website|program|project|service|tool|exactly|here|all|about"
            r"|for|called|even))*$|\b(?:who|what) (?:exactly )?are you\b(?! (?:able|doing|going|up|wearing"
            r"|saying|talking|good))"
            r"|\b(?:about|introduce|describe) yourself\b|\bwho am i (?:talking|speaking) (?:to"
            r"|with)\b|\bwhat (?:kind|sort|type) of (?:\w+ )?(?:assistant|ai|bot|agent|thing"
            r"|program|robot) (?:are|is)\b"
            r"|\bwhat (?:is|'s) (?:this )?(?:realtime|this (?:page|site|website|app|thing|project"
            r"|program|about|for))\b|\bwho's (?:there|this|speaking|talking)\b"
        ),
        told.who_i_am,
    ),
    (
        re.compile(
            r"\bwho (?:\w+ )?(?:made|built|created|wrote|programmed|developed|owns|designed|trained"
            r"|invented) (?:you|this|realtime)\b|\bwho(?:'s| is) (?:your (?:maker|creator|owner|boss)"
            r"|behind (?:you|this))\b"
            r"|\bwhere (?:do you come|are you) from\b|\b(?:open source|licen[cs]e|source code)\b"
            r"|\bwhich company\b.*\byou\b"
        ),
        _said(told.MADE_BY),
    ),
    (re.compile(r"\b(?:what|which) version\b|\byour version\b|\bversion (?:number|are|is)\b"), told.version),
    # What it can do.
    (
        re.compile(
            r"\bwhat (?:else )?(?:can|could|do|are|would) (?:you|this|it|i|we) (?:\w+ )?(?:able to |good at"
            r"|for me|capable|help|say|ask|do|try|talk about)(?: |$)(?!.*\b(?:with (?:my|the) (?:data|voice)"
            r"|for a living)\b)"
            r"|\bwhat(?:'s| is| are) (?:your|possible|you good|you able"
            r"|some things)\b(?=.*\b(?:abilit|skill|feature|capabilit|function|possible|good|able"
            r"|things?)\b)"
            r"|^(?:i need (?:some )?)?help(?: me)?$|^help\b|\bhow (?:can|could|do) (?:you"
            r"|i) (?:help|assist|use you|use this|start|begin|get started)\b|\bwhat (?:should"
            r"|could) (?:i|we) (?:ask|say|try|do|talk)\b"
            r"|\b(?:give|show) me (?:an? |some )?(?:example|idea|suggestion)s?\b|\bwhat works\b"
            r"|\bwhat do you (?:do|know|offer|understand)$|\byour (?:abilities|capabilities|skills"
            r"|features)\b"
            r"|\bwhat now$|\bi (?:don't|do not) know what to (?:say|ask|do)\b|\bwhat (?:things"
            r"|stuff) (?:can|do) you\b|\bwhat are my options\b|\bwhat (?:am i|are we|should i"
            r"|do i) (?:supposed to|meant to|do|have to do)?(?: |$)(?=.*\b(?:do|here|now|say"
            r"|with (?:you|this))\b)(?!.*\bneed\b)"
        ),
        told.what_i_can_do,
    ),
    (intent("tool what|how|you", "change room"), told.tools),
    (
        re.compile(
            r"\b(?:what|which|how many|any|list|have|use|call|add) (?:\w+ ){0,2}tools?\b|\b(?:function"
            r"|tool) calling\b|\btools?\b.*\b(?:have|use|call|add|own)\b"
        ),
        told.tools,
    ),
    # Deleting before storing, storing before privacy.
    (intent("delete call|you|me|store|record|private"), told.delete),
    (
        re.compile(
            r"\b(?:transcript|call history|past calls|previous calls|earlier calls|old calls"
            r"|conversation history|my calls)\b"
        ),
        told.transcript,
    ),
    (intent("record call|you|me|voice"), told.recorded),
    (re.compile(r"^(?:is|are|am|do|does|will|was)\b.*\b(?:record|recorded|recording|taped)\b"), told.recorded),
    (intent("store call|me|private", "change"), told.stored),
    (
        re.compile(
            r"\b(?:do|does|will|are|is|where|how long|what)\b.*\b(?:you|this|it|calls?|anything|everything"
            r"|conversations?|server|words|data)\b.*\b(?:store|stored|save|saved|keep|kept|log|logged|retain"
            r"|retained|stored|remembered)\b"
        ),
        told.stored,
    ),
    (
        re.compile(
            r"\bwhere (?:does|do|is|are|will) (?:my |the |this |our )?(?:voice|audio|data|words?|speech|calls?"
            r"|conversations?|recordings?|everything)\b|\bwhat (?:happens|do you do)\b.*\b(?:voice|data|words"
            r"|audio|speech|recordings?|what i say)\b"
            r"|\bwho (?:gets|has|receives|owns|can (?:see|read|get))\b.*\b(?:data|voice|words|audio"
            r"|call|conversation|this)\b"
        ),
        told.who_hears,
    ),
    (intent("who hear|read me|you|call"), told.who_hears),
    (
        re.compile(
            r"\b(?:anyone|anybody|someone|somebody|people|others|google|openai|amazon|microsoft|government"
            r"|strangers?|hackers?|you guys)\b.*\b(?:hears?|listen|listening|hearing|eavesdrop\w*|spying"
            r"|spy)\b"
        ),
        told.who_hears,
    ),
    (
        re.compile(
            r"\bwho(?:'s| is| else| can| could|ever)?\b.*\b(?:hear|hears|hearing|listen|listens|listening"
            r"|eavesdropping|overhear)\b"
            r"|\b(?:is|does|are|do) (?:anyone|anybody|someone|somebody|people|others|google|openai"
            r"|amazon|the government)\b.*\b(?:hear|listen|listening|hearing|read|reading|see"
            r"|watching|recording)\b"
            r"|\bare you (?:listening|spying|always listening|eavesdropping)\b(?=.*\b(?:me|all|always|on|us)\b)"
        ),
        told.who_hears,
    ),
    (intent("private call|you|me"), told.who_hears),
    (
        re.compile(r"\bprivacy\b|\bgdpr\b|\bis (?:this|it|my \w+) (?:private|safe|secure|confidential)\b"),
        told.who_hears,
    ),
    (
        re.compile(
            r"\b(?:voice|words?|audio|speech|data|anything|everything|it|this|conversation|call"
            r"|what i say)\b.*\b(?:sent|send|leave|leaves|leaving|uploaded?|shared|transmitted|go|goes|going"
            r"|streamed)\b.*\b(?:cloud|internet|out|elsewhere|anywhere|company|companies|parties|party|google"
            r"|openai|server|servers|computer|device|machine|somewhere)\b"
            r"|\b(?:send|upload|share|transmit)\b.*\b(?:voice|data|audio|words|speech|recordings?"
            r"|what i say)\b"
        ),
        told.who_hears,
    ),
    # Costs and keys before models and providers.
    (
        re.compile(r"\b(?:sign(?:ing)? (?:up|in)|register|registration|log ?in|accounts?|credit card|subscribe)\b"),
        told.no_account,
    ),
    (re.compile(r"\b(?:api |access |provider )?keys?\b(?!.*\b(?:car|house|door|piano|keyboard|my keys)\b)"), told.keys),
    (intent("variable what|change|provider|model"), told.keys),
    (
        re.compile(
            r"\b(?:cost|costs|price|pricing|pay|paid|free|charge|charged|expensive|money|subscription|fee"
            r"|bill)\b(?=.*\b(?:you|this|it|me|i|talking|call|calls|use|using|service)\b)|^(?:is|are) (?:this"
            r"|it|you|everything) free\b"
            r"|\b(?:you|this|it|talking|calls?|service)\b.*\b(?:cost|costs|price|free|money|pay"
            r"|expensive|charge)\b|^how much$|\bfree of charge\b"
        ),
        told.cost,
    ),
    (intent("local change|model|you|how", "room"), told.local_model),
    (
        re.compile(r"\b(?:local|own|offline|open source|free|self hosted) (?:\w+ )?(?:model|llm|ai|language model)\b"),
        told.local_model,
    ),
    (re.compile(r"\b(?:openai|chatgpt|gpt|gemini|dashscope|qwen|alibaba|claude|anthropic)\b"), told.provider),
    (
        re.compile(
            r"\b(?:different|other|another|which|what|new|change|switch|choose|select|available|supported"
            r"|language) (?:\w+ ){0,2}(?:models?|llms?|ai|providers?|brains?)\b|\b(?:models?|llms?"
            r"|providers?)\b.*\b(?:you|use|using|choose|change|"
            r"support|offer|available|run|running|have|there|switch|connect)\b"
        ),
        told.models,
    ),
    (
        re.compile(
            r"\b(?:better|bigger|smarter|real|proper|stronger|best|cleverer|larger) (?:\w+ )?(?:mind|brain"
            r"|model|voice|ai|assistant|answers?|llm|you|one|version)\b|\b(?:smarter|cleverer"
            r"|more intelligent|more clever)\b"
            r"|\b(?:upgrade|improve)\b.*\b(?:you|this|it|model|answers)\b|\bmake you (?:better|more)\b"
            r"|\b(?:know|learn|answer|understand|do|say) (?:more|everything|anything|real)\b(?=.*\b(?:than"
            r"|stuff|things|questions|topics)\b|$)|\bknow (?:about )?everything\b|\bhow (?:do|can"
            r"|could) (?:i|we) (?:get|have) (?:real|better|good) answers\b|\b(?:connect|add|plug in|use"
            r"|attach) (?:\w+ )?(?:a |an |the |my |some )?(?:\w+ )?(?:language model|model|llm|ai)\b"
        ),
        told.better_model,
    ),
    (
        re.compile(
            r"\bwhy (?:are|do|can't|don't|won't|can|is|aren't) (?:you|this)\b.*\b(?:stupid|dumb|know|so little"
            r"|little|limited|answer|useless|bad|understand)\b|\bwhy don't you know\b"
            r"|\bare you (?:that )?(?:limited|stupid|dumb)\b"
        ),
        told.better_model,
    ),
    # Languages and voices.
    (intent("language speak|you|what|change", "agent"), told.languages),
    (
        re.compile(
            r"\b(?:languages?|english only|multilingual|bilingual)\b|\b(?:say|translate|mean)\b.*\b(?:in|to"
            r"|into|from) (?:german|french|spanish|italian|chinese|japanese|portuguese|russian|hindi|arabic"
            r"|dutch|turkish|korean|polish|latin|greek|swedish)\b"
            r"|\btranslat\w+\b"
        ),
        told.languages,
    ),
    (
        re.compile(
            r"\b(?:change|different|other|another|male|female|man's|woman's|deeper|higher|switch|which|what"
            r"|your|how many|more) (?:\w+ )?voices?\b|\bvoices?\b.*\b(?:change|choose|different|other|have"
            r"|available)\b|\bsound (?:different|like a)\b|\bspeak (?:faster|louder|quieter)\b"
            r"|\b(?:louder|faster|quieter)\b"
        ),
        told.voices,
    ),
    # Talking with it.
    (
        re.compile(
            r"\binterrupt\w*\b|\b(?:talk|speak|cut|jump|barge) (?:over|in|into)\b.*|\bstop you\b"
            r"|\bwhile you(?:'re| are)? (?:speak|talk)\w*\b|\bmake you (?:stop|be quiet|shut up)\b|\bhow (?:do"
            r"|can) i (?:stop|silence|pause) (?:you|your voice)\b|\bcut you off\b|\b(?:shut|quiet"
            r"|hush) you(?: up)?\b"
        ),
        _said(told.INTERRUPT),
    ),
    (
        re.compile(
            r"\b(?:hang up|end (?:the |this |our )?(?:call|conversation|session)|stop (?:the |this )?(?:call"
            r"|server|conversation)|shut (?:the server )?down|quit|close (?:the|this) call)\b"
        ),
        _said(told.ENDING),
    ),
    (re.compile(r"\b(?:mute|unmute)\b|\bturn (?:off|on) (?:my |the )?(?:mic|microphone)\b"), _said(told.MUTE)),
    (
        re.compile(
            r"\b(?:can|may|could|do|must|should|is it possible)\b.*\b(?:type|typing|write|text|keyboard"
            r"|chat)\b(?=.*\b(?:you|instead|to|here|also|too|me)\b)(?!.*\b(?:poem|song|email|letter|code|essay"
            r"|program|agent|text message|my)\b)|\btyp(?:e|ing) instead\b|\bwithout (?:speaking|talking"
            r"|a microphone|my voice)\b"
        ),
        _said(told.TYPING),
    ),
    (
        re.compile(
            r"\b(?:microphone|mic|headset|captions?)\b|\b(?:you )?(?:can't|cannot|don't"
            r"|do not) (?:you )?hear me\b"
        ),
        _said(told.MICROPHONE),
    ),
    (
        re.compile(
            r"\b(?:latency|delay|lag|response time)\b|\bhow (?:fast|quick|quickly) (?:are|do|can) you\b"
            r"|\bwhy (?:are you|is it|is this) (?:so )?slow\b"
        ),
        _said(told.DELAY),
    ),
    # Building with it.
    (
        re.compile(
            r"\brooms?\b(?!.*\b(?:temperature|living|bed|bath|lamp|light|lights)\b)|\b(?:several|multiple|more"
            r"|two|three|many|other) (?:people|persons|users|humans|friends|participants|callers)\b"
            r"|\b(?:friends?|colleagues?|family|wife|others|team|group)\b.*\b(?:join|talk|call|too|also"
            r"|together|with us|in)\b"
            r"|\bgroup (?:call|chat)\b|\bmulti[- ]?(?:user|party|agent)\b|\bconference\b"
        ),
        _said(told.ROOMS),
    ),
    (
        re.compile(
            r"\b(?:my|our|own|a|your|the|into|existing|customer's|any|another) (?:\w+ )?(?:websites?|webpages?"
            r"|pages?|sites?|apps?|applications?|blog|shop|frontend|product)\b|\b(?:online|web) (?:store"
            r"|shop)\b|\bembed\w*\b|\bintegrat\w+\b|\b(?:react|iframe|html|javascript|fastapi|django|flask"
            r"|wordpress)\b|\bclient library\b|\bwebsockets?\b"
        ),
        _said(told.EMBED),
    ),
    (
        re.compile(
            r"\b(?:build|make|write|create|develop|program|code|design|define|customi[sz]e|have|add|start"
            r"|set up|get|try|implement|configure|give you|change)\b.*\b(?:own|custom|new|another|an|my"
            r"|different|your) (?:\w+ )?(?:agents?|bots?|assistants?|instructions?|persona|character"
            r"|personality|prompt|voice agent|name)\b"
            r"|\b(?:own|custom) (?:\w+ )?(?:agent|bot|assistant|instructions|prompt)\b"
            r"|\bsystem prompt\b|\bmake_?agent\b|\b(?:program|customi[sz]e|configure) you\b"
            r"|\bteach you\b|\bchange your (?:name|instructions|personality)\b"
        ),
        _said(told.OWN_AGENT),
    ),
    (
        re.compile(
            r"\b(?:offline|without (?:the |an )?(?:internet|network|connection|wifi|cloud))\b|\b(?:need|needs"
            r"|require|requires|use|using|connected to|access)\b.*\b(?:internet|network|wifi|online"
            r"|cloud)\b"
        ),
        _said(told.OFFLINE),
    ),
    (
        re.compile(
            r"\b(?:work|works|use|talk|open|run|from|on|support|reach|connect|call)\b.*\b(?:phone|mobile|iphone"
            r"|android|tablet|ipad|smartphone|other devices?|another device|another computer|https|tls|firefox"
            r"|safari|chrome|browser)\b(?!.*\bnumber\b)|\b(?:https|tls|certificate)\b"
        ),
        _said(told.OTHER_DEVICES),
    ),
    (
        re.compile(
            r"\b(?:docs|documentation|manual|readme|tutorial|deploy\w*|docker|kubernetes|install\w*|port|github"
            r"|repository|sdk|twilio|sip|webrtc|telephony|gpu|production|configure|command line|cli|redis"
            r"|metrics|tests?\b.*\bagent)\b"
        ),
        _said(told.DOCS),
    ),
)


_CERTAIN = 3
_REFERS = re.compile(
    r"\b(?:you|your|you're|yourself|this|it|here|call|conversation|chat|page|server|agents?|bots?)\b"
    r"|\b(?:how (?:do|can|could|would|should)|can|could|may|do|should) (?:i|we)\b|\b(?:is|are) there\b"
)


def _subject(words: str, answer: Answer) -> tuple[dict[str, int], Answer]:
    """Weigh words: "hear3 people1" are worth 3 and 1."""
    return {stem(word[:-1]): int(word[-1]) for word in words.split()}, answer


SUBJECTS: tuple[tuple[dict[str, int], Answer], ...] = (
    _subject(
        "hear3 hears3 hearing3 listen3 listening3 overhear3 eavesdrop3 spy3 spying3 private3 privacy3 confidential3 "
        "access2 read2 see1 watch1 boss1 colleague1 government1 hacker2 hackers2 anyone1 anybody1 "
        "someone1 people1 cloud2 "
        "data1 voice1 conversation1 call1 say1 said1 saying1 talking1 safe2 secure2 trust2 send2 sent2 "
        "leave1 upload3 share2 "
        "shared2 company1 google1 secret1 private3 tracked3 tracking3 track2 surveillance3 nsa3",
        told.who_hears,
    ),
    _subject(
        "remember2 everything1 say1 said1 saying1 store3 stored3 save2 saved2 keep2 kept2 log2 logs2 "
        "logged3 later1 history2 "
        "data1 after1 hang1 tomorrow1 database3 disk2 archive3 voice1 conversation1 conversations1 "
        "retain3 forever1 written1 "
        "down1 memory1 file1 files1",
        told.stored,
    ),
    _subject(
        "record3 recorded3 recording3 recordings3 tape3 taped3 audio1 sound1 voice1 call1 me1 conversation1",
        told.recorded,
    ),
    _subject(
        "delete3 deleted3 erase3 erased3 remove2 wipe3 forget2 clear1 data1 conversation1 call1 history1 "
        "rid2 purge3 everything1 me1",
        told.delete,
    ),
    _subject(
        "cost3 costs3 price3 pricing3 fee3 fees3 subscription3 pay3 paying3 paid3 money2 bill3 billed3 "
        "charge3 charged3 "
        "expensive3 cheap3 free2 credit2 dollars2 trial2 plan1 use1",
        told.cost,
    ),
    _subject("key3 keys3 account3 token2 register3 password1 license2 credentials3 login3", told.keys),
    _subject(
        "model3 models3 ai2 llm3 engine2 based2 powered2 behind1 brain2 technology2 run1 running1 "
        "transformer3 network1 neural3 "
        "software1 which1",
        told.models,
    ),
    _subject(
        "smarter3 better2 bigger2 improve3 upgrade3 clever2 cleverer3 intelligent2 intelligence2 more1 "
        "know1 answers1 real1 proper1 "
        "brain1 language1 model1 teach2 train3 trained2",
        told.better_model,
    ),
    _subject(
        "language3 languages3 english2 german3 french3 spanish3 italian3 chinese3 japanese3 speak1 "
        "understand1 accent1 translate3 "
        "hindi3 portuguese3 russian3 arabic3",
        told.languages,
    ),
    _subject(
        "tool3 tools3 function3 functions3 plugin3 plugins3 extension3 extra1 add1 give1 connect1 "
        "database2 order1 orders1 api2 "
        "crm3 calendar1 backend2 lookup2 look1 up1 call1 mcp3",
        told.tools,
    ),
    _subject(
        "room3 rooms3 bots2 agents2 two1 three1 other1 others1 each1 people1 group3 friends2 friend2 "
        "several2 multiple2 together2 "
        "join2 invite3 party1 meeting2 conference3 everyone1 team2 colleagues2 talk1 family2 wife1 husband1 share1",
        _said(told.ROOMS),
    ),
    _subject(
        "interrupt3 interrupts3 wait2 finish2 finished2 cut2 off1 stop1 talking1 speaking1 while1 "
        "middle2 sentence1 over1 pause2 "
        "butt3 shut2 quiet1 talk1 still1 long1",
        _said(told.INTERRUPT),
    ),
    _subject(
        "website3 webpage3 page1 site2 app2 apps2 application2 integrate3 embed3 widget3 html3 react3 "
        "javascript3 button1 own1 "
        "put1 add1 mobile1 shop1 store1 blog2 frontend3 websocket3",
        _said(told.EMBED),
    ),
    _subject(
        "agent3 agents2 bot2 chatbot3 assistant2 build2 create2 write1 make1 own2 custom3 customize3 "
        "customise3 instructions3 prompt3 "
        "persona3 personality3 character2 different1 name1 business2 company1 behave2 answer1 phone1",
        _said(told.OWN_AGENT),
    ),
    _subject(
        "internet3 offline3 online2 network2 wifi3 connection2 plane1 airplane1 cloud2 work1 without1",
        _said(told.OFFLINE),
    ),
    _subject(
        "install3 server2 host2 hosting3 deploy3 docker3 python3 sdk3 code2 program1 programming2 "
        "github3 docs3 documentation3 "
        "manual2 setup2 own1 machine1 computer1 linux3 windows2 mac2 raspberry3 pi1 port2 configure3 "
        "config3 settings2 start1 "
        "developer2 example2 examples2 tutorial3 kubernetes3 aws3",
        _said(told.DOCS),
    ),
    _subject(
        "voice3 voices3 sound2 accent3 male3 female3 louder3 volume2 robotic2 pitch3 speed2 tone2 different1 change1",
        told.voices,
    ),
    _subject("microphone3 mic3 headset3 hear1 captions3 permission3 mute1 volume1 not1 can't1", _said(told.MICROPHONE)),
    _subject(
        "phone2 mobile3 iphone3 android3 tablet3 ipad3 laptop2 browser3 safari3 firefox3 chrome3 device3 "
        "devices3 https3 work1 use1",
        _said(told.OTHER_DEVICES),
    ),
    _subject(
        "latency3 delay3 slow2 fast2 lag3 quick2 quickly2 respond1 response1 speed2 reply1 answer1", _said(told.DELAY)
    ),
    _subject(
        "work1 works1 understand1 how1 inside2 rules2 algorithm3 technically3 hood3 speech2 recognition3 "
        "recognize3 recognise3 synthesis3",
        told.how_i_work,
    ),
)
"""The words of each subject with their weights, and its answer."""
