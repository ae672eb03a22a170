"""Portuguese numbers, dates, times, amounts and measures in words, as they are read aloud."""

import re
from collections.abc import Callable
from importlib.util import find_spec

# The languages of num2words by the variants of models of phones.
LANGUAGES = {**dict.fromkeys(("br", "br-wikipron", "pt-BR"), "pt_BR"), **dict.fromkeys(("pt", "pt-PT"), "pt")}
INSTALL = 'pip install "atenta[numbers]"'

_MOST_DIGITS = 15  # of a number; num2words has no names for all longer ones
_MONTHS = (
    *("janeiro", "fevereiro", "março", "abril", "maio", "junho"),
    *("julho", "agosto", "setembro", "outubro", "novembro", "dezembro"),
)
_CURRENCIES = {  # one, several, a hundredth
    "R$": ("real", "reais", "centavo"),
    "US$": ("dólar", "dólares", "centavo"),
    "€": ("euro", "euros", "cêntimo"),
    "£": ("libra", "libras", "péni"),
    "¥": ("iene", "ienes", "sen"),
}
_UNITS = {
    **{"km": "quilômetro", "m": "metro", "cm": "centímetro", "mm": "milímetro", "kg": "quilo", "g": "grama"},
    **{"l": "litro", "ml": "mililitro", "h": "hora", "min": "minuto", "%": "por cento", "°": "grau"},
    **{"km/h": "quilômetro por hora", "km/l": "quilômetro por litro", "m/s": "metro por segundo", "ha": "hectare"},
    **dict.fromkeys(("m²", "m2"), "metro quadrado"),
    **dict.fromkeys(("m³", "m3"), "metro cúbico"),
    **dict.fromkeys(("km²", "km2"), "quilômetro quadrado"),
    **dict.fromkeys(("cm²", "cm2"), "centímetro quadrado"),
    **dict.fromkeys(("cm³", "cm3"), "centímetro cúbico"),
    **dict.fromkeys(("mm²", "mm2"), "milímetro quadrado"),
    **dict.fromkeys(("°C", "ºC"), "grau"),
    **dict.fromkeys(("°F", "ºF"), "grau Fahrenheit"),
    **{"V": "volt", "W": "watt", "x": "vez", "cv": "cavalo", "rpm": "rotação por minuto"},
    **{"mg/dl": "miligrama por decilitro", "bpm": "batimento por minuto", "mah": "miliampere-hora"},
    **{"kb": "cá bê", "mb": "eme bê", "gb": "gê bê", "tb": "tê bê"},
    **{"kW": "quilowatt", "kWh": "quilowatt-hora", "t": "tonelada", "s": "segundo", "mg": "miligrama"},
    **{"kcal": "quilocaloria", "cl": "centilitro", "dB": "decibel", "Mbps": "megabit por segundo"},
    **{"Hz": "hertz", "kHz": "quilohertz", "MHz": "megahertz", "GHz": "gigahertz"},
}
# Parts of a whole, as in recipes; half of what is feminine is *meia*.
_FRACTIONS = {
    **dict.fromkeys(("1/2", "½"), "meio"),
    **dict.fromkeys(("1/3", "⅓"), "um terço"),
    **dict.fromkeys(("2/3", "⅔"), "dois terços"),
    **dict.fromkeys(("1/4", "¼"), "um quarto"),
    **dict.fromkeys(("3/4", "¾"), "três quartos"),
}
_THOUSANDS = r"\d{1,3}(?:\.\d{3})+"
_MEASURED = r"colher|copo|dúzia|garrafa|hora|kg|lata|litro|metro|pacote|quilo|tablete|tomate|vidro|xícara"
# Words after which two numbers are a step of several or a mark, and no part of a whole or day.
_NO_SHARE = "".join(
    rf"(?<!{word} )" for word in ("asso", "arte", "ota", "pisódio", "ula", "tapa", "arcela", "essão de")
)
_FRACTION = (
    rf"(?:(?:1/2|[12]/3|[13]/4)(?= (?:d[aeo]s?|{_MEASURED})\b)"
    rf"|{_NO_SHARE}[1-9]/(?:[5-9]|10)(?= d[aeo]s? (?!manhã|tarde|noite)[a-zà-ÿ]))"
)
_NUMBER = rf"{_THOUSANDS}(?:,\d+)?(?!\.?\d)|(?<![\d.])\d+\.\d+(?!\.?\d)|\d+(?:,\d+)?"
_SCALES = r"mil|mi|milhão|milhões|bi|bilhão|bilhões|tri|trilhão|trilhões"
_SHORT_SCALES = {
    "pt_BR": {"mi": ("milhão", "milhões"), "bi": ("bilhão", "bilhões"), "tri": ("trilhão", "trilhões")},
    "pt": {"mi": ("milhão", "milhões"), "bi": ("mil milhões",) * 2, "tri": ("bilião", "biliões")},
}
_TIMES = (
    r"(?<!\d:)(?P<hours>[01]?\d|2[0-4])"
    r"(?:(?:[hH]|:)(?P<minutes>[0-5]\d)(?::(?P<seconds>[0-5]\d)|min|m|\s?[hH])?|[hH])\b(?!:\d)"
)
# Words after which I, V and X are numbers, names after which they are unless a stop and a capital follow, and meetings
# before which they are.
PARTS = (
    *("século", "Século", "SÉCULO", "capítulo", "Capítulo", "CAPÍTULO", "inciso", "anexo", "Anexo", "Título", "Parte"),
    *("Volume", "volume", "Leão", "Pio"),
)
NAMES = (
    *("Afonso", "Carlos", "Dinis", "Elizabeth", "Fernando", "Filipe", "Francisco", "Henrique", "Isabel", "João"),
    *("Jorge", "José", "Luís", "Manuel", "Maria", "Miguel", "Pedro", "Sancho"),
)
MEETINGS = "Bienal|Conferência|Congresso|Encontro|Festival|Fórum|Guerra|Jornada|Mostra|Semana|Seminário|Simpósio"
# II to XXXIX: kings, popes, centuries, chapters; I, V and X where they can be nothing else, not in *Maria V. Dias*.
ROMAN = (
    rf"(?:(?=[XVI]{{2}})|(?=[XVI] (?:{MEETINGS})\b)|{'|'.join(f'(?<={word} )' for word in PARTS)}"
    rf"|(?:{'|'.join(f'(?<={word} )' for word in NAMES)})(?![VX]\. (?:[A-ZÀ-Ý]|d[aeo]s? )))"
    r"X{0,3}(?:IX|IV|V?I{0,3})(?<=[XVI])"
)
_ARTICLE = re.compile(r"\b(?:(?P<feminine>[àa]|[dn]a|pela|esta|nesta)|o|[dn]o|ao|pelo|este|neste) \Z", re.IGNORECASE)
_NAME = re.compile(" [A-ZÀ-Ý][a-zà-ÿ]")  # *a IV Conferência* is *a quarta*
_QUEENS = ("Isabel ", "Maria ", "Elizabeth ", "Elisabete ", "Catarina ")
_COUNTED = (  # *tipo II* is *tipo dois*
    *("tipo ", "fase ", "parte ", "nível ", "classe ", "grupo ", "módulo ", "etapa ", "inciso ", "anexo ", "tabela "),
    *("figura ", "quadro ", "volume ", "tomo ", "seção ", "secção ", "fator ", "título "),
)
# Nouns before which a whole number is feminine, by their ending if several; before all others it stays masculine.
_FEMININE_NOUN = re.compile(
    r" (?:(?:aluna|amiga|aula|blusa|bola|caixa|cama|camisa|carta|casa|cerveja|cidade|coisa|criança|dica|empresa|escola"
    r"|etapa|família|fatia|festa|foto|garota|garrafa|gota|hora|ideia|irmã|laranja|letra|libra|linha|loja|menina|mesa"
    r"|moça|moeda|mãe|música|noite|nota|obra|palavra|parte|pera|pergunta|pessoa|peça|pizza|planta|porta|prova|página"
    r"|quadra|receita|regra|resposta|rua|sala|semana|tarde|tia|tonelada|unidade|vaga|vida|vila|xícara|árvore)s?"
    r"|(?:colher|flor|mulher|vez)(?:es)?|(?:mensage|viage)(?:m|ns)|(?:ediç|opç|quest|regi|reuni)(?:ão|ões)"
    r"|(?!(?:corações|brasões|blusões|bolsões|calções|tições)\b)\w+(?:[çs]ões|dades|agens)"
    r"|(?!(?:dias|mas|[dn]?as|pelas|d?elas|apenas|todas|muitas|poucas|várias|algumas|certas|diversas|outras|novas|[mst]inhas"
    r"|[st]uas|[nv]ossas|n?e[st]tas|n?essas|caras|colegas|[gm]e?gas|gigas|pandas|camaradas|atlas|paraquedas"
    r"|\w*(?:ígena|cida|arca|[rpbm]ata|ita|[ltr]ima|auma|[gsr]ma|[aeo]ma|ista|eta|[mspt]?apa)s)\b)\w{2,}as"
    r")\b",
    re.IGNORECASE,
)
_OF_DATE = re.compile(rf"\b(?:dia|em|desde|ano|ano de|(?:{'|'.join(_MONTHS)}) de) \Z", re.IGNORECASE)
_FEMININE_BEFORE = re.compile(
    r"\b(?:às?|as|[dn]as|pelas|n?essas|n?estas|aquelas|outras|suas|minhas) \Z", re.IGNORECASE
)
_SIZED = re.compile(r"\b(?:fotos?|escala|jornada) \Z", re.IGNORECASE)  # *foto 3x4*, and no score
_WORD_AFTER = re.compile(" [a-zà-ÿ(]")
_SIGN = r"US?\$|R\$|(?<![A-Za-z])\$|€|£|¥"
_PATTERN = re.compile(
    r"\b(?P<day>1º|[12]\d|3[01]|0?[1-9])(?P<sign>[/.-])(?P<month>1[0-2]|0?[1-9])(?P=sign)(?P<year>\d{4}|(?<=/)\d\d)\b"
    rf"|(?:(?<=\b[Dd]ia )|(?<=\b[Aa]té )(?!{_FRACTION})|(?<=\b[Dd]esde )|(?<=\b[Ee]m )(?=\d\d/\d\d)"
    rf"|{_NO_SHARE}(?<!essão )(?<!ágina )(?<!emporada )(?<![\w/,.])"
    r"(?=0[1-9]/\d\d|[12]\d/0|3[01]/0|1[3-9]/1|[23]\d/1)(?=..?/(?:0[1-9]|1[0-2])(?![\w/]|[.,]\d)))"
    r"(?P<day_of_year>1º|[12]\d|3[01]|0?[1-9])/(?P<month_alone>1[0-2]|0?[1-9])\b(?![/,.]\d)"
    r"|(?<![\w/,.])(?:(?P<whole>\d{1,3})(?: (?=\d/)| ?(?=[½⅓⅔¼¾])))?"
    rf"(?P<fraction>[½⅓⅔¼¾]|{_FRACTION})"
    r"(?P<half>(?= \w*[ra]s?\b))?"
    r"|(?<![\w,.])(?P<goals>\d{1,4})x(?P<others>\d{1,4})(?![\w,.]\d|\w)"
    rf"|\b{_TIMES}"
    r"|(?<![\w.])(?P<digits>\d{5}-\d{3,4}|(?!(?:1[5-9]|20)\d\d-(?:1[5-9]|20)\d\d)\d{4}-\d{4}|0800[ -]\d{3}[ -]\d{4}"
    r"|\d{3}\.\d{3}\.\d{3}-\d\d|\d\d\.\d{3}\.\d{3}(?:/\d{4}-\d\d|-\d))\b"  # telephones, streets, taxpayers
    rf"|\b(?!(?:(?<=\bEU )|(?<=\bNÃO )|(?<=\bQUE ))VI\b)(?P<roman>{ROMAN})\b"  # EU VI is a verb
    r"|\b(?P<ordinal>(?!0+\D)\d{1,3})"
    r"(?:\.?(?P<gender>[ºª])(?!(?:(?<=\d\dº) )?[CF]\b)|(?P<letter>[oa])(?:\.(?= [a-zà-ÿ])|\b))"
    r"|(?P<minus>(?<![\w)%°º€])[-−–])?(?:"
    rf"(?P<currency>{_SIGN})\s?(?P<minus_amount>[-−])?(?P<amount>{_NUMBER})(?:\s?(?P<scale>{_SCALES})\b)?"
    rf"|(?P<amount_first>{_NUMBER})(?:\s?(?P<scale_last>{_SCALES})\b)?\s?(?P<currency_last>[€£]|(?:US|R)\$(?!\s?\d))"
    rf"|(?P<number>{_NUMBER})(?: (?P<scale_alone>mil|mi|bi|tri)\b"
    r"|\s?(?P<unit>%|° ?[CF]\b|º[CF]\b|(?<=\d\d)º [CF]\b|°"
    r"|(?:(?i:km/[hl]|m/s|km[²2]|cm[²³23]|mm[²2]|m[²³23]|[kcm]m|kg|ml|min|mAh|rpm|bpm)|cv|[kmgt]b|ha|kWh?|mg(?:/d[lL])?|kcal|cl"
    r"|dB|Mbps|[kMG]?Hz|[mglhHxLVW]|(?<= )[ts])\b))?)"
)
_ISO_DATE = re.compile(r"\b(\d{4})-(1[0-2]|0[1-9])-([12]\d|3[01]|0[1-9])\b")
_SPACED_THOUSANDS = re.compile(r"(?<=\d)[\u00a0\u202f](?=\d{3}(?!\d))")
# Beside a sign of a currency, spaces are those of thousands, as in Portugal; in other numbers only before 000.
_SPACED_AMOUNT = re.compile(
    rf"(?:{_SIGN})\s?\d{{1,3}}(?: \d{{3}})+(?! ?\d)"
    r"|(?<![\w.,$€£])(?<!\d )\d{1,3}(?: \d{3})+(?=(?:,\d+)?\s?€)"
)
_HOURS = re.compile(r"(?<=\d)(\s?h)(?:rs?|s)\b", re.IGNORECASE)
_HEIGHT = re.compile(r"\b([12])m(\d\d)\b")
_PER = re.compile(r"(?<=[\d€])/(kg|[glLh]|km|m[²2]|hora|dia|noite|semana|mês|ano|pessoa|unidade|quilo|litro|metro)\b")
# Numbers of telephones and of streets in Portugal.
_DIGITS_OF_PORTUGAL = re.compile(
    r"(?<![\w.,$€£¥-])(?<![$€£¥] )(?:\d{4}-\d{3}|[29]\d\d ?\d{3} ?\d{3})(?![\w,-]|\.\d| \d| ?[$€£%])"
)
_BEFORE = [
    (re.compile(r"(?<!\d)(?<!\d )\b[Kk]m (?=\d)"), "quilômetro "),
    (re.compile(r"\bN[oO]\. ?(?=\d)"), "número "),
    (re.compile(r"(?<=[a-zà-ÿ] )(\d\d?) x (\d\d?)(?= [A-ZÀ-Ý])"), r"\1x\2"),  # Flamengo 2 x 1 Vasco
    (re.compile(r"(?<=[Ee]scala )(\d+):(?=\d)"), r"\1 para "),
    (
        re.compile(
            rf"(?<=\d)°(?= (?:andar|ano|bimestre|colocado|de (?:{'|'.join(_MONTHS)})|dia|lugar|semestre|turno)\b)"
        ),
        "º",
    ),
    (re.compile(r"(?<=\d) ?\+ ?(?=\d)"), " mais "),
    (re.compile(r"(?<![^\s(])\+(?=\d)"), "mais "),
    (re.compile(r"(?<=\d) ?= ?(?=\d)"), " é igual a "),
    (re.compile(r"(?<=\d) × (?=\d)"), " vezes "),
    (re.compile(r"(?<=\d) ÷ (?=\d)"), " dividido por "),
]
# Units without a number; of one if these words precede: *o preço do kg*, *milhões de km*.
_LONE_UNIT = re.compile(r"(?<![\w/.,])(?<!\d )(?:k?m²|m³|[kc]m|kg|ml)(?![\w/]| ?\d)")
_OF_ONE = re.compile(r"\b(?:[dn]?o|ao|por|cada|um|meio|(?<!ões )(?<!lhão )(?<!lhares )(?<!enas )de) \Z", re.IGNORECASE)
_GROUPS = re.compile(r"(?<![\w.,/:+-])(?<!\d )\d{1,3}(?: 000)+(?!\w|[.,-]\d| \d)")
_MASCULINE = re.compile(r"\b(?:um|dois|(\w+ent)os)\b(?!.*(?:lhão|lhões|lião|liões))")


