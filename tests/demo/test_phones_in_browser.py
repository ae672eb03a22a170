"""The page writes the phones that `phonemize` writes, and shows them as one types."""

import re
import warnings
from itertools import product

import pytest
from playwright.sync_api import expect

from atenta import Phonemizer

NEAR = 0.03  # two builds of onnxruntime may round a number of an int8 model up and down, which doubtful ones show
READ_ALL = """async ([texts, variants]) => {
  const phonemizer = await (await import("./phonemizer.js")).loadPhonemizer(), found = [];
  for (const variant of variants) for (const text of texts) found.push(await phonemizer.read({ text, variant }));
  return found;
}"""
TEXTS = [
    "Não é fácil: eu gosto de café, mas amanhã vou à praia.",
    "casa sede cadas de-de a e de Sede CASA deca sadeca caseca dacesa",
    "deixou-os, vendê-la, chama-nos; dir-me-á, fi-lo",
    "Disse-me que o guarda-chuva é d’água, d'água; sim -a a- a--b a-a'a pré-natal pós-guerra-fria",
    *(
        "",
        "a",
        "\n",
        " …",
        "e\u0301 acao nao\u0303",
        "a\r\nnao\r\n",
        "as BRs, a BR-101 e CPIs em PT-SP; 5G, 60 W, Müller, agüentar, TVs/CDs, governo e acordo",
        "\ufeffnao",
        "a\x1cacao nao\u0085e\u2028voce \xa0la",
    ),
    "O Sr. Silva, a Dra. Ana & cia., nº 3: R$ 1,50 ETC. às 14h30, p. ex. o ſr. e a SRA.",
    "a TV e o CPF da ONU no século XIX, Pedro II, o DVD e a VX",
    "no séc. V, no século I, no Capítulo X; o IBGE, nº3, art.5, 80 KM e a v1.0",
    "D. Pedro e D. Ana em S. Paulo, C. S. Lewis: a tv, mp3, G20, 4K, H2O c/ açúcar, q n sei, hmm, R$5, 20KM, p. m.",
    "Kelly, shopping, Sophia, Bangladesh, Wagner, rock, links, Wesley, whisky, Sheila, Neymar, kiwi e facebookk",
    "2 TB da CIA., a Cia. em Cuiabá, MT, o Pe. João, mt bom, R$ 5/L e 12 km/L; AP. e ap., HIV e IA",
    "piñata über Søren жизнь 中文 😀 ½ a² ² ﬁ İstanbul ΑΣ ß",
    f"a {78 * 'a'} {75 * 'a'} {40 * 'a'}",
    "o_gosto gosto3 3gosto ٣ 12.345",
    "letra z, plano s, P2P, copo d'água, Maria I, I Guerra Mundial, 👩\u200d👧",
    "contato@empresa.com.br e www.gov.br/acao, https://uol.com/a-b_c; e facil.com isso, fim.Nao",
    "o autor¹ disse, CO₂, x², CD's e TV’s etc. EU IA, QUE IA e a IA; CDs, my sky, dry",
    "Henrique V, D. José I, Maria V. Dias, a V Semana, inciso X. E fim etc.\nPq. Ibirapuera, p. 45, 25° C e cia.",
    "Pq. Tietê, Jd. São Paulo, o Dr.\nSilva, 8 HRS, no século V. Roma; Av.\n\nFim",
    "guarda\u2011chuva so\u00adpa a\u0327gua \u0301 Straße",
]


@pytest.fixture(scope="module")
def phonemizer(phones):
    return Phonemizer.from_pretrained(phones)


@pytest.fixture(autouse=True)
def without_num2words(monkeypatch):
    """The page has no num2words either: numbers stay as they are."""
    monkeypatch.setattr("atenta.phonemization.numbers_in_words.find_spec", lambda name: None)


def read(phonemizer, text, variant):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numbers and unknown letters, which stay
        (found,) = phonemizer.read([text], variant, n_best=3)
    return found


