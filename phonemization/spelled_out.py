"""Portuguese texts in words, as they are read aloud: abbreviations and initials, and with them numbers."""

import re
from collections.abc import Container

from .numbers_in_words import ROMAN, is_joint, read_numbers
from .readings import plain_word

ABBREVIATIONS = {
    **{"sr.": "senhor", "sra.": "senhora", "srs.": "senhores", "sras.": "senhoras", "srta.": "senhorita"},
    **{"dr.": "doutor", "dra.": "doutora", "prof.": "professor", "profa.": "professora", "eng.": "engenheiro"},
    **{"av.": "avenida", "apto.": "apartamento", "tel.": "telefone", "pág.": "página", "págs.": "páginas"},
    **{"núm.": "número", "cia.": "companhia", "pça.": "praça", "rod.": "rodovia", "gen.": "general"},
    **{"lda.": "limitada", "ltda": "limitada", "cj.": "conjunto"},
    **{"nº": "número", "n.º": "número", "etc.": "etcétera", "&": "e", "§": "parágrafo", "§§": "parágrafos"},
    **dict.fromkeys(("p. ex.", "p.ex."), "por exemplo"),
    **{"séc.": "século", "cap.": "capítulo", "art.": "artigo", "fig.": "figura", "vol.": "volume"},
    **{"ltda.": "limitada", "s.a.": "ésse á", "jr.": "júnior", "gov.": "governador", "obs.": "observação"},
    **{"sta.": "santa", "sto.": "santo", "exmo.": "excelentíssimo", "exma.": "excelentíssima", "vs.": "versus"},
    **{"sr.ª": "senhora", "dr.ª": "doutora", "prof.ª": "professora", "eng.º": "engenheiro", "eng.ª": "engenheira"},
    **{"c/": "com", "p/": "para", "s/": "sem", "s/n": "sem número"},
    **{"sr": "senhor", "sra": "senhora", "dr": "doutor", "dra": "doutora", "etc": "etcétera", "vc": "você"},
    **{"vcs": "vocês", "tb": "também", "tbm": "também", "pq": "porque", "hj": "hoje"},
    **{"blz": "beleza", "msg": "mensagem", "td": "tudo", "bjs": "beijos", "vlw": "valeu", "flw": "falou"},
    **{"pfv": "por favor", "sdds": "saudades", "vdd": "verdade", "mlk": "moleque", "n°": "número"},
    **{"obg": "obrigado", "msm": "mesmo", "qnd": "quando", "qdo": "quando", "cmg": "comigo", "mto": "muito"},
    **{"mt": "muito", "gnt": "gente", "ngm": "ninguém", "dnv": "de novo", "kd": "cadê", "pe.": "padre"},
    **{"exa.": "excelência", "profª": "professora", "drª": "doutora", "srª": "senhora"},
    **{"dps": "depois", "fds": "fim de semana", "bj": "beijo", "tmj": "tamo junto"},
    **{"ap.": "apartamento", "bl.": "bloco", "co2": "cê ó dois", "h2o": "agá dois ó", "h1n1": "agá um ene um"},
    **{"ilmo.": "ilustríssimo", "ilma.": "ilustríssima", "a.c.": "antes de cristo", "d.c.": "depois de cristo"},
}
SINGLE_LETTERS = {"q": "que", "n": "não"}  # before a word; the n of a formula is one
# Initials of titles, the titles, and the names before which they are those.
TITLES = (
    ("D", "dom", "Afonso|Dinis|Duarte|Fernando|Henrique|João|José|Luís|Manoel|Manuel|Miguel|Pedro|Sancho|Sebastião"),
    ("D", "dona", "Amélia|Ana|Beatriz|Carlota|Catarina|Filipa|Inês|Isabel|Leonor|Leopoldina|Maria|Teresa"),
    ("S", "são", "Bento|Bernardo|Brás|Caetano|Domingos|Francisco|Gonçalo|João|Jorge|José|Lourenço|Mamede|Martinho"),
    ("S", "são", "Mateus|Miguel|Paulo|Pedro|Roque|Sebastião|Tiago|Tomé|Vicente"),
    ("(?:(?<=[NnDd]a )|(?<![^\n]))R", "rua", r"[A-Z]\S+|d[aeo]s? [A-Z]\S+"),
)
# Initials with a vowel that are spelt all the same.
SPELT = (
    *("ABC", "ABNT", "ADN", "AGU", "AM", "API", "AVC", "BCE", "BNDES", "CEO", "CFO", "CGU", "CPI", "CPU", "DNA"),
    *("EAD", "EDP", "EPI", "EUA", "FBI", "FMI", "HDMI", "HIV", "IA", "IBGE", "IBM", "ICMS", "IMC", "IML", "INSS"),
    *("IOF", "IP", "IPI", "IPTU", "IPVA", "IRS", "ISBN", "NBA", "OAB", "OMC", "OMS", "RNA", "SUV", "TCU", "TDAH"),
    *("TI", "TRE", "TSE", "TVI", "UBS", "UE", "UFC", "UFMG", "UFPE", "UFPR", "UFRJ", "URL", "URSS", "USB", "UTI"),
)
# What is no abbreviation: in capitals an agency, states, a channel; and *pé* at the end of a sentence.
NO_ABBREVIATIONS = ("TB", "CIA.", "AP.", "D.C.", "MT", "PE.", "GNT", "pe.")
LETTER_NAMES = {
    **{"A": "á", "E": "é", "I": "i", "O": "ó", "U": "u"},
    **{"B": "bê", "C": "cê", "D": "dê", "F": "efe", "G": "gê", "H": "agá", "J": "jota", "K": "cá", "L": "éle"},
    **{"M": "eme", "N": "ene", "P": "pê", "Q": "quê", "R": "erre", "S": "ésse", "T": "tê", "V": "vê", "W": "dáblio"},
    **{"X": "xis", "Y": "ípsilon", "Z": "zê"},
}
FOREIGN_U = "(?<![gq])ü|ü(?![eiéêí])"
# How foreign letters are read, one after the other, in words that have some: *Kelly*, *shopping*, *Sophia*.
FOREIGN_WORD = r"[kwy]|[pt]h|(?<!n)sh|([bdfglmnptvz])\1|(?<![^-])d'"
FOREIGN_LETTERS = (
    ("(?<![^-])d'", "d"),  # *d'água*
    *((r"([bdfgklmnptvz])(?=\1)", ""), ("ph", "f"), ("th", "t"), ("kh", "k")),
    *(("(?<!n)sh(?![aeiouyáéíóúâêôãõ])", "che"), ("(?<!n)sh", "ch")),
    *(("c?k(?=[eiyéêí])", "qu"), ("c?k(?=s?$)", "que"), ("c?k", "c")),
    *(("wh", "w"), ("^w(?=a(?:gn|lter|ld|nd)|[lr])", "v"), ("(?<=[aeiou])w(?![aeiouy])", "u")),
    *(("oo", "u"), ("ee", "i"), ("(?<=[bcdfghjlmnpqrstvxz])y$", "e"), ("y", "i")),
)
_LISTED = "|".join(re.escape(each) for each in sorted(ABBREVIATIONS, key=len, reverse=True))
_ABBREVIATION = re.compile(rf"(?<!\w)(?:{_LISTED})(?:(?!\w)|(?<=[.º§])(?=\d))", re.I)
_MEASURE = r"(?:(?<=\d)|(?<=\d ))(?:KM|KG|CM|MM|ML|[LVW])|(?<=/)[LH]"
_SOUNDS = "m*h+m+|m{2,}|(?!s\\b)p?s+h*t?|pf+|tsc|z{2,}|[bg]r+|k{2,}|(?:rs+)+|k[mg]|cm|ml"  # and units after no number
# Without a vowel they cannot be read as a word; not the R of R$, the C of °C and the D of D'Ávila.
_INITIALS = re.compile(
    rf"(?<![°º])(?<![^\W\d_])(?:(?<!\d)|(?=[BCDGKPT](?!\w)|[A-Z]{{2}}))(?!(?:{ROMAN}|{_MEASURE})\b)"
    rf"(?:(?:{'|'.join(SPELT)}|[B-DF-HJ-NP-TV-Z]{{2,5}})s?|[B-DF-HJ-NP-TV-Z])(?![^\W\d_]|[$'’])"
    rf"|(?<![\w.'’@/-])(?<!\d )(?!(?:{_SOUNDS})\b)[b-df-hj-np-tv-z]{{1,5}}(?![^\W\d_]|[/'’@-])"
)
_TITLES = [(re.compile(rf"\b{each}\. (?=(?:{names})\b)"), f"{title} ") for each, title, names in TITLES]