def read_numbers(text: str, language: str) -> tuple[str, list[str]]:
    """Return a text with its numbers, dates, times, amounts and measures in words.

    Args:
        text: in Portuguese.
        language: `"pt_BR"` or `"pt"`, as num2words has them.

    Returns:
        The text, and the numbers that stay as they are because num2words is not installed.
    """
    if not _PATTERN.search(text) and not _LONE_UNIT.search(text):
        return text, []
    if find_spec("num2words") is None:
        return text, [found[0] for found in _PATTERN.finditer(text)]
    text = _SPACED_THOUSANDS.sub(".", _ISO_DATE.sub(r"\3/\2/\1", text))
    text = _HOURS.sub(r"\1", text)
    for sign, name in _BEFORE:
        text = sign.sub(name if language == "pt_BR" else name.replace("ô", "ó"), text)
    text = _SPACED_AMOUNT.sub(lambda found: re.sub(r"(?<=\d) ", ".", found[0]), text)
    text = _GROUPS.sub(lambda found: found[0].replace(" ", "."), text)
    text = _HEIGHT.sub(r"\1 m e \2", text)
    text = _PER.sub(lambda found: f" por {_UNITS.get(found[1].lower(), found[1])}", text)
    if language == "pt":
        text = _DIGITS_OF_PORTUGAL.sub(lambda found: " ".join(re.sub(r"\D", "", found[0])), text)

    def replace(found: re.Match[str]) -> str:
        start, end = found.span()
        joins = str.isalnum if found["ordinal"] else is_joint  # `2ª-feira` is one word
        before, after = joins(text[max(0, start - 1) : start]), joins(text[end : end + 1])
        return " " * before + _in_words(found, language) + " " * after

    return _name_lone_units(_PATTERN.sub(replace, text), language), []