def test_texts_are_read_as_in_python(run_script, phonemizer):
    given = product(("br", "pt"), TEXTS)
    for (variant, text), of_page in zip(given, run_script(READ_ALL, [TEXTS, ["br", "pt"]]), strict=True):
        expected = read(phonemizer, text, variant)
        assert of_page["gaps"] == [*expected.gaps]
        assert [(each["word"], each["source"]) for each in of_page["words"]] == [
            (each.word, each.source) for each in expected.words
        ]
        for shown, word in zip(of_page["words"], expected.words):
            compare(shown, word)


def compare(shown, word):
    """Compare the readings of a word, of which two that are as probable may change places."""
    shares = {tuple(each["phones"]): each["confidence"] for each in shown["readings"]}
    assert [*shares.values()] == sorted(shares.values(), reverse=True)
    for reading in word.readings:
        assert shares.get(reading.phones, min(shares.values())) == pytest.approx(reading.confidence, abs=NEAR), word
    best = [reading.confidence for reading in word.readings[:2]]
    if len(best) == 1 or (best and best[0] - best[1] > 2 * NEAR):
        assert next(iter(shares)) == word.readings[0].phones
        assert [tuple(phones) for phones in shown["ambiguous"]] == [*word.ambiguous]


def open_tab(open_page, **options):
    page = open_page(**options)
    page.locator("#phones-tab").click()
    expect(page.locator("#sounds-counts")).to_contain_text("21 words")
    return page


def type_text(page, phonemizer, text, variant):
    """Type a text into the emptied box, and wait until its phones are there."""
    page.locator("#said").fill("")
    page.locator("#said").press_sequentially(text)
    expect(page.locator("#sounds")).to_have_text(read(phonemizer, text, variant).join(punctuation=True))


def test_phones_appear_as_one_types_in_both_variants(open_page, phonemizer):
    page = open_tab(open_page, permissions=["clipboard-read", "clipboard-write"])
    text = "A casa, de 12 cadas!"
    type_text(page, phonemizer, text, "br")
    expect(page.locator("#sounds .unread")).to_have_text("12")
    expect(page.locator("#sounds-counts")).to_have_text(
        re.compile(r"^5 words · \d doubtful · 0 with two readings · 1 not read · [\d.,]+ [mµ]s$")
    )
    page.get_by_role("button", name="Portugal").click()
    in_portugal = read(phonemizer, text, "pt").join(punctuation=True)
    expect(page.locator("#sounds")).to_have_text(in_portugal)
    page.locator("#copy-sounds").click()
    expect(page.locator("#copy-sounds")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == in_portugal


def test_both_readings_of_a_homograph_are_listed_and_one_is_chosen(open_page, phonemizer):
    page = open_tab(open_page)
    page.get_by_role("button", name="Portugal").click()
    type_text(page, phonemizer, "a sede.", "pt")
    shown = read(phonemizer, "a sede.", "pt").words[1]
    both = ["".join(phones) for phones in shown.ambiguous]
    now = "".join(shown.readings[0].phones)
    other = next(each for each in both if each != now)
    mark = page.locator("#sounds .mark[data-two]")
    mark.focus()
    options = page.locator("#alternatives").get_by_role("option")
    assert {*both, now} <= {text.split()[0] for text in page.locator("#alternatives .spelling").all_text_contents()}
    expect(page.locator("#alternatives").get_by_role("option", selected=True)).to_contain_text(now)
    options.filter(has_text=other).first.click()
    expect(mark).to_have_text(other)
    page.locator("#said").press("Home")
    page.locator("#said").press_sequentially("casa, ")
    expect(page.locator("#sounds .mark[data-chosen]")).to_have_text(other)
    page.get_by_role("button", name="Português").click()
    expect(page.get_by_role("tab", selected=True)).to_have_text("Fones")
    expect(mark).to_have_text(other)
