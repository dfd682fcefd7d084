"""Claims in German, Spanish and Chinese: words for deeds by family, and how a clause says that one is done.

Less fine than the English rules: a clause claims a deed if it has a frame ("ich habe ... gebucht", "ha sido
reservada", "已经订好了"), a verb of a family, and nothing that makes it another statement. `weak` verbs need a noun.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from realtime.turn.claim_words.english import word_set

Foreign = Literal["de", "es", "zh"]
FOREIGN: tuple[Foreign, ...] = ("de", "es", "zh")


@dataclass(frozen=True, slots=True)
class Deeds:
    """The words of one family. German: participles; Spanish: infinitives; Chinese: verbs. `things` are stems."""

    strong: str = ""
    weak: str = ""
    things: str = ""


@dataclass(frozen=True, slots=True)
class Tongue:
    """How a language says what is done."""

    own: re.Pattern[str]
    """The speaker has done it."""
    passive: re.Pattern[str]
    """It has been done, or is done."""
    guards: re.Pattern[str]
    """Anywhere in a clause, they make it no claim."""
    breaks: re.Pattern[str]
    """Where clauses end."""
    opens: re.Pattern[str]
    """What makes the next clause no statement of its own: "if", "says"."""
    generic: re.Pattern[str]
    """Whole clauses that claim whatever was asked for."""


DEEDS: dict[Foreign, dict[str, Deeds]] = {
    "de": {
        "book": Deeds(
            "gebucht reserviert vorgemerkt umgebucht",
            "bekommen ergattert gesichert eingetragen bestellt freigehalten besorgt",
            "tisch platz plätze zimmer flug termin reservierung buchung ticket karte",
        ),
        "cancel": Deeds(
            "storniert abgesagt gekündigt annulliert abbestellt",
            "gestrichen aufgehoben rückgängig zurückgezogen gelöscht",
            "reservierung buchung bestellung termin abo tisch zimmer",
        ),
        "pay": Deeds(
            "überwiesen bezahlt beglichen",
            "gesendet geschickt angewiesen transferiert raus gezahlt eingezahlt",
            "geld betrag euro miete rechnung überweisung zahlung summe",
        ),
        "block": Deeds("", "gesperrt blockiert eingefroren deaktiviert", "karte konto"),
        "order": Deeds(
            "bestellt gekauft nachbestellt",
            "aufgegeben abgeschickt besorgt geordert",
            "bestellung pizz essen ticket karte",
        ),
        "refund": Deeds(
            "erstattet rückerstattet zurückerstattet zurücküberwiesen",
            "zurückgezahlt gutgeschrieben zurückgegeben veranlasst",
            "geld betrag erstattung rückerstattung euro kaufpreis",
        ),
        "update": Deeds(
            "aktualisiert berichtigt",
            "geändert angepasst hinterlegt gespeichert übernommen ersetzt umgestellt eingetragen",
            "adresse anschrift daten nummer name profil",
        ),
        "message": Deeds(
            "gemailt angeschrieben benachrichtigt gesimst informiert",
            "geschickt gesendet verschickt versendet abgeschickt abgesendet geschrieben weitergeleitet raus bescheid "
            "rausgeschickt beantwortet zugestellt",
            "mail nachricht sms einladung antwort bescheid brief text",
        ),
        "note": Deeds(
            "notiert aufgeschrieben",
            "angelegt gespeichert erstellt festgehalten vermerkt eingetragen",
            "notiz liste",
        ),
        "move": Deeds(
            "verlegt umgebucht",
            "verschoben vorgezogen geändert getauscht umgelegt",
            "termin treffen besprechung sitzung uhr",
        ),
        "remind": Deeds(
            "",
            "gestellt eingestellt eingerichtet angelegt gesetzt erstellt aktiviert gespeichert",
            "erinnerung wecker timer alarm",
        ),
        "schedule": Deeds(
            "",
            "blockiert eingetragen angelegt vereinbart hinzugefügt erstellt gespeichert geplant vermerkt",
            "termin kalender treffen besprechung eintrag ereignis",
        ),
        "delete": Deeds("gelöscht", "entfernt vernichtet geleert weggeworfen", "datei dokument foto ordner eintrag"),
        "switch": Deeds(
            "eingeschaltet ausgeschaltet angeschaltet angemacht ausgemacht gedimmt",
            "an aus",
            "licht lampe radio fernseher",
        ),
        "adjust": Deeds(
            "hochgedreht heruntergedreht runtergedreht aufgedreht",
            "gestellt eingestellt erhöht gesenkt gesetzt",
            "heizung temperatur thermostat grad",
        ),
        "lock": Deeds("abgeschlossen verriegelt aufgeschlossen zugesperrt", "", "tür tor"),
        "report": Deeds(
            "",
            "gemeldet erstellt aufgenommen angelegt eröffnet weitergegeben aufgemacht",
            "ticket störung fall meldung problem",
        ),
        "apply": Deeds("eingereicht", "gestellt abgeschickt gemeldet weitergeleitet", "antrag schaden schadenmeldung"),
        "subscribe": Deeds("abonniert", "angemeldet eingetragen aufgenommen", "newsletter verteiler liste"),
    },
    "es": {
        "book": Deeds(
            "reservar",
            "apartar conseguir confirmar guardar bloquear hacer",
            "mesa habitación vuelo reserva plaza sitio entrada",
        ),
        "cancel": Deeds("cancelar anular", "quitar eliminar suspender", "reserva pedido cita suscripción mesa"),
        "pay": Deeds(
            "transferir pagar abonar",
            "enviar mandar hacer realizar",
            "dinero euro transferencia pago importe factura alquiler dólar peso",
        ),
        "block": Deeds("", "bloquear congelar desactivar", "tarjeta cuenta"),
        "order": Deeds("pedir comprar encargar", "hacer realizar tramitar", "pedido compra comida pizza"),
        "refund": Deeds(
            "reembolsar reintegrar", "devolver tramitar procesar emitir", "dinero importe reembolso devolución euro"
        ),
        "update": Deeds("actualizar", "cambiar modificar corregir guardar", "dirección dato número nombre perfil"),
        "message": Deeds(
            "notificar",
            "enviar mandar escribir reenviar responder avisar contestar informar",
            "correo mensaje email invitación respuesta carta sms",
        ),
        "note": Deeds("anotar apuntar", "guardar crear añadir escribir", "nota lista"),
        "move": Deeds("reprogramar aplazar", "mover cambiar pasar adelantar retrasar", "cita reunión hora"),
        "remind": Deeds("", "poner crear programar activar configurar guardar", "recordatorio alarma aviso"),
        "schedule": Deeds("agendar", "añadir poner apuntar crear programar agregar", "calendario cita evento agenda"),
        "delete": Deeds("borrar", "eliminar quitar suprimir vaciar", "archivo documento foto carpeta"),
        "switch": Deeds("encender apagar", "", "luz lámpara radio televisión"),
        "adjust": Deeds("", "subir bajar poner ajustar fijar", "calefacción temperatura termostato grado"),
        "lock": Deeds("", "cerrar bloquear abrir", "puerta"),
        "report": Deeds("", "abrir crear registrar reportar levantar", "incidencia ticket caso avería tique"),
        "apply": Deeds("tramitar", "presentar enviar registrar", "solicitud reclamación parte siniestro"),
        "subscribe": Deeds("suscribir", "inscribir apuntar añadir dar", "boletín lista newsletter"),
    },
    "zh": {
        "book": Deeds("预订 预定 订 预约", "留 安排 定", "桌 位 座 房间 机票 酒店 餐厅"),
        "cancel": Deeds("取消 退订", "撤销", "预订 订单 预约 桌 房间"),
        "pay": Deeds("转账 汇款 付款 支付", "转 付 汇 打", "钱 款 元 块 房租 账单 欧"),
        "block": Deeds("冻结 挂失", "锁 停用", "卡 账户"),
        "order": Deeds("下单 点餐 购买", "点 买 订 下", "单 餐 披萨 票 外卖 菜"),
        "refund": Deeds("退款 退还", "退", "款 钱"),
        "update": Deeds("更新", "修改 更改 改 换", "地址 信息 资料 电话"),
        "message": Deeds("通知", "发送 发 回复 转发 寄", "邮件 短信 信息 消息 邀请"),
        "note": Deeds("记下 记录", "记 写 保存 建", "笔记 备忘 清单"),
        "move": Deeds("改期 改约", "改 推迟 提前 挪 调", "预约 会议 时间 约会"),
        "remind": Deeds("", "设 设置 设定 建 加", "提醒 闹钟"),
        "schedule": Deeds("", "加 添加 安排 写 放", "日历 日程 会议 会"),
        "delete": Deeds("删除 删掉", "删 清空", "文件 照片 文档"),
        "switch": Deeds("", "打开 开 关 关掉 调", "灯 电视"),
        "adjust": Deeds("", "调 设 设置", "温度 度 暖气 空调"),
        "lock": Deeds("", "锁", "门"),
        "report": Deeds("报修", "提交 建 创建 报告 上报", "工单 故障 问题"),
        "apply": Deeds("", "提交 递交", "理赔 申请"),
        "subscribe": Deeds("订阅", "加入 注册", "通讯 简报 名单"),
    },
}

TONGUES: dict[Foreign, Tongue] = {
    "de": Tongue(
        re.compile(
            r"\b(?:ich|wir) (?:\w+ ){0,2}?(?:habe|hab|haben)\b|\b(?:habe|hab|haben) (?:ich|wir)\b|\bhab (?:dir|"
            r"ihnen|das|es)\b"
        ),
        re.compile(r"\b(?:ist|sind|wurde|wurden|bist|worden)\b"),
        re.compile(
            r"\b(?:werden(?!.{0,80}worden)|nicht|kein\w*|nie|niemand|nichts|wenn|falls|sobald|ob|bevor|würde\w*|"
            r"könnte\w*|kann|können|soll\w*|"
            r"möchte\w*|will|wollen|werde|wird|müsste\w*|muss|müssen|hätte\w*|wäre\w*|fast|beinahe|angeblich|"
            r"vermutlich|"
            r"vielleicht|wahrscheinlich|offenbar|scheint|laut|vom|hat|hast|habt|gestern|vorgestern|letzte\w*|damals|"
            r"früher|"
            r"neulich|jedes|immer|normalerweise|meistens|automatisch|ausgebucht|wer|was|wie|wann|warum|welche\w*|sonst|"
            r"sie haben|von (?:ihrer|ihrem|deiner|deinem|der|dem|einem|einer|jemand\w*|anderen)|"
            r"vor \w+ (?:tag|woche|monat|jahr)\w*|im (?:januar|februar|märz|april|mai|juni|juli|august|september|"
            r"oktober|"
            r"november|dezember))\b"
        ),
        re.compile(r"[,.;:!?–—]|\b(?:aber|sondern|denn|weil|und(?= (?:ich|wir|der|die|das|dein|ihr|ihre|es)\b))\b"),
        re.compile(
            r"\b(?:wenn|falls|sobald|ob|bevor|sagt\w*|schreibt|behauptet|meint\w*|steht|angenommen|dachte|glaube)\b"
        ),
        re.compile(
            r"^(?:so |ja |gut |okay |super |prima )*(?:(?:das|es|alles) ist |ist )?(?:jetzt |nun |schon )?(?:alles )?"
            r"(?:erledigt|geschafft|alles klar gemacht)(?: für \w+)?$"
        ),
    ),
    "es": Tongue(
        re.compile(r"\b(?:he|hemos)\b"),
        re.compile(
            r"\b(?:está|están|queda|quedan|quedó|ha sido|han sido|fue|fueron|se ha|se han|se le ha|se te ha|"
            r"ha quedado|estás)\b"
        ),
        re.compile(
            r"\b(?:no|mal|estaba\w*|era\w*|creía|pensaba|últim\w+|nunca|nadie|nada|ningún\w*|si|cuando|cuándo|"
            r"podría\w*|puedo|puede\w*|podemos|voy a|vamos a|"
            r"va a|quiere\w*|"
            r"quieres|debo|debería\w*|habría\w*|hubiera\w*|tengo que|tiene\w* que|antes|casi|quizá\w*|tal vez|"
            r"parece|según|"
            r"suele\w*|siempre|normalmente|ayer|anteayer|pasad[oa]s?|hace|todavía|aún|cada|quién|qué|cómo|dónde|"
            r"cuál\w*|"
            r"por (?:su|tu|el|la|los|las|otro|otra|alguien)|en (?:enero|febrero|marzo|abril|mayo|junio|julio|agosto|"
            r"septiembre|octubre|noviembre|diciembre))\b"
        ),
        re.compile(r"[,.;:!?¿¡–—]|\b(?:pero|porque|aunque|y(?= (?:he|hemos|la|el|su|tu|le|te|ya)\b))\b"),
        re.compile(r"\b(?:si|cuando|dice\w*|dijo|pone|supongamos|creía|creo|pensaba)\b"),
        re.compile(
            r"^(?:perfecto |bueno |vale |pues )*(?:ya )?(?:está )?(?:todo )?(?:ya )?(?:listo|hecho|arreglado|"
            r"solucionado)$|^ya está(?: todo)?$"
        ),
    ),
    "zh": Tongue(
        re.compile(r"我|已|刚|好了|成功"),
        re.compile(r"已|好了|完了|掉了|成功"),
        re.compile(
            r"没|不|未|(?<!特)别|如果|要是|假如|吗|呢|可以|能|会(?!议)|想|将|应该|需要|(?<![邀申])请|是否|等|昨天|上周|上个|以前|去年|每|通常|可能|也许|"
            r"似乎|据说|说|^(?:您|你|他|她|他们|她们)(?!的|已成功)|太太|先生已|银行已|差点|一旦|谁|什么|哪|怎么|几|多少|要先|才"
        ),
        re.compile(r"[，。；：！？,.;:!?、]|但是|不过|因为"),
        re.compile(r"如果|要是|说|假如|一旦"),
        re.compile(r"^(?:好的|好)?(?:都|全部|已经|已)*(?:搞定|办好|弄好|完成|办妥|处理好)了$"),
    ),
}


@dataclass(frozen=True, slots=True)
class _Family:
    """One family of a language, its words as they are compared."""

    strong: frozenset[str]
    weak: frozenset[str]
    things: tuple[str, ...]
    is_status: bool
    is_lasting: bool

    def has_thing(self, text: str) -> bool:
        return any(thing in text for thing in self.things)


_NOW = {"de": r"\b(?:jetzt|nun|soeben|gerade|eben)\b", "es": r"\b(?:ya|ahora|acaba)\b", "zh": r"已|了"}
_DEFINITE = {
    "de": (
        r"^ist\b|\b(?:jetzt|nun|für sie|für dich|ihnen|dir|zwei|drei|vier|fünf|sechs|der|die|das|den|dein\w*|ihr\w*|es|"
        r"alles|sie sind|du bist|dies\w*|euer|eure)\b"
    ),
    "es": r"\b(?:el|la|los|las|su|sus|tu|tus|todo|esto|eso|le|te|está|queda)\b",
    "zh": r"",
}
_FINITE = {
    "de": r"\b(?:ist|sind|war|waren|wird|wurde|habe|haben|hat|kann|soll|gibt|kostet|kommt|möchte\w*|sie|du|ich|wir)\b",
    "es": r"\b(?:es|son|era|está|están|ha|han|he|hay|cuesta|viene|quiere\w*|tiene\w*)\b",
}
_IS = re.compile(r"\b(?:ist|sind|bist|está|están)\b(?!.{0,80}\b(?:worden|raus)\b)")
_JUST = re.compile(r"\bacab(?:o|amos) de (\w+[aei]r)\b")
_QUOTED = re.compile(r"[„“\"«][^„“”\"«»]*[“”\"»]")
_ENDED = re.compile(r"(?:好|完|掉|成功|过去|出去|到|进|上|下|起来|出){0,6}(?:.{0,12}了|成功|完毕)")
"""Behind a Chinese verb they make it done."""
_STATUS = frozenset({"switch", "block", "lock"})
"""Families whose participle also tells how things have long been: "la luz está encendida"."""
_LASTING = _STATUS | {"adjust", "remind", "schedule", "update", "note", "subscribe", "book"}
"""Families of which a state may long have been so; with `weak` verbs only "now" tells a deed."""
_ARTICLES = word_set(
    "der die das den dein deine ihr ihre ein eine alle la el los las su sus tu tus un una unos unas este esta"
)
_POSSESSIVES = word_set("el su tu un mi")
"""Before a Spanish participle they make it a noun: "su pedido"."""
_PARTICIPLES = {
    "poner": "puest",
    "hacer": "hech",
    "escribir": "escrit",
    "suscribir": "suscrit",
    "inscribir": "inscrit",
    "abrir": "abiert",
    "devolver": "devuelt",
}
_PRETERITES = {
    "poner": "puse",
    "hacer": "hice",
    "dar": "di",
    "pagar": "pagué",
    "encargar": "encargué",
    "agregar": "agregué",
    "aplazar": "aplacé",
    "notificar": "notifiqué",
    "modificar": "modifiqué",
}


def _stem(verb: str) -> str:
    """Return a Spanish participle without its ending."""
    return _PARTICIPLES.get(verb, f"{verb[:-2]}{'ad' if verb.endswith('ar') else 'id'}")


_FAMILIES: dict[Foreign, dict[str, _Family]] = {
    language: {
        name: _Family(
            word_set(deeds.strong),
            word_set(deeds.weak),
            tuple(deeds.things.split()),
            name in _STATUS,
            name in _LASTING,
        )
        for name, deeds in families.items()
    }
    for language, families in DEEDS.items()
}
_VERBS = {
    language: frozenset(verb for one in families.values() for verb in one.strong | one.weak)
    for language, families in _FAMILIES.items()
}
_FORMS = {f"{_stem(verb)}{ending}": verb for verb in _VERBS["es"] for ending in ("o", "a", "os", "as")}
"""Spanish verbs by the forms of their participle."""
_PAST = {_PRETERITES.get(verb, verb[:-2] + ("é" if verb.endswith("ar") else "í")): verb for verb in _VERBS["es"]}
"""Spanish verbs by their first person of the past."""


def families_in(text: str, language: Foreign) -> frozenset[str]:
    """Return the families of which a text names things."""
    return frozenset(name for name, family in _FAMILIES[language].items() if family.has_thing(text.lower()))


def claimed(sentence: str, language: Foreign) -> Iterator[frozenset[str]]:
    """Yield for each clause that claims a deed its families; an empty set claims whatever was asked for."""
    tongue = TONGUES[language]
    text = _plain(sentence, language)
    clauses = [clause for part in tongue.breaks.split(text) if (clause := part.strip())]
    if text.rstrip().endswith(("?", "？")):
        clauses = clauses[:-1]
    is_open = False
    before = ""
    for clause, following in zip(clauses, [*clauses[1:], ""], strict=False):
        was_open, is_open = is_open, tongue.opens.search(clause) is not None
        named, before = before, clause
        if was_open or tongue.opens.match(following) or tongue.guards.search(clause):
            continue
        if tongue.generic.search(clause):
            yield frozenset()
            continue
        is_half = language != "zh" and _is_half(clause, language)
        own = tongue.own.search(clause) is not None
        passive = tongue.passive.search(clause)
        if not own and not is_half and (passive is None or _describes(clause[: passive.start()], language)):
            continue
        verbs = _done(clause, language)
        found = [
            name
            for name, family in _FAMILIES[language].items()
            if _claims(family, verbs, f"{named} {clause}" if is_half else clause, language, is_free=own or is_half)
        ]
        if found:
            nearer = [name for name in found if _FAMILIES[language][name].has_thing(clause)]
            yield frozenset(nearer or found)


def _plain(sentence: str, language: Foreign) -> str:
    """Return the sentence without quotations, "reservé" as "he reservado"."""
    text = _QUOTED.sub(" ", sentence).lower()
    if language == "zh":
        return text.replace("订单", "货单")  # its first sign is a verb, too
    if language == "de":
        return text
    text = _JUST.sub(lambda found: f"he {_stem(found.group(1))}o", text)
    return re.sub(r"\b\w+[éíe]\b|\bdi\b", lambda found: _in_the_perfect(found.group()), text)


def _in_the_perfect(word: str) -> str:
    return f"he {_stem(_PAST[word])}o" if word in _PAST else word


def _done(clause: str, language: Foreign) -> frozenset[str]:
    """Return the verbs that a clause tells as done."""
    if language == "zh":
        return frozenset(verb for verb in _VERBS["zh"] if _is_done(clause, verb))
    words = re.findall(r"\w+", clause)
    if language == "de":
        return _VERBS["de"] & {*words}
    pairs = zip(["", *words], words, strict=False)
    return frozenset(_FORMS[word] for before, word in pairs if word in _FORMS and before not in _POSSESSIVES)


def _is_done(clause: str, verb: str) -> bool:
    """Whether a Chinese verb is done: behind "已", or with a result behind it."""
    at = clause.find(verb)
    while at >= 0:
        if "已" in clause[max(0, at - 12) : at] or _ENDED.match(clause, at + len(verb)):
            return True
        at = clause.find(verb, at + 1)
    return False


def _claims(family: _Family, verbs: frozenset[str], text: str, language: Foreign, *, is_free: bool) -> bool:
    """Whether verbs claim a deed of a family. `is_free`: the speaker did it, or no verb tells when it was done."""
    is_strong = bool(verbs & family.strong)
    if is_strong and not family.is_status:
        return is_free or re.search(_DEFINITE[language], text) is not None
    if not (is_strong or verbs & family.weak) or not family.has_thing(text):
        return False
    is_state = family.is_lasting and language != "zh" and _IS.search(text)
    return is_free or not is_state or re.search(_NOW[language], text) is not None


def _is_half(clause: str, language: Foreign) -> bool:
    """Whether a clause has no verb but a participle: "Tisch reserviert", "mesa reservada"."""
    words = clause.split()
    return len(words) <= 6 and words[0] not in _ARTICLES and not re.search(_FINITE[language], clause)


def _describes(subject: str, language: Foreign) -> bool:
    """Whether a Spanish participle only describes the subject: "los archivos borrados quedan"."""
    return language == "es" and bool(_done(subject, language))