def is_joint(sign: str) -> bool:
    """Return whether a sign would make one word of what is before it and what is after it."""
    return sign.isalnum() or sign == "-"


def _in_words(found: re.Match[str], language: str) -> str:
    from num2words import num2words

    def cardinal(number: int) -> str:
        return num2words(number, lang=language).replace(",", "")

    def ordinal(number: int) -> str:
        return num2words(number, to="ordinal", lang=language)

    minus = "menos " * bool(found["minus"] or found["minus_amount"])
    if currency := (found["currency"] or found["currency_last"] or "").replace("U$", "US$"):
        number, scale = found["amount"] or found["amount_first"], found["scale"] or found["scale_last"]
        scale = scale and _name_scale(scale, number, language)
        amount = _read_amount(number, "US$" if currency == "$" else currency, scale, cardinal)
        return minus + (amount.replace("centavo", "cêntimo") if (language, currency) == ("pt", "US$") else amount)
    if fraction := found["fraction"]:
        is_half = fraction in ("1/2", "½") and found["half"] is not None
        words = "meia" if is_half else _FRACTIONS.get(fraction) or _name_fraction(fraction, cardinal, ordinal)
        whole = found["whole"] and cardinal(int(found["whole"]))
        return f"{_feminine(whole) if is_half else whole} e {words}" if whole else words
    if found["goals"]:
        sides = found["goals"], found["others"]
        is_score = (
            len("".join(sides)) == 2
            and sides != ("4", "4")
            and not _SIZED.search(found.string, max(0, found.start() - 8), found.start())
        )
        return f" {'a' if is_score else 'por'} ".join(_read_digits(each, cardinal, 4) for each in sides)
    if month := found["month"] or found["month_alone"]:
        day = int((found["day"] or found["day_of_year"]).rstrip("º"))
        date = f"{'primeiro' if day == 1 else cardinal(day)} de {_MONTHS[int(month) - 1]}"
        year = found["year"] and re.sub(r"\A(?=0\d\Z)", "20", found["year"])  # *12/03/05*
        return f"{date} de {cardinal(int(year))}" if year else date
    if found["digits"]:
        return " ".join(cardinal(int(digit)) for digit in found["digits"] if digit.isdigit())
    if found["hours"]:
        hours = f"{_feminine(cardinal(int(found['hours'])))} hora{'s' * (int(found['hours']) > 1)}"
        minutes, seconds = int(found["minutes"] or 0), int(found["seconds"] or 0)
        if seconds:
            parts = [
                f"{cardinal(n)} {name}{'s' * (n != 1)}" for n, name in ((minutes, "minuto"), (seconds, "segundo")) if n
            ]
            return " e ".join([" ".join([hours, *parts[:-1]]), parts[-1]])
        return f"{hours} e {cardinal(minutes)}" if minutes else hours
    if found["roman"]:
        number = _read_roman(found["roman"])
        text, (start, end) = found.string, found.span()
        article = _ARTICLE.search(text, max(0, start - 8), start) if _NAME.match(text, end) else None
        is_counted = number > 10 or text[max(0, start - 12) : start].lower().endswith(_COUNTED)
        words = cardinal(number) if is_counted and not article else ordinal(number)
        is_feminine = (
            (article and article["feminine"]) or text.startswith(" Guerra ", end) or text.endswith(_QUEENS, 0, start)
        )
        return re.sub(r"o\b", "a", words) if is_feminine else words
    if found["ordinal"]:
        words = ordinal(int(found["ordinal"]))
        return re.sub(r"o\b", "a", words) if found["gender"] == "ª" or found["letter"] == "a" else words
    number, unit, text, (start, end) = found["number"], found["unit"], found.string, found.span()
    if unit or _WORD_AFTER.match(text, end) or text.endswith(("dia ", "Dia "), 0, start):
        number = re.sub(r"\A0(?=[1-9]\Z)", "", number)  # *05 de maio*
    words = minus + _read_number(number, cardinal)
    is_date = _OF_DATE.search(text, max(0, start - 14), start) is not None and len(number) in (1, 2, 4)
    agrees = (not is_date and _FEMININE_NOUN.match(text, end)) or _FEMININE_BEFORE.search(
        text, max(0, start - 10), start
    )
    if unit in ("h", "H", "x", "t", "kcal", "rpm") or ("," not in number and not unit and agrees):
        words = _feminine(words)
    if scale := found["scale_alone"]:
        one_thousand = number == "1" and scale == "mil"
        return minus + "mil" if one_thousand else f"{words} {_name_scale(scale, number, language)}"
    return f"{words} {_name_unit(unit, number, language)}" if unit else words


