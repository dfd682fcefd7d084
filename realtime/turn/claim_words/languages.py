"""Claims in German, Spanish and Chinese: words for deeds by family, and how a clause says that one is done.

Less fine than the English rules: a clause claims a deed if it has a frame ("ich habe ... gebucht", "ha sido
reservada", "已经订好了"), a verb of a family, and nothing that makes it another statement. `weak` verbs need a noun.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

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
        "book": Deeds("预订 预定 订(?!单) 预约", "留 安排 定", "桌 位 座 房间 机票 酒店 餐厅"),
        "cancel": Deeds("取消 退订", "撤销", "预订 订单 预约 桌 房间"),
        "pay": Deeds("转账 汇款 付款 支付", "转 付 汇 打", "钱 款 元 块 房租 账单 欧"),
        "block": Deeds("冻结 挂失", "锁 停用", "卡 账户"),
        "order": Deeds("下单 点餐 购买", "点 买 订(?!单) 下", "单 餐 披萨 票 外卖 菜"),
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
            r"\b(?:werden(?!.*worden)|nicht|kein\w*|nie|niemand|nichts|wenn|falls|sobald|ob|bevor|würde\w*|"
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
class _Words:
    """The words of one family as patterns."""

    strong: re.Pattern[str]
    weak: re.Pattern[str]
    things: re.Pattern[str]
    is_status: bool
    is_lasting: bool


_VERBS = sorted({verb for deeds in DEEDS["es"].values() for verb in (*deeds.strong.split(), *deeds.weak.split())})
_NEVER = re.compile(r"(?!)")
_NOW = {"de": r"\b(?:jetzt|nun|soeben|gerade|eben)\b", "es": r"\b(?:ya|ahora|acaba)\b", "zh": r"已|了"}
_DEFINITE = {
    "de": (
        r"^ist\b|\b(?:jetzt|nun|für sie|für dich|ihnen|dir|zwei|drei|vier|fünf|sechs|der|die|das|den|dein\w*|ihr\w*|es|"
        r"alles|sie sind|du bist|dies\w*|euer|eure)\b"
    ),
    "es": r"\b(?:el|la|los|las|su|sus|tu|tus|todo|esto|eso|le|te|está|queda)\b",
    "zh": r"",
}
_JUST = re.compile(r"\bacab(?:o|amos) de (\w+[aei]r)\b")
_STATUS = frozenset({"switch", "block", "lock"})
"""Families whose participle also tells how things have long been: "la luz está encendida"."""
_LASTING = _STATUS | {"adjust", "remind", "schedule", "update", "note", "subscribe", "book"}
"""Families of which a state may long have been so; with `weak` verbs only "now" tells a deed."""
_ARTICLES = frozenset(
    [
        "der",
        "die",
        "das",
        "den",
        "dein",
        "deine",
        "ihr",
        "ihre",
        "ein",
        "eine",
        "alle",
        "la",
        "el",
        "los",
        "las",
        "su",
        "sus",
        "tu",
        "tus",
        "un",
        "una",
        "unos",
        "unas",
        "este",
        "esta",
    ]
)
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
    "poner": "puse", "hacer": "hice", "conseguir": "conseguí", "dar": "di", "pagar": "pagué", "encargar": "encargué",
    "agregar": "agregué", "aplazar": "aplacé", "realizar": "realicé", "tramitar": "tramité", "notificar": "notifiqué",
    "modificar": "modifiqué",
}  # fmt: skip


def families_in(sentence: str, language: Foreign) -> frozenset[str]:
    """Return the families whose verbs or things a text names, in whatever form."""
    text = sentence.lower()
    return frozenset(
        name for name, words in _words(language).items() if words.strong.search(text) or words.things.search(text)
    )


def claimed(sentence: str, language: Foreign) -> Iterator[frozenset[str]]:
    """Yield for each clause that claims a deed its families; an empty set claims whatever was asked for."""
    tongue = TONGUES[language]
    text = _plain(sentence, language)
    is_asked = re.search(r"[?？]\s*$", text) is not None
    clauses = [clause.strip() for clause in tongue.breaks.split(text)]
    clauses = [clause for clause in clauses if clause]
    if is_asked:
        clauses = clauses[:-1]
    is_open = False
    before = ""
    for place, clause in enumerate(clauses):
        was_open, is_open = is_open, tongue.opens.search(clause) is not None
        named, before = before, clause
        is_conditional = place + 1 < len(clauses) and tongue.opens.match(clauses[place + 1])
        if was_open or is_conditional or tongue.guards.search(clause):
            continue
        if tongue.generic.search(clause):
            yield frozenset()
            continue
        own = tongue.own.search(clause) is not None
        passive = tongue.passive.search(clause)
        if not own and passive is None and not _is_half(clause, language):
            continue
        if passive is not None and not own and language == "es" and _attributive().search(clause[: passive.start()]):
            continue
        found = [name for name, words in _words(language).items() if _claims(words, clause, language, own=own)]
        if not found and _is_half(clause, language):
            joined = f"{named} {clause}"
            found = [
                name
                for name, words in _words(language).items()
                if words.weak.search(clause) and _claims(words, joined, language, own=own)
            ]
        if found:
            nearer = [name for name in found if _words(language)[name].things.search(clause)]
            yield frozenset(nearer or found)


def _plain(sentence: str, language: Foreign) -> str:
    """Return the sentence without quotations, "reservé" as "he reservado"."""
    text = re.sub(r"[„“\"«][^“”\"»]*[“”\"»]", " ", sentence).lower()
    if language != "es":
        return text
    text = _JUST.sub(lambda found: f"he {_stem(found.group(1))}o", text)
    return _past().sub(lambda found: f"he {_past_forms()[found.group()]}", text)


@cache
def _past_forms() -> dict[str, str]:
    """Return the participle of each Spanish verb by its first person of the past."""
    return {
        _PRETERITES.get(verb, verb[:-2] + ("é" if verb.endswith("ar") else "í")): f"{_stem(verb)}o" for verb in _VERBS
    }


@cache
def _attributive() -> re.Pattern[str]:
    """Return what tells that a Spanish noun is only described: "los archivos borrados quedan"."""
    return re.compile(rf"^(?:los|las|un|una|unos|unas) \w+ (?:{'|'.join(_stem(verb) for verb in _VERBS)})[oa]s?\b")


@cache
def _past() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(sorted(_past_forms()))})\b")


def _stem(verb: str) -> str:
    """Return a Spanish participle without its ending."""
    return _PARTICIPLES.get(verb, f"{verb[:-2]}{'ad' if verb.endswith('ar') else 'id'}")


def _claims(words: _Words, clause: str, language: Foreign, *, own: bool) -> bool:
    is_half = _is_half(clause, language)
    if words.strong.search(clause) and not words.is_status:
        return own or is_half or re.search(_DEFINITE[language], clause) is not None
    verbs = words.strong if words.is_status and words.strong.search(clause) else words.weak
    if not (verbs.search(clause) and words.things.search(clause)):
        return False
    is_state = (
        words.is_lasting
        and language != "zh"
        and re.search(r"\b(?:ist|sind|bist|está|están)\b(?!.*\b(?:worden|raus)\b)", clause)
    )
    return own or is_half or not is_state or re.search(_NOW[language], clause) is not None


def _is_half(clause: str, language: Foreign) -> bool:
    """Whether a clause has no verb but a participle: "Tisch reserviert", "mesa reservada"."""
    if language == "zh":
        return False
    finite = (
        r"\b(?:ist|sind|war|waren|wird|wurde|habe|haben|hat|kann|soll|gibt|kostet|kommt|möchte\w*|sie|du|ich|wir)\b"
        if language == "de"
        else r"\b(?:es|son|era|está|están|ha|han|he|hay|cuesta|viene|quiere\w*|tiene\w*)\b"
    )
    words = clause.split()
    return len(words) <= 6 and words[0] not in _ARTICLES and not re.search(finite, clause)


@cache
def _words(language: Foreign) -> dict[str, _Words]:
    return {name: _compiled(name, deeds, language) for name, deeds in DEEDS[language].items()}


def _compiled(name: str, deeds: Deeds, language: Foreign) -> _Words:
    things = _any(deeds.things.split(), r"\b{}" if language == "es" else "{}")
    strong, weak = (
        _any([_form(verb, language) for verb in verbs.split()], "{}") for verbs in (deeds.strong, deeds.weak)
    )
    return _Words(strong, weak, things, name in _STATUS, name in _LASTING)


def _form(verb: str, language: Foreign) -> str:
    """Return the pattern of a verb in a statement of what is done."""
    match language:
        case "de":
            return rf"\b{verb}\b"
        case "es":
            return rf"(?<!\bel )(?<!\bsu )(?<!\btu )(?<!\bun )\b{_stem(verb)}[oa]s?\b"
        case "zh":
            result = "(?:好|完|掉|成功|过去|出去|到|进|上|下|起来|出)*"
            return rf"{verb}{result}.{{0,12}}了|已(?:经)?(?:成功)?.{{0,8}}{verb}|{verb}(?:成功|完毕)"


def _any(words: list[str], form: str) -> re.Pattern[str]:
    return re.compile("|".join(form.format(word) for word in words)) if words else _NEVER
