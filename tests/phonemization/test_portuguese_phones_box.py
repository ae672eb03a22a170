"""The model that comes with the package: promised phones, stress, homographs, lexicons, and its figures."""

import json
import math
import re
from itertools import chain

import pytest

from atenta import phonemize
from atenta.phonemization.portuguese_words import INVENTORIES, PHONES_FOLDER, load_portuguese_phones
from atenta.phonemization.readings import STRESS, load_readings, read_lexicon
from atenta.recipes.samples.portuguese_phones import LISTS, read_list
from support.command import run
from support.wheels import ROOT

TEXT = "Não é fácil, amanhã vou à praia."
WORDS = ["não", "é", "fácil", "amanhã", "vou", "à", "praia"]
VARIANTS = pytest.mark.parametrize("variant", INVENTORIES)


def read(text, variant="br", **options):
    (found,) = load_portuguese_phones().read([text], variant, **options)
    return found


def best(text, variant="br"):
    """Return the phones of the best reading of each word."""
    return [word.readings[0].phones for word in read(text, variant).words]


@pytest.fixture(scope="module")
def unseen():
    """Words that no variant was trained on."""
    return [word for word in read_list(LISTS["br"], "test") if word.isalpha()][::20]


@pytest.mark.parametrize("language", ["en", "pt"])
def test_the_guide_promises_the_phones_of_the_package(language):
    guide = (ROOT / "docs" / language / "phones.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| (.+) \| (.+) \|$", guide, re.MULTILINE)
    single = re.compile("[^\\W\\d_\u02c8\u0361][\u0300-\u036f]*(?:\u0361.)?")
    promised = {
        variant: {part for part in re.split("[ ,;]+", phones) if single.fullmatch(part)} | {*re.findall("ˈ", accent)}
        for variant, accent, phones in rows
    }
    assert promised == INVENTORIES


@VARIANTS
def test_only_promised_phones_are_written(unseen, variant):
    assert load_portuguese_phones().variants == (*sorted(INVENTORIES),)
    for word in read(" ".join([*WORDS, *unseen]), variant).words:
        assert INVENTORIES[variant].issuperset(word.readings[0].phones), word


def test_words_that_are_listed_have_the_promised_phones():
    for (variant, word), known in load_readings(PHONES_FOLDER).items():
        assert INVENTORIES[variant].issuperset(chain(*known)), word


def test_a_sentence():
    assert phonemize("amanhã vou à praia") == "amãˈɲã ˈvow a ˈpɾayə"
    assert phonemize(TEXT, phone_separator=" ", word_separator=" | ").count(" | ") == len(WORDS) - 1
    for variant in ("br", "pt"):
        parted = phonemize(TEXT, variant).split(" ")
        assert parted == ["".join(phones) for phones in best(TEXT, variant)]
        assert phonemize(TEXT, variant, punctuation=True) == "{} {} {}, {} {} {} {}.".format(*parted)
    assert phonemize([TEXT, "", "casa"]) == [phonemize(TEXT), "", phonemize("casa")]
    assert phonemize("", punctuation=True) == ""


@VARIANTS
def test_stress_is_written_once_or_never(unseen, variant):
    closed = {word for (of, word), known in load_readings(PHONES_FOLDER).items() if of == variant and len(known) == 1}
    for word in read(" ".join(word for word in unseen if word not in closed), variant, n_best=3).words:
        assert {reading.phones.count(STRESS) for reading in word.readings} == {int(variant == "br")}, word
    assert [phones.count(STRESS) for phones in best("o menino de casa", "br")] == [0, 1, 0, 1]


@VARIANTS
def test_confidence_and_further_readings(unseen, variant):
    for word in read(" ".join(unseen), variant, n_best=4).words:
        shares = [reading.confidence for reading in word.readings]
        assert shares == sorted(shares, reverse=True)
        assert all(0 < share <= 1 for share in shares), word
        assert math.fsum(shares) <= 1 + 1e-6
        assert word.confidence == shares[0]
        assert len({reading.phones for reading in word.readings}) == len(shares)


def test_the_best_reading_does_not_depend_on_how_many_are_wanted(unseen):
    text = " ".join(unseen)
    for one, ranked in zip(read(text).words, read(text, n_best=3).words, strict=True):
        assert one.confidence == pytest.approx(ranked.confidence, abs=0.02)  # int8: the batch changes the last digits
        if one.confidence > 0.52:
            assert one.readings[0].phones == ranked.readings[0].phones