def _name_fraction(fraction: str, cardinal: Callable[[int], str], ordinal: Callable[[int], str]) -> str:
    parts, whole = map(int, fraction.split("/"))
    return f"{cardinal(parts)} {ordinal(whole)}{'s' * (parts > 1)}"


def _name_lone_units(text: str, language: str) -> str:
    def name(found: re.Match[str]) -> str:
        is_one = _OF_ONE.search(text, max(0, found.start() - 10), found.start())
        return _name_unit(found[0], "1" if is_one else "2", language)

    return _LONE_UNIT.sub(name, text)


def _read_roman(digits: str) -> int:
    values = [{"X": 10, "V": 5, "I": 1}[digit] for digit in digits]
    return sum(-value if value < after else value for value, after in zip(values, [*values[1:], 0]))


def _divide(number: str) -> tuple[str, str, str]:
    """Return the digits before and after the sign that separates a number, and the sign's name."""
    is_point = "," not in number and not re.fullmatch(_THOUSANDS, number)
    whole, _, fraction = number.partition(".") if is_point else number.replace(".", "").partition(",")
    return whole, fraction, "ponto" if is_point else "vírgula"


def _read_number(number: str, cardinal: Callable[[int], str]) -> str:
    whole, fraction, sign = _divide(number)
    is_amount = number != whole or whole.endswith("000")  # not a telephone or a taxpayer's number
    words = _read_digits(whole, cardinal, _MOST_DIGITS if is_amount else 8)
    return f"{words} {sign} {_read_digits(fraction, cardinal, 2)}" if fraction else words


