"""Questions about the agent and the product, and which answer fits.

Rules of patterns, and of classes of words.
"""

from __future__ import annotations

import re

from realtime.model.local.keyless import self_told as told
from realtime.model.local.keyless.self_told import Answer
from realtime.model.local.keyless.situation import Situation
from realtime.model.local.keyless.words import Intent, intent, rule_pattern


def about(situation: Situation) -> str | None:
    """Answer a question about the agent, its server or the product; None where it is none."""
    text, classes = situation.core, situation.request.classes
    for needs, answer in INTENTS:
        fits = needs.fits(classes) if isinstance(needs, Intent) else needs.search(text)
        if fits and (words := told.told_of(answer, situation)) is not None:
            return words
    return None


def asked(*patterns: str) -> re.Pattern[str]:
    """Compile patterns of a request's core, of which one must match."""
    return rule_pattern("|".join(patterns))


INTENTS: tuple[tuple[Intent | re.Pattern[str], Answer], ...] = (
    (asked(r"^(?:please )?forget (?:it|that|about it|about that)$"), told.said("Okay.")),
    (asked(r"\b(?:programming|coding) languages?\b|\bwritten in\b"), told.said(told.CODE)),
    (asked(r"\bmobile (?:app|version)\b|\bapp (?:store|for)\b"), told.said(told.OTHER_DEVICES)),
    (
        asked(
            r"\b(?:microphone|mic)\b.*\b(?:always|stay|stays|on|all the time|turned on"
            r"|off)\b(?!.*\b(?:record|recorded)\b)"
        ),
        told.said(told.MUTE),
    ),
    # Who it is. The user's own name and things are asked elsewhere, before this.
    (
        asked(
            (
                r"\b(?:are|aren't) you (?:really |actually |just )*(?:(?:an? |the )(?:\w+ )?(?:human|robot|person"
                r"|machine|computer|ai|bot|man|woman|program|recording|artificial intelligence|language model|llm)"
                r"|(?:even )?(?:real|human|alive|conscious|sentient|artificial|people))\b"
            ),
            (
                r"\b(?:am i|i'm) (?:talking|speaking) (?:to|with) an? (?:\w+ )?(?:human|person|robot|machine|bot"
                r"|computer|ai)\b"
            ),
            r"\bis this (?:an? )?(?:real|human|robot|ai|bot|machine|recording)\b",
            (
                r"\b(?:is there|is it|was that) (?:an? |any )?(?:\w+ )?(?:human|person|man|woman|human being|someone"
                r"|somebody)\b"
            ),
        ),
        told.no_human,
    ),
    (
        asked(
            (
                r"\bare you (?:\w+ )?(?:chatgpt|gpt|openai|gemini|claude|siri|alexa|google|llama|qwen|cortana|copilot"
                r"|bixby|grok)\b"
            ),
            r"\b(?:alexa|siri|cortana|bixby|copilot|google assistant)\b",
            r"\b(?:difference|compared?|different|better|like)\b.*\b(?:chatgpt|gpt|gemini|claude)\b",
        ),
        told.not_them,
    ),
    (
        asked(
            r"\bhow (?:do|does) (?:you|this|it|that)(?: \w+)? (?:actually |really )?work\b",
            (
                r"^(?:(?:explain|show|describe)(?: me| to me)? )?how (?:you|it|that|(?:all |all of )?this|everything)"
                r"(?: \w+)?(?: actually| really| all)? (?:works?|functions?|operates?)\b"
            ),
            r"\bhow (?:do|does) (?:you|it|that|all (?:of )?this|this|everything)(?: \w+)? (?:function|operate|work)\b",
            r"\bhow are you (?:built|made|able)\b",
            r"\bhow do you (?:understand|hear|think|know|talk|speak|do (?:that|this|it))\b",
        ),
        told.how_i_work,
    ),
    (
        asked(
            (
                r"^(?:who|what)(?:'s| is| are| exactly are)? (?:you|this|it|heart|that)(?: exactly| then| really"
                r"| anyway| called)?$"
            ),
            (
                r"^what(?: exactly| actually| really)?(?: is| are|'s) (?:this|you|it|that|realtime)(?: (?:thing|page"
                r"|site|app|website|program|project|service|tool|exactly|here|all|about|for|called|even))*$"
            ),
            r"\b(?:who|what) (?:exactly )?are you\b(?! (?:able|doing|going|up|wearing|saying|talking|good))",
            r"\b(?:about|introduce|describe) yourself\b",
            r"\bwho am i (?:talking|speaking) (?:to|with)\b",
            r"\bwhat (?:kind|sort|type) of (?:\w+ )?(?:assistant|ai|bot|agent|thing|program|robot) (?:are|is)\b",
            (
                r"\bwhat (?:is|'s) (?:this )?(?:realtime|this (?:page|site|website|app|thing|project|program|about"
                r"|for))\b"
            ),
            r"\bwho's (?:there|this|speaking|talking)\b",
            r"\byour (?:purpose|goal|task|role)\b",
        ),
        told.who_i_am,
    ),
    (
        asked(
            (
                r"\bwho (?:\w+ )?(?:made|built|created|wrote|programmed|developed|owns|designed|trained"
                r"|invented) (?:you|this|realtime)\b"
            ),
            r"\bwho(?:'s| is) (?:your (?:maker|creator|owner|boss)|behind (?:you|this))\b",
            r"\bwhere (?:do you come|are you) from\b",
            r"\b(?:open source|licen[cs]e|source code)\b",
            r"\bwhich company\b.*\byou\b",
            r"\bwhat does realtime (?:mean|do)\b|\b(?:when|where) were you (?:created|invented|built|made|developed)\b",
        ),
        told.said(told.MADE_BY),
    ),
    (asked(r"\b(?:what|which) version\b|\byour version\b|\bversion (?:number|are|is)\b"), told.version),
    (
        asked(
            r"^(?:where )?(?:are you|do you|does (?:this|it)|is (?:this|it)) (?:\w+ )?"
            r"(?:run|running|hosted|located|living)\b(?=.*\b(?:on|in|at|where|here|locally)\b|$)"
        ),
        told.said(told.WHERE),
    ),
    (
        asked(
            r"\bmy voice\b(?<!hear my voice)(?<!without my voice)",
            (
                r"\b(?:use|train|training|collect|analy[sz]e|do|done)\b"
                r".*\b(?:my|our|the|this|that) (?:voice|audio|data|words)\b"
            ),
            r"\bfor training\b",
        ),
        told.who_hears,
    ),
    # What it can do.
    (
        asked(
            (
                r"\bwhat (?:else )?(?:can|could|do|are|would) (?:you|this|it|i|we) (?:\w+ )?(?:able to |good at|for me"
                r"|capable|help|say|ask|do|try|talk about)(?: |$)(?!.*\bif\b)(?!.*\b(?:with (?:my|the) (?:data|voice)"
                r"|for a living)\b)"
            ),
            (
                r"\bwhat(?:'s| is| are) (?:your|possible|you good|you able|some things)\b(?=.*\b(?:abilit|skill"
                r"|feature|capabilit|function|possible|good|able|things?)\b)"
            ),
            r"^(?:i need (?:some )?)?help(?: me)?$",
            r"^help me (?:out|start|please|with this)\b",
            r"\bhow (?:can|could|do) (?:you|i) (?:help|assist|use you|use this|start|begin|get started)\b",
            r"\bwhat (?:should|could) (?:i|we) (?:ask|say|try|do|talk)\b",
            r"\b(?:give|show) me (?:an? |some )?(?:example|idea|suggestion)s?\b",
            r"\bwhat works\b",
            r"\bwhat do you (?:do|know|offer|understand)$",
            r"\byour (?:abilities|capabilities|skills|features)\b",
            r"\bwhat now$",
            r"\bi (?:don't|do not) know what to (?:say|ask|do)\b",
            r"\bwhat (?:things|stuff) (?:can|do) you\b",
            r"\bwhat are my options\b",
            r"\bwhat (?:am i|are we|should i|do i) (?:supposed to |meant to |have to )?(?:do"
            r"|say)(?: here| now| first)?$",
            r"\bwhat (?:am i|are we|should i|do i) .*\b(?:do|say) with (?:you|this)\b",
            r"\bhow\b.*\b(?:begin|get started|get going|start)\b(?!.*\b(?:server|timer|call|room)\b)",
        ),
        told.what_i_can_do,
    ),
    (intent("tool what|how|you", "change room"), told.tools),
    (
        asked(
            r"\b(?:what|which|how many|any|list|have|use|call|add) (?:\w+ ){0,2}tools?\b",
            r"\b(?:function|tool) calling\b",
            r"\btools?\b.*\b(?:have|use|call|add|own)\b",
        ),
        told.tools,
    ),
    # Deleting before storing, storing before privacy.
    (intent("delete call|you|me|store|record|private"), told.delete),
    (
        asked(
            r"\b(?:transcript|call history|(?:past|previous|earlier|old|last|former) (?:calls?"
            r"|conversations?|chats?|sessions?)"
            r"|conversation history|my calls)\b"
        ),
        told.transcript,
    ),
    (intent("record call|you|me|voice"), told.recorded),
    (asked(r"^(?:is|are|am|do|does|will|was)\b.*\b(?:record|recorded|recording|taped)\b"), told.recorded),
    (intent("store call|me|private", "change"), told.stored),
    (
        asked(
            r"\b(?:do|does|will|are|is|where|how long|what)\b.*\b(?:you|this|it|calls?|anything|everything"
            r"|conversations?|server|words|data)\b.*\b(?:store|stored|save|saved|keep|kept|log|logged|retain"
            r"|retained|stored|remembered)\b"
        ),
        told.stored,
    ),
    (
        asked(
            (
                r"\bwhere (?:does|do|is|are|will) (?:my |the |this |our )?(?:voice|audio|data|words?|speech|calls?"
                r"|conversations?|recordings?|everything)\b"
            ),
            r"\bwhat (?:happens|do you do)\b.*\b(?:voice|data|words|audio|speech|recordings?|what i say)\b",
            (
                r"\bwho (?:gets|has|receives|owns|can (?:see|read|get))\b.*\b(?:data|voice|words|audio|call"
                r"|conversation|this)\b"
            ),
        ),
        told.who_hears,
    ),
    (intent("who hear|read me|you|call"), told.who_hears),
    (asked(r"\bwho else\b.*\b(?:here|call|line|listening|there|us|with us)\b"), told.who_hears),
    (
        asked(
            r"\b(?:anyone|anybody|someone|somebody|people|others|google|openai|amazon|microsoft|government"
            r"|strangers?|hackers?|you guys)\b.*\b(?:hears?|listen|listening|hearing|eavesdrop\w*|spying"
            r"|spy)\b"
        ),
        told.who_hears,
    ),
    (
        asked(
            (
                r"\bwho(?:'s| is| else| can| could|ever)?\b.*\b(?:hear|hears|hearing|listen|listens|listening"
                r"|eavesdropping|overhear)\b"
            ),
            (
                r"\b(?:is|does|are|do) (?:anyone|anybody|someone|somebody|people|others|google|openai|amazon"
                r"|the government)\b.*\b(?:hear|listen|listening|hearing|read|reading|see|watching|recording)\b"
            ),
            r"\bare you (?:listening|spying|always listening|eavesdropping)\b(?=.*\b(?:me|all|always|on|us)\b)",
        ),
        told.who_hears,
    ),
    (intent("private call|you|me"), told.who_hears),
    (
        asked(r"\bprivacy\b|\bgdpr\b|\bis (?:this|it|my \w+) (?:private|safe|secure|confidential)\b"),
        told.who_hears,
    ),
    (
        asked(
            (
                r"\b(?:voice|words?|audio|speech|data|anything|everything|it|this|conversation|call"
                r"|what i say)\b.*\b(?:sent|send|leave|leaves|leaving|uploaded?|shared|transmitted|go|goes|going"
                r"|streamed)\b.*\b(?:cloud|internet|out|elsewhere|anywhere|company|companies|parties|party|google"
                r"|openai|server|servers|computer|device|machine|somewhere)\b"
            ),
            r"\b(?:send|upload|share|transmit)\b.*\b(?:voice|data|audio|words|speech|recordings?|what i say)\b",
        ),
        told.who_hears,
    ),
    # Costs and keys before models and providers.
    (
        asked(r"\b(?:sign(?:ing)? (?:up|in)|register|registration|log ?in|accounts?|credit card|subscribe)\b"),
        told.no_account,
    ),
    (asked(r"\b(?:api |access |provider )?keys?\b(?!.*\b(?:car|house|door|piano|keyboard|my keys)\b)"), told.keys),
    (intent("variable what|change|provider|model"), told.keys),
    (
        asked(
            (
                r"(?<!-)\b(?:cost|costs|price|pricing|pay|paid|free|charge|charged|expensive|money|subscription|fee"
                r"|bill)\b(?=.*\b(?:you|this|it|me|i|talking|call|calls|use|using|service)\b)"
            ),
            r"^(?:is|are) (?:this|it|you|everything) free\b",
            r"\b(?:you|this|it|talking|calls?|service)\b.*(?<!-)\b(?:cost|costs|price|free|money|pay|expensive|charge)\b",
            r"^how much$",
            r"\bfree of charge\b",
        ),
        told.cost,
    ),
    (intent("local change|model|you|how", "room"), told.local_model),
    (
        asked(r"\b(?:local|own|offline|open source|free|self hosted) (?:\w+ )?(?:model|llm|ai|language model)\b"),
        told.local_model,
    ),
    (asked(r"\b(?:openai|chatgpt|gpt|gemini|dashscope|qwen|alibaba|claude|anthropic)\b"), told.provider),
    (
        asked(
            (
                r"\b(?:different|other|another|which|what|new|change|switch|choose|select|available|supported"
                r"|language) (?:\w+ ){0,2}(?:models?|llms?|ai|providers?|brains?)\b"
            ),
            (
                r"\b(?:models?|llms?|providers?)\b.*\b(?:you|use|using|choose|change|support|offer|available|run"
                r"|running|have|there|switch|connect)\b"
            ),
        ),
        told.models,
    ),
    (
        asked(
            (
                r"\b(?:better|bigger|smarter|real|proper|stronger|best|cleverer|larger) (?:\w+ )?(?:mind|brain|model"
                r"|voice|ai|assistant|answers?|llm|you|one|version)\b"
            ),
            r"\b(?:smarter|cleverer|more intelligent|more clever)\b",
            r"\b(?:upgrade|improve)\b.*\b(?:you|this|it|model|answers)\b",
            r"\bmake you (?:better|more)\b",
            r"\b(?:real|proper|normal|intelligent) (?:conversations?|discussions?|talks?|chats?)\b",
            (
                r"\b(?:know|learn|answer|understand|do|say) (?:more|everything|anything|real)\b(?=.*\b(?:than|stuff"
                r"|things|questions|topics)\b|$)"
            ),
            r"\bknow (?:about )?everything\b",
            r"\bhow (?:do|can|could) (?:i|we) (?:get|have) (?:real|better|good) answers\b",
            (
                r"\b(?:connect|add|plug in|use|attach) (?:\w+ )?(?:a |an |the |my |some )?(?:\w+ )?(?:language model"
                r"|model|llm|ai)\b"
            ),
        ),
        told.better_model,
    ),
    (
        asked(
            (
                r"\bwhy (?:are|do|can't|don't|won't|can|is|aren't) (?:you|this)\b.*\b(?:stupid|dumb|know|so little"
                r"|little|limited|answer|useless|bad|understand)\b"
            ),
            r"\bwhy don't you know\b",
            r"\bwhat (?:can't|cannot|can not) you\b|\bhow (?:smart|clever|intelligent|good|dumb) are you\b",
            r"\bare you (?:that )?(?:limited|stupid|dumb)\b",
        ),
        told.better_model,
    ),
    # Languages and voices.
    (asked(r"\b(?:speak|talk) up\b|\blouder\b|\bvolume\b|\btoo quiet\b"), told.said(told.LOUDER)),
    (intent("language speak|you", "agent"), told.languages),
    (
        asked(
            r"\b(?:what|which|other|any|more|how many|your|supported) languages?\b(?! model)",
            r"\b(?:english only|multilingual|bilingual)\b",
            (
                r"\b(?:say|translate|mean)\b.*\b(?:in|to|into|from) (?:german|french|spanish|italian|chinese|japanese"
                r"|portuguese|russian|hindi|arabic|dutch|turkish|korean|polish|latin|greek|swedish)\b"
            ),
            r"\btranslat\w+\b",
        ),
        told.languages,
    ),
    (
        asked(
            (
                r"\b(?:change|different|other|another|male|female|man's|woman's|deeper|higher|switch|which|what|your"
                r"|how many|more) (?:\w+ )?voices?\b"
            ),
            r"\bvoices?\b.*\b(?:change|choose|different|other|have|available)\b",
            r"\bsound (?:different|like a)\b",
            r"\bspeak faster\b",
            r"\bfaster\b",
        ),
        told.voices,
    ),
    # Talking with it.
    (
        asked(
            r"\binterrupt\w*\b",
            r"\b(?:talk|speak|go on|ramble)\w* (?:for )?(?:too|so) (?:long|much)\b",
            r"\b(?:talk|speak|cut|jump|barge) (?:over|in|into)\b.*",
            r"\bstop you\b",
            r"\bwhile you(?:'re| are)? (?:speak|talk)\w*\b",
            r"\bmake you (?:stop|be quiet|shut up)\b",
            r"\bhow (?:do|can) i (?:stop|silence|pause) (?:you|your voice)\b",
            r"\bcut you\b",
            r"\b(?:start|begin) (?:talking|speaking|to talk|to speak)\b.*\b(?:before|while|when)\b.*\byou\b",
            r"\b(?:shut|quiet|hush) you(?: up)?\b",
        ),
        told.said(told.INTERRUPT),
    ),
    (
        asked(
            r"\b(?:hang up|end (?:the |this |our )?(?:call|conversation|session)|stop (?:the |this )?(?:call"
            r"|server|conversation)|shut (?:the server )?down|quit|close (?:the|this) call)\b"
        ),
        told.said(told.ENDING),
    ),
    (asked(r"\b(?:mute|unmute)\b|\bturn (?:off|on) (?:my |the )?(?:mic|microphone)\b"), told.said(told.MUTE)),
    (
        asked(
            (
                r"\b(?:can|may|could|do|must|should|is it possible)\b.*\b(?:type|typing|write|text|keyboard"
                r"|chat)\b(?=.*\b(?:you|instead|to|here|also|too|me)\b)(?!.*\b(?:poem|song|email|letter|code|essay"
                r"|program|agent|text message|my)\b)"
            ),
            r"\btyp(?:e|ing) instead\b",
            r"\bwithout (?:speaking|talking|a microphone|my voice)\b",
        ),
        told.said(told.TYPING),
    ),
    (
        asked(
            r"\b(?:microphone|mic|headset|captions?)\b",
            r"\b(?:you )?(?:can't|cannot|don't|do not) (?:you )?hear me\b",
        ),
        told.said(told.MICROPHONE),
    ),
    (
        asked(
            r"\b(?:latency|delay|lag|response time)\b",
            r"\bhow (?:fast|quick|quickly|slow|soon) (?:are|is|do|does|can|will|was) (?:you|this|it|that|your)\b",
            r"\bhow (?:long|much time) (?:do|does|did|will|can) (?:you|it|this|that|an answer|your answers?) (?:\w+ )?"
            r"(?:take|need)\b(?=.*\b(?:answer|reply|respond|response|react|speak|think)|$)",
            r"\b(?:are you|is it|is this) (?:so |too |this |that |always ){0,3}(?:slow|fast|quick)\b",
        ),
        told.said(told.DELAY),
    ),
    # Building with it.
    (
        asked(
            r"\brooms?\b(?!.*\b(?:temperature|living|bed|bath|lamp|light|lights)\b)",
            r"\b(?:several|multiple|more than (?:one|two|a)|two|three|four|five|many|other|another|all|both|some"
            r"|a few) (?:people|persons?|users?|humans?|friends?|callers?|speakers?|guests?|participants?|of us)\b.*"
            r"\b(?:talk|call|join|speak|use|take part|participate|allowed|at once|same time|simultaneously|together)\b",
            r"\b(?:someone|somebody|anyone|anybody|everyone|everybody)(?: else)?\b.*\b(?:join|take part|participate)\b",
            (
                r"\b(?:friends?|colleagues?|family|wife|others|team|group)\b.*\b(?:join|talk|call|too|also|together"
                r"|with us|in)\b"
            ),
            r"\bgroup (?:call|chat)\b",
            r"\bmulti[- ]?(?:user|party|agent)\b",
            r"\bconference\b",
        ),
        told.said(told.ROOMS),
    ),
    (
        asked(
            r"\b(?:my|our|own|customer's|existing|another) (?:\w+ )?(?:websites?|webpages?|pages?"
            r"|sites?|apps?|applications?|blog)\b",
            r"\b(?:put|add|use|include|insert|run|have|want|place|talk)\b.*\b(?:on|in|into|inside|from"
            r"|to) (?:a|an|the|any|my|our|your)"
            r" (?:\w+ )?(?:\w+'s )?(?:websites?|webpages?|apps?|applications?|sites?|blog|shop|frontend|product)\b",
            r"\b(?:online|web) (?:store|shop)\b",
            r"\bembed\w*\b",
            r"\bintegrat\w+\b",
            r"\b(?:react|iframe|html|javascript|fastapi|django|flask|wordpress)\b",
            r"\bclient library\b",
            r"\bwebsockets?\b",
        ),
        told.said(told.EMBED),
    ),
    (
        asked(
            (
                r"\b(?:build|make|write|create|develop|program|code|design|define|customi[sz]e|have|add|start|set up"
                r"|get|try|implement|configure|give you|change)\b.*\b(?:own|custom|new|another|an|my|different"
                r"|your) (?:\w+ )?(?:agents?|bots?|assistants?|instructions?|persona|character|personality|prompt"
                r"|voice agent|name)\b"
            ),
            r"\b(?:own|custom) (?:\w+ )?(?:agent|bot|assistant|instructions|prompt)\b",
            r"\bsystem prompt\b",
            r"\bmake_?agent\b",
            r"\b(?:program|customi[sz]e|configure) you\b",
            r"\bteach you\b",
            r"\bchange your (?:name|instructions|personality)\b",
        ),
        told.said(told.OWN_AGENT),
    ),
    (
        asked(
            r"\b(?:offline|without (?:the |an )?(?:internet|network|connection|wifi|cloud))\b",
            (
                r"\b(?:need|needs|require|requires|use|using|connected to|access)\b.*\b(?:internet|network|wifi|online"
                r"|cloud)\b"
            ),
        ),
        told.said(told.OFFLINE),
    ),
    (
        asked(
            (
                r"\b(?:work|works|use|talk|open|run|from|on|support|reach|connect|call)\b.*\b(?:phone|mobile|iphone"
                r"|android|tablet|ipad|smartphone|other devices?|another device|another computer|https|tls|firefox"
                r"|safari|chrome|browser)\b(?!.*\bnumber\b)"
            ),
            r"\b(?:https|tls|certificate)\b",
        ),
        told.said(told.OTHER_DEVICES),
    ),
    (
        asked(
            r"\b(?:docs|documentation|manual|readme|tutorial|deploy\w*|docker|kubernetes|install\w*|port|github"
            r"|repository|sdk|twilio|sip|webrtc|telephony|gpu|production|configure|command line|cli|redis"
            r"|metrics|tests?\b.*\bagent)\b"
        ),
        told.said(told.DOCS),
    ),
)