@pytest.mark.parametrize(("variant", "sixteen"), [("br", "dezesseis"), ("pt", "dezasseis")])
def test_numbers_are_read_out(variant, sixteen):
    found = read("Às 14h30, 16 pessoas: R$ 1,50.", variant)
    assert found.text == f"Às catorze horas e trinta, {sixteen} pessoas: um real e cinquenta centavos."
    assert phonemize("16", variant) == phonemize(sixteen, variant)


@pytest.mark.parametrize(
    ("word", "brazil", "portugal"),
    [
        ("disse-me", "ˈdʒisɪmɪ", "disɨmɨ"),
        ("pré-natal", "pɾɛnaˈtaw", "pɾɛnɐtal"),
        ("trata-se", "ˈtɾatəsɪ", "tɾatɐsɨ"),
        ("combinando-os", "kõbiˈnãdʊʊs", "kõbinɐ̃duuʃ"),
        ("vendê-la", "vẽˈdelə", "vẽdelɐ"),
        ("d'água", "ˈdaɡwə", "daɡwɐ"),
    ],
)
def test_neither_a_pronoun_after_a_verb_nor_a_prefix_is_stressed(word, brazil, portugal):
    assert (phonemize(word), phonemize(word, "pt")) == (brazil, portugal)


@pytest.mark.parametrize(
    ("word", "phones"),
    [
        ("gente", "ˈʒẽtʃɪ"),
        ("viagens", "viˈaʒẽỹs"),
        ("noites", "ˈnoytʃɪs"),
        ("primavera", "pɾimaˈvɛɾə"),
        ("foi", "ˈfoy"),
        ("honra", "ˈõxə"),
        ("caiu", "kaˈiw"),
        ("construiu", "kõstɾuˈiw"),
        ("juiz", "ʒuˈis"),
        ("leem", "ˈleẽỹ"),
        ("relacionam", "xelasiˈõnãʊ̃"),
        ("faremos", "faˈɾẽmʊs"),
        *(("exame", "eˈzãmɪ"), ("lixo", "ˈliʃʊ"), ("acadêmico", "akaˈdẽmikʊ"), ("criminosos", "kɾimiˈnɔzʊs")),
        *(("senador", "senaˈdox"), ("prejuízo", "pɾeʒuˈizʊ")),  # of which the list with stress makes o and ĩ
        *(("consequência", "kõseˈkwẽsiə"), ("linguiça", "lĩˈɡwisə"), ("alambique", "alãˈbikɪ")),
        *(("imagens", "iˈmaʒẽỹs"), ("serviço", "seɣˈvisʊ"), ("marrom", "maˈxõ"), ("pãozinho", "pãʊ̃ˈzĩɲʊ")),
        *(("empresas", "ẽˈpɾezəs"), ("cresceu", "kɾeˈsew"), ("fizeram", "fiˈzɛɾãʊ̃"), ("exato", "eˈzatʊ")),
        *(("terra", "ˈtɛxə"), ("impresso", "ĩˈpɾɛsʊ"), ("regresso", "xeˈɡɾɛsʊ"), ("marrons", "maˈxõs")),
        ("site", "ˈsaytʃɪ"),
        *(("linguagens", "lĩˈɡwaʒẽỹs"), ("garagem", "ɡaˈɾaʒẽỹ"), ("diligente", "dʒiliˈʒẽtʃɪ"), ("capaz", "kaˈpas")),
        *(("servir", "seɣˈvix"), ("leões", "leˈõỹs"), ("caminhos", "kaˈmĩɲʊs"), ("percepção", "pexsepˈsãʊ̃")),
        *(("dois", "ˈdoys"), ("sul", "ˈsuw"), ("tu", "ˈtu"), ("acontece", "akõˈtɛsɪ"), ("versão", "vexˈsãʊ̃")),
    ],
)
def test_what_the_spelling_and_other_lists_say_is_mended(word, phones):
    assert phonemize(word) == phones


@pytest.mark.parametrize(
    ("variant", "word", "phones"),
    [
        *(("br-wikipron", "você", "vose"), ("br-wikipron", "problema", "pɾoblẽmɐ"), ("br-wikipron", "não", "nɐ̃w̃")),
        *(("pt", "máximo", "masimu"), ("pt", "correto", "kuʁɛtu"), ("pt", "ação", "asɐ̃w̃"), ("pt", "ações", "asõj̃ʃ")),
        *(("pt", "maiores", "majɔɾɨʃ"), ("pt", "construir", "kõʃtɾuiɾ"), ("pt", "doutor", "dotoɾ")),
    ],
)
def test_listed_words_are_said_as_listed(variant, word, phones):
    """Of several pronunciations not as the first by code point; and those of the test of the other list too."""
    assert phonemize(word, variant) == phones


