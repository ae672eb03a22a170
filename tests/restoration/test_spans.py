"""Protected spans and variants of Portuguese by example, and windows as a partition of any text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atenta.restoration.spans import VARIANTS, cut_windows, protected_spans

PROTECTED = [
    "https://exemplo.com.br/promocao?nao=1",
    "http://a.pt",
    "www.acao.org/ate-ja",
    "joao.silva+lista@correio.exemplo.pt",
    "@joao_silva",
    "#promocao",
    "`nao_mude`",
    "uol.com.br",
    "gov.pt/acao",
    "ACAO.COM.BR",
    "relatorio_acao.csv",
    "acao.tsv",
    "acao.ipynb",
    "```python\nacao = `nao`\n```",
    "{usuario}",
    "{acao.nome:>10}",
    "${acao}",
    "{{ acao }}",
    "%(nao)s",
    "/home/acao/instrucoes",
    "./acao",
    "../acao/nao",
    "~/instrucoes",
    "docs/instrucao/",
    "docs/instrucao/acao.md",
    "../docs.d/acao.py",
    r"C:\Users\joao",
    "C:/Users/joao/acao",
    r"\\servidor\publico",
    r"..\acao",
    r"%APPDATA%\publico",
    "wa.me/acao",
    "bit.ly:443/acao",
    "localhost:8000/acao",
    "192.168.0.1/acao",
    "legenda_acao.srt",
    "&ccedil;",
    "&#233;",
    "2.5e-3",
    "1,5E10",
]
FREE = [
    "a acao",
    "nao.",
    "e-mail",
    "C#",
    "R$ 35,90",
    "10h30",
    "sim.Nao",
    "fim. Amanha",
    "1.000,00",
    "`",
    "` e `",
    "facil.com isso",
    "e/ou",
    "sim/nao",
    "musica/video/acao",
    "sim / nao",
    "10/12/2020",
    "{maca, limao}",
    "100% (nao)",
    r"\item acao",
    r"a \\ nao",
    r"fim.\nnao",
    "a:b",
    "Silva & Filhos; e",
    "Historia&Memoria;",
    "fim.mas/ou",
    "situacao.ele/ela",
    "10:30/11:00",
    "2e",
    "etc./nao",
    "km/h.A",
]


@pytest.mark.parametrize("span", PROTECTED)
@pytest.mark.parametrize("around", ["{}", "veja {} ja", "({})", "“{}”", "{}, e tambem", "{}\nnao"])
def test_what_is_written_for_machines_is_protected(span, around):
    text = around.format(span)
    spans = list(protected_spans(text))
    start = text.index(span)
    assert len(spans) == 1
    assert text[spans[0][0] : start].strip(".-") == ""
    assert spans[0][1] >= start + len(span)
    assert not set(text[start + len(span) : spans[0][1]]) & set(" \n”abcdefghijklmnopqrstuvwxyz")


@pytest.mark.parametrize("before", ["...", "1.", "- ", "-", "…"])
@pytest.mark.parametrize("span", ["http://acao.xyz/a", "www.acao.xyz", "acao.com.br", "a@acao.com"])
def test_signs_before_an_address_do_not_hide_it(before, span):
    text = before + span
    ((start, end),) = protected_spans(text)
    assert start <= len(before)
    assert end == len(text)


def test_a_name_ends_with_its_sentence():
    assert list(protected_spans("@joao.Entao")) == [(0, 5)]


@pytest.mark.parametrize("text", FREE)
def test_other_text_is_not(text):
    assert list(protected_spans(text)) == []


@pytest.mark.parametrize(
    "run",
    [
        "a",
        "a.",
        "a-",
        "`",
        "@",
        "#",
        "a@",
        "http:",
        "a.com-",
        "a/",
        "/",
        "./",
        "{",
        "{a",
        "~/",
        "\\",
        "a\\",
        "%a%",
        "C:/",
        "&a",
        "1e",
        "1.",
        "a.aa",
        "a.aa:1",
    ],
)
def test_a_long_run_is_read_once(run):
    """In quadratic time, it would not end before the suite's timeout."""
    list(protected_spans(f"{run * 1_000_000} #a"))  # without a sign such as #, the text would only be searched for one


@given(st.integers(0, 3000), st.integers(1, 400))
def test_windows_partition_the_text(length, size):
    windows = cut_windows(length, size)
    overlap = min(64, size // 2)
    decided = [place for window in windows for place in range(window.first, window.last)]
    assert decided == list(range(length))
    for start, end, first, last in windows:
        assert 0 <= start <= first <= last <= end <= length
        assert end - start == min(size, length)
        # There is context on both sides of what is decided, but at the ends of the text.
        assert first == 0 or first - start >= overlap // 2
        assert last == length or end - last >= overlap // 2


def test_windows_hand_over_in_the_middle_of_their_overlap():
    assert cut_windows(10, 6) == [(0, 6, 0, 5), (3, 9, 5, 7), (4, 10, 7, 10)]
    assert cut_windows(400, 254) == [(0, 254, 0, 200), (146, 400, 200, 400)]
    assert cut_windows(6, 6) == [(0, 6, 0, 6)]
    assert cut_windows(0, 6) == [(0, 0, 0, 0)]


@pytest.mark.parametrize(
    ("variant", "text"),
    [
        ("br", "falAmos do prEmio acadEmico, da fEmea e do estOmago; amostra, contem, penso, nos"),
        ("pt", "falamos do prEmio acadEmico, da femea e do estomago, da semola e da semea; que nos demos"),
        ("pt", "fEmur, sEmen, gEmea, colOnia, ontem, tempo, e no"),
    ],
)
def test_where_variants_may_differ(variant, text):
    typed = text.lower()
    for given_text in (typed, typed.upper()):
        places = [match.start() for match in VARIANTS[variant].places.finditer(given_text)]
        assert [place for place, letter in enumerate(text) if letter.isupper()] == places
