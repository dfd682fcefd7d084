"""The subject of a question about the product, by its words."""

from __future__ import annotations

import re

from realtime.model.local.keyless import self_told as told
from realtime.model.local.keyless.self_told import Answer, said
from realtime.model.local.keyless.situation import Situation
from realtime.model.local.keyless.words import stem

_CERTAIN = 3
_REFERS = re.compile(
    r"\b(?:you|your|you're|yourself|this|it|here|call|conversation|chat|page|server|agents?|bots?)\b"
    r"|\b(?:can|could|may|do|should|would) (?:i|we)\b"
    r"|\b(?:is|are) there\b"
)


def guess(situation: Situation) -> str | None:
    """Answer by the subject that most of the words belong to; None where too few belong to one.

    Words that speak of the agent, the call or the product have to be among them.
    """
    if not _REFERS.search(situation.core):
        return None
    words = {stem(word) for word in situation.core.split()}
    scores = [sum(weights.get(word, 0) for word in words) for weights, _ in SUBJECTS]
    best = max(scores)
    return told.told_of(SUBJECTS[scores.index(best)][1], situation) if best >= _CERTAIN else None


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
        "data1 talked2 discussed2 find1 things1 after1 hang1 tomorrow1 disk2 archive3 voice1 "
        "conversation1 conversations1 "
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
        "crm3 calendar2 given1 access1 backend2 lookup2 look1 up1 call1 mcp3",
        told.tools,
    ),
    _subject(
        "room3 rooms3 bots2 agents2 two1 three1 other1 others1 each1 people1 group3 friends2 friend2 "
        "several2 multiple2 together2 "
        "join2 invite3 party1 meeting2 conference3 everyone1 team2 colleagues2 talk1 family2 wife1 husband1 share1",
        said(told.ROOMS),
    ),
    _subject(
        "interrupt3 interrupts3 wait2 finish2 finished2 cut2 off1 stop1 talking1 speaking1 while1 "
        "middle2 sentence1 over1 pause2 "
        "butt3 shut2 quiet1 talk1 still1 long1",
        said(told.INTERRUPT),
    ),
    _subject(
        "website3 webpage3 page1 site2 app2 apps2 application2 integrate3 embed3 widget3 html3 react3 "
        "javascript3 button1 own1 "
        "put1 add1 mobile1 shop1 store1 blog2 frontend3 websocket3",
        said(told.EMBED),
    ),
    _subject(
        "agent3 agents2 bot2 chatbot3 assistant2 build2 create2 write1 make1 own2 custom3 customize3 "
        "customise3 instructions3 prompt3 "
        "persona3 personality3 character2 different1 name1 business2 company1 behave2 answer1 phone1",
        said(told.OWN_AGENT),
    ),
    _subject(
        "internet3 offline3 online2 network2 wifi3 connection2 plane1 airplane1 cloud2 work1 without1",
        said(told.OFFLINE),
    ),
    _subject(
        "install3 server2 host2 hosting3 deploy3 docker3 python3 sdk3 code2 program1 programming2 "
        "github3 docs3 documentation3 "
        "manual2 setup2 own1 machine1 computer1 linux3 windows2 mac2 raspberry3 pi1 port2 configure3 "
        "config3 settings2 start1 "
        "developer2 example2 examples2 tutorial3 kubernetes3 aws3",
        said(told.DOCS),
    ),
    _subject(
        "voice3 voices3 sound2 male3 female3 louder3 volume2 robotic2 pitch3 speed2 tone2 different1 change1",
        told.voices,
    ),
    _subject("microphone3 mic3 headset3 hear1 captions3 permission3 mute1 volume1 not1 can't1", said(told.MICROPHONE)),
    _subject(
        "phone2 mobile3 iphone3 android3 tablet3 ipad3 laptop2 browser3 safari3 firefox3 chrome3 device3 "
        "devices3 https3 work1 use1",
        said(told.OTHER_DEVICES),
    ),
    _subject(
        "latency3 delay3 slow2 fast2 lag3 quick2 quickly2 respond1 response1 speed2 reply1 answer1", said(told.DELAY)
    ),
    _subject(
        "work1 works1 understand1 how1 inside2 rules2 algorithm3 technically3 hood3 speech2 recognition3 "
        "recognize3 recognise3 synthesis3",
        told.how_i_work,
    ),
)
"""The words of each subject with their weights, and its answer."""