@pytest.mark.filterwarnings("ignore:Not read out")
def test_no_word_is_without_phones():
    for variant in ("br", "pt"):
        for n_best in (1, 2):
            (found,) = load_portuguese_phones().read(["h q 9h"], variant, n_best=n_best)
            assert all({*each.phones} - {STRESS} for word in found.words for each in word.readings)


def test_capitals_normal_forms_and_what_has_no_width_do_not_count():
    assert phonemize("AMANHÃ Amanhã") == " ".join([phonemize("amanhã")] * 2)
    assert phonemize("e\u0301 a\u0303") == phonemize("é ã")
    assert phonemize("cora\u200bção co\u00adra\u2060ção") == " ".join([phonemize("coração")] * 2)


@pytest.mark.parametrize("word", ["gosto", "sede", "colher"])
def test_homographs_have_both_readings(word):
    for variant in ("br", "pt"):
        (found,) = read(word, variant).words
        one, other = found.ambiguous
        ((before, after),) = [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]
        assert {before, after} in ({"e", "ɛ"}, {"o", "ɔ"})
        assert found.readings[0].phones == one
    assert read("casa").words[0].ambiguous == ()


def test_the_more_frequent_reading_of_a_homograph_is_said():
    assert phonemize("o governo, um acordo e o choro") == "ʊ ɡoˈveɣnʊ ũ aˈkoɣdʊ ɪ ʊ ˈʃoɾʊ"
    assert phonemize("eu gosto da bola, do leste") == "ˈew ˈɡɔstʊ də ˈbɔlə dʊ ˈlɛʃtʃɪ"
    assert phonemize("o governo e a bola", "pt") == "u ɡuveɾnu i ɐ bɔlɐ"


def test_a_lexicon_for_aligners(tmp_path):
    path = tmp_path / "lexicon.txt"
    printed = run("phonemize", "--format", "lexicon", TEXT, "Gosto de você, amanhã.").stdout
    path.write_text(printed, encoding="utf-8")
    lexicon = read_lexicon(path)
    assert [*lexicon] == [*WORDS, "gosto", "de", "você"]
    assert [len(pronounced) for pronounced in lexicon.values()] == [1] * 7 + [2, 1, 1]
    assert lexicon["fácil"] == [tuple(phone for phone in best("fácil")[0] if phone != STRESS)]
    without_stress = INVENTORIES["br"] - {STRESS}
    assert all(without_stress.issuperset(phones) for pronounced in lexicon.values() for phones in pronounced)


@pytest.mark.parametrize(
    ("step", "near"), [(20, 0.02), pytest.param(1, 0.002, marks=pytest.mark.slow)]
)  # a sample of 1,440 words; all 28,782, whose errors int8 changes by some
def test_the_saved_error_rate_is_that_of_the_words_of_the_test(step, near):
    saved = json.loads((PHONES_FOLDER / "metrics.json").read_text(encoding="utf-8"))["test"]["model"]
    listed = [*read_list(LISTS["br"], "test").items()][::step]
    words = [word for word, _ in listed]
    written = load_portuguese_phones().tagger.write_tagged(words, [("br",)] * len(words))
    right = sum(each.units == tuple(phones.split(" ")) for each, (_, (phones,)) in zip(written, listed, strict=True))
    assert right / len(listed) == pytest.approx(saved["exact_match"], abs=near)


def test_the_model_is_small_and_holds_nothing_that_runs():
    files = [path for path in PHONES_FOLDER.rglob("*") if path.is_file()]
    assert (PHONES_FOLDER / "onnx" / "model_int8.onnx").stat().st_size < 4_000_000
    assert not {path.suffix for path in files} & {".bin", ".pt", ".pkl", ".py", ".safetensors"}


def test_a_lexicon_is_read_anew_and_the_model_is_not(tmp_path):
    path = tmp_path / "mine.tsv"
    path.write_text("kokoro\tk o\n", encoding="utf-8")
    first = load_portuguese_phones(path)
    path.write_text("kokoro\tk a\n", encoding="utf-8")
    again = load_portuguese_phones(path)
    assert (first.phonemize("Kokoro", "br"), again.phonemize("Kokoro", "br")) == ("ko", "ka")
    assert first.tagger is again.tagger is load_portuguese_phones().tagger
    assert again.read(["gosto"], "br")[0].words[0].ambiguous
