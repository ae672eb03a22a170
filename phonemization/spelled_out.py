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
    **{
        "nº": "número",
        "n.º": "número",
        "n.°": "número",
        "etc.": "etcétera",
        "&": "e",
        "§": "parágrafo",
        "§§": "parágrafos",
    },
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
    **{"drs.": "doutores", "dras.": "doutoras", "profs.": "professores", "profas.": "professoras", "arts.": "artigos"},
    **{"cds": "cê dês", "dvds": "dê vê dês", "tvs": "tê vês", "pcs": "pê cês", "phd": "pê agá dê", "ph": "pê agá"},
    **{"cnpq": "cê ene pê quê", "unb": "u ene bê", "s. exa.": "sua excelência", "v. sa.": "vossa senhoria"},
    **dict.fromkeys(("v. exa.", "v.exa.", "v. ex.ª"), "vossa excelência"),
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
    *((short, name, r"[A-ZÀ-Ý]\S+") for short, name in (("Pq", "parque"), ("Jd", "jardim"), ("Dep", "deputado"))),
    *((short, name, r"[A-ZÀ-Ý]\S+") for short, name in (("Cel", "coronel"), ("Sen", "senador"), ("Pr", "pastor"))),
    *(("p", "página", r"\d+"), ("pp", "páginas", r"\d+")),
)
# Initials with a vowel that are spelt all the same.
SPELT = (
    *("ABC", "ABNT", "ADN", "ADSE", "AGU", "AM", "API", "ATM", "AVC", "AWS", "BCE", "BNDES", "CEO", "CFO", "CGU"),
    *("CPI", "CPMI", "CPU", "DNA", "EAD", "EDP", "EPI", "ESPN", "EUA", "FBI", "FMI", "HBO", "HDMI", "HIV", "IA"),
    *("IBGE", "IBM", "ICMS", "IDH", "IMC", "IML", "IMT", "INPC", "INSS", "IOF", "IP", "IPCA", "IPI", "IPTU", "IPVA"),
    *("IRC", "IRS", "ISBN", "ISS", "ITBI", "MBA", "MMA", "NBA", "OAB", "OCDE", "OMC", "OMS", "RNA", "SUV", "TCU"),
    *("TDAH", "TI", "TRE", "TSE", "TVI", "UBS", "UE", "UFC", "UFMG", "UFPE", "UFPR", "UFRJ", "URL", "URSS", "USB"),
    *("UTI", "UV"),
)
# What is no abbreviation: in capitals an agency, states, a channel; and *pé* at the end of a sentence.
NO_ABBREVIATIONS = ("TB", "TD", "CIA.", "AP.", "D.C.", "MT", "MLK", "PE.", "GNT", "pe.")
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
SIGNS_OF_ADDRESSES = {"@": "arroba", ".": "ponto", "/": "barra", "-": "hífen", "_": "sublinhado", "+": "mais"}
_ADDRESS = re.compile(
    r"(?<![\w@.+-])(?:[\w.+-]+@(?:[\w-]+\.)+[a-z]{2,}|(?:https?://|www\.)[\w-]+(?:\.[\w-]+)+(?:/[\w./-]*\w)?"
    r"|(?:[\w-]+\.)+(?:com(?!\s+[a-zà-ÿ])|org|net|gov|edu|br|pt|io|app|dev)\b(?:/[\w./-]*\w)?)(?![\w@])"
)
_FOOTNOTE = re.compile("(?<=[^\\W\\d_]{3})[¹²³⁰⁴-⁹]+")
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_TEXT_END = re.compile(r"\s*\Z|[^\S\n]*\n\s*\n")
_SENTENCE_END = re.compile(r"\s*\Z|\s+[A-ZÀ-Ý]|[^\S\n]*\n\s*\n")
_LISTED = "|".join(re.escape(each) for each in sorted(ABBREVIATIONS, key=len, reverse=True))
_ABBREVIATION = re.compile(rf"(?<!\w)(?:{_LISTED})(?:(?!\w)|(?<=[.º§])(?=\d))", re.I)
_MEASURE = r"(?:(?<=\d)|(?<=\d ))(?:KM|KG|CM|MM|ML|H(?:R?S)?|[LVW])|(?<=/)[LH]"
_SOUNDS = "m*h+m+|m{2,}|(?!s\\b)p?s+h*t?|pf+|tsc|z{2,}|[bg]r+|k{2,}|(?:rs+)+|k[mg]|cm|ml"  # and units after no number
_VERB = r"(?:(?<=\bEU )|(?<=\bEL[EA] )|(?<=\bQUE )|(?<=\bNÃO ))IA"  # and not artificial intelligence
# Without a vowel they cannot be read as a word; not the R of R$, the C of °C and the D of D'Ávila.
_INITIALS = re.compile(
    rf"(?<![°º])(?<!\d° )(?<!\d\dº )(?<![^\W\d_])(?:(?<!\d)|(?=[BCDGKPT](?!\w)|[A-Z]{{2}}))"
    rf"(?!(?:{ROMAN}|{_MEASURE}|{_VERB})\b)"
    rf"(?:(?:{'|'.join(SPELT)}|[B-DF-HJ-NP-TV-Z]{{2,5}})(?:['’]?s)?|[B-DF-HJ-NP-TV-Z])(?![^\W\d_]|[$'’])"
    rf"|(?<![\w.'’@/-])(?<!\d )(?!(?:{_SOUNDS})\b)(?:[b-df-hj-np-tv-xz]{{2,5}}|[b-df-hj-np-tv-z])(?![^\W\d_]|[/'’@-])"
)
_TITLES = [(re.compile(rf"\b{each}\. (?=(?:{names})\b)"), f"{title} ") for each, title, names in TITLES]


def spell_out(text: str, language: str, known: Container[str] = ()) -> tuple[str, list[str]]:
    """Return a text with its numbers, dates, times, amounts, measures, abbreviations and initials in words.

    Whole numbers agree with frequent nouns and most that end in -as, -ções, -sões or -dades, and are masculine before
    all others. Roman ones up to X are ordinals, as of kings and centuries, but after *tipo*, *fase* and their like.
    Initials with a vowel, such as `ONU`, are left as words, but for some that are always spelt. The marks of footnotes
    are left out.

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
            letters = " ".join(LETTER_NAMES[each] for each in found[0].removesuffix(plural).rstrip("'’").upper())
            return " " * before + letters + plural + " " * after
        short = found[0].casefold()
        name = ABBREVIATIONS.get(short)  # re.IGNORECASE takes ı and İ for i
        if name is None or found[0] in NO_ABBREVIATIONS:
            return found[0]
        ends = (_SENTENCE_END if short in ("etc.", "a.c.", "d.c.") else _TEXT_END).match(text, end)
        return name + "." * (short.endswith(".") and ends is not None) + " " * after

    text = _FOOTNOTE.sub("", text.translate(_SUBSCRIPTS))
    text = _ADDRESS.sub(_name_signs, text)
    for pattern, title in _TITLES:
        text = pattern.sub(title, text)
    text = _ABBREVIATION.sub(expand, text)
    return read_numbers(_INITIALS.sub(expand, text), language)


def _name_signs(address: re.Match[str]) -> str:
    """Return an e-mail address or that of a page with its signs in words, without `https://`."""
    text = re.sub(r"\.br\b", ".bê erre", re.sub("https?://", "", address[0]))  # as a sound, *br* is not spelt
    return re.sub(r"[@./_+-]", lambda sign: f" {SIGNS_OF_ADDRESSES[sign[0]]} ", text)


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