def _read_digits(digits: str, cardinal: Callable[[int], str], most: int) -> str:
    """Return digits as a number in words or, if they are more, or begin with 0 as in telephones, one by one."""
    one_by_one = digits[0] == "0" or len(digits) > most
    return " ".join(cardinal(int(each)) for each in digits) if one_by_one else cardinal(int(digits))


def _read_amount(amount: str, currency: str, scale: str | None, cardinal: Callable[[int], str]) -> str:
    one, several, hundredth = _CURRENCIES[currency]
    agree = _feminine if one == "libra" else str
    whole, cents, _ = _divide(amount)
    whole = re.sub(r"\A0(?=[1-9]\Z)", "", whole)
    if scale == "mil":
        return f"{'' if amount == '1' else agree(_read_number(amount, cardinal)) + ' '}mil {several}"
    if scale:
        return f"{_read_number(amount, cardinal)} {scale} de {several}"
    if len(cents) not in (0, 2):
        return f"{agree(_read_number(amount, cardinal))} {several}"
    parts = []
    if whole.strip("0") or not cents.strip("0"):
        words = agree(_read_digits(whole, cardinal, _MOST_DIGITS))
        of = " de" if re.search(r"(?:lhão|lhões|lião|liões)$", words) else ""
        parts.append(f"{words}{of} {one if whole == '1' else several}")
    if cents.strip("0"):
        hundredths = "pence" if hundredth == "péni" else f"{hundredth}s"
        parts.append(f"{cardinal(int(cents))} {hundredth if int(cents) == 1 else hundredths}")
    return " e ".join(parts)