def spell_out(text: str, language: str, known: Container[str] = ()) -> tuple[str, list[str]]:
    """Return a text with its numbers, dates, times, amounts, measures, abbreviations and initials in words.

    Whole numbers agree with some eighty frequent nouns, and are masculine before all others. Roman ones up to X are
    ordinals, as of kings and centuries, but after *tipo*, *fase* and their like. Initials with a vowel, such as `ONU`,
    are left as words, but for some that are always spelt.

    Args:
        text: in Portuguese.
        language: `"pt_BR"` or `"pt"`, as num2words has them.
        known: abbreviations and initials that stay, as [`plain_word`] has them.

    Returns:
        The text, and the numbers that stay as they are because num2words is not installed.
    """

    def expand(found: re.Match[str]) -> str:
        if plain_word(found[0]).strip(".") in known:
            return found[0]
        start, end = found.span()
        before = is_joint(text[max(0, start - 1) : start])
        after = is_joint(text[end : end + 1]) and not re.match(r"-\d", text[end:])  # or BR-101 were minus 101
        if found.re is _INITIALS:
            if found[0] in SINGLE_LETTERS and text[end : end + 1] == " " and text[end + 1 : end + 2].islower():
                return SINGLE_LETTERS[found[0]]
            plural = "s" if found[0][:-1].isupper() and found[0].endswith("s") else ""
            letters = " ".join(LETTER_NAMES[each] for each in found[0].removesuffix(plural).upper())
            return " " * before + letters + plural + " " * after
        name = ABBREVIATIONS.get(found[0].casefold())  # re.IGNORECASE takes ı and İ for i
        return found[0] if name is None or found[0] in NO_ABBREVIATIONS else name + " " * after

    for pattern, title in _TITLES:
        text = pattern.sub(title, text)
    text = _ABBREVIATION.sub(expand, text)
    return read_numbers(_INITIALS.sub(expand, text), language)


def in_native_letters(word: str, variant: str) -> str:
    """Return a word as Portuguese would spell it, if it has letters that only foreign words have; else itself.

    The list under `br` has no such letters: *Becker* is *bequer*, *rock* is *roque*. The others have all but the ü of
    *Müller*; that of *agüentar*, an old spelling, is Portuguese and stays.
    """
    word = re.sub(FOREIGN_U, "u", word)
    if variant == "br" and re.search(FOREIGN_WORD, word):
        for letters, native in FOREIGN_LETTERS:
            word = re.sub(letters, native, word)
    return word