def _name_scale(scale: str, number: str, language: str) -> str:
    """Return the name of a short scale; numbers below 2 have the singular, such as *1,5 milhão*."""
    names = _SHORT_SCALES[language].get(scale, (scale, scale))
    return names[_divide(number)[0] not in ("0", "1")]


def _name_unit(unit: str, number: str, language: str) -> str:
    unit = unit.replace(" ", "")
    name = _UNITS[unit if unit in _UNITS else unit.lower()]
    if language == "pt":
        name = name.replace("ô", "ó")
    if unit in ("%", "kb", "mb", "gb", "tb") or _divide(number)[0] in ("0", "1"):
        return name
    one, por, other = name.partition(" por ")
    return " ".join(map(_plural, one.split())) + por + other


def _plural(word: str) -> str:
    """Return the plural of a part of the name of a unit."""
    for ending, plural in (
        ("heit", "heit"),
        ("tz", "tz"),
        ("z", "zes"),
        ("el", "éis"),
        ("-hora", "s-hora"),
        ("ão", "ões"),
    ):
        if word.endswith(ending):
            return word.removesuffix(ending) + plural
    return f"{word}s"


def _feminine(words: str) -> str:
    """Return a number in words as it is before a feminine noun; millions have a gender of their own."""
    return _MASCULINE.sub(lambda found: {"um": "uma", "dois": "duas"}.get(found[0]) or f"{found[1]}as", words)
