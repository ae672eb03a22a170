"""Texts as phones: words, what is between them, lexicons, homographs, doubts, and what cannot be read."""

import warnings

import pytest

from atenta import AtentaEncoderForTokenClassification, Phonemizer
from atenta.phonemization import phonemizer as module
from atenta.phonemization.letter_tagger import LetterTagger
from atenta.phonemization.readings import save_readings
from support.exported import save_head
from support.phones import SpellingTagger, make_letter_tagger
from support.taggers import make_restorer


def phones(text):
    return tuple(text.split())


def test_a_text_becomes_phones_with_its_words_parted(tagger):
    phonemizer = Phonemizer(tagger)
    assert phonemizer.phonemize("Não é fácil, João!", "br") == "ˈnão ˈé ˈfácil ˈjoão"
    assert phonemizer.phonemize(["um dois", ""], "pt") == ["ˈum ˈdois", ""]
    assert phonemizer.phonemize("um dois", "pt", phone_separator=" ", word_separator=" | ") == "ˈ u m | ˈ d o i s"
    text = "— Não é  fácil,\namanhã…"
    assert phonemizer.phonemize(text, "br", punctuation=True) == "— ˈnão ˈé ˈfácil, ˈamanhã…"
    with warnings.catch_warnings(action="error"):
        assert phonemizer.phonemize(["", " …", "casa"], "br") == ["", "", "ˈcasa"]


def test_words_gaps_and_text_fit_together(tagger):
    text = "(Disse-me: «d'água»!)"
    (read,) = Phonemizer(tagger).read([text], "br")
    assert [word.word for word in read.words] == ["Disse-me", "d'água"]
    assert read.gaps == ("(", ": «", "»!)")
    words = [*(word.word for word in read.words), ""]
    assert "".join(part for pair in zip(read.gaps, words) for part in pair) == read.text == text


def test_each_word_is_asked_once_in_lower_case_and_remembered_up_to_a_limit(tagger, monkeypatch):
    phonemizer = Phonemizer(tagger)
    phonemizer.phonemize(["Casa CASA casa", "a casa"], "br")
    phonemizer.phonemize("casa bela", "br")
    phonemizer.phonemize("casa", "pt")
    assert [(texts, tags) for texts, tags, _ in tagger.calls if texts] == [
        (["a", "casa"], ("br",)),
        (["bela"], ("br",)),
        (["casa"], ("pt",)),
    ]
    monkeypatch.setattr(module, "_MOST_CACHED", 3)
    for text in ("a e o", "a u", "a"):
        assert phonemizer.phonemize(text, "br") == " ".join(f"ˈ{word}" for word in text.split())
    assert len(phonemizer._cache) <= 3


def test_readings_come_best_first_with_their_probability(tagger):
    (read,) = Phonemizer(tagger).read(["gosto"], "br", n_best=2)
    (word,) = read.words
    assert [each.phones for each in word.readings] == [phones("ˈ g o s t o"), phones("ˈ g ɔ s t ɔ")]
    assert [each.confidence for each in word.readings] == pytest.approx([0.75, 0.2])
    assert (word.confidence, word.source, word.ambiguous) == (pytest.approx(0.75), "model", ())


def test_a_lexicon_comes_first(tagger, monkeypatch):
    phonemizer = Phonemizer(
        tagger,
        {("br", "de"): [phones("d ʒ ɪ")], ("br", "gosto"): []},
        {"gosto": [phones("x")], "d'água": [phones("y")]},
    )
    assert phonemizer.phonemize("Gosto de d’água de casa", "br") == "x dʒɪ y dʒɪ ˈcasa"
    assert phonemizer.phonemize("de", "pt") == "ˈde"
    (read,) = phonemizer.read(["gosto de"], "br")
    assert [(word.source, word.confidence, word.ambiguous) for word in read.words] == [("lexicon", 1.0, ())] * 2
    assert all("gosto" not in texts for texts, *_ in tagger.calls)
    signs = {word: [phones(phone)] for word, phone in (("mp3", "a"), ("covid-19", "e"), ("r$", "i"), ("dr", "o"))}
    signs |= {".": [phones("x")], ",": [phones("x")], "24": [phones("x")]}  # no words of texts, as aligners have them
    found = Phonemizer(tagger, lexicon=signs).phonemize(["MP3 de Covid-19", "R$ de mp34", "Dr. de"], "br")
    assert found[0] == "a ˈde e"
    assert found[1].startswith("i ˈde ˈeme")
    assert found[2] == "o ˈde"
    with_signs = Phonemizer(tagger, lexicon=signs).phonemize("de 24,5. De", "br")
    assert with_signs == Phonemizer(tagger).phonemize("de 24,5. De", "br")
    monkeypatch.setattr(module, "LANGUAGES", {})  # of which no number can be read out
    with warnings.catch_warnings(action="error"):
        assert Phonemizer(tagger, lexicon=signs).phonemize("mp3", "br") == "a"


def test_homographs_have_both_readings(tagger):
    pair = [phones("g o s t u"), phones("g ɔ s t u")]
    phonemizer = Phonemizer(tagger, {("br", "gosto"): pair, ("br", "casa"): []})  # earlier versions wrote no reading
    (read,) = phonemizer.read(["gosto casa"], "br")
    word, without = read.words
    assert word.ambiguous == tuple(each.phones for each in word.readings) == tuple(pair)
    assert (word.source, word.confidence) == ("lexicon", 0.5)
    assert (without.source, without.ambiguous) == ("model", ())


def test_hyphens_and_apostrophes_part_words_if_the_model_has_none(tagger):
    assert Phonemizer(tagger).phonemize("bate-bola d'água", "br") == "ˈbate-bola ˈdˈágua"
    assert Phonemizer(tagger).phonemize("bem\u2011vindo co\u00admi\u00adda", "br") == "ˈbem-vindo ˈcomida"
    phonemizer = Phonemizer(SpellingTagger(letters="adeimsáuguá"), {("br", "me"): [phones("m ɪ")]})
    (read,) = phonemizer.read(["disse-me"], "br")
    (word,) = read.words
    assert word.readings[0].phones == phones("ˈ d i s s e m ɪ")
    assert (word.confidence, word.source) == (pytest.approx(0.75), "model")


def test_foreign_letters(tagger):
    assert Phonemizer(tagger).phonemize("piñata über a\u0327 ﬁm Straße", "br") == "ˈpinata ˈuber ˈa ˈfim ˈstrasse"
    with pytest.warns(UserWarning, match="'жизнь', .* a letter that the model lacks"):
        (read,) = Phonemizer(tagger).read(["vida, жизнь"], "br")
    assert read.join() == "ˈvida жизнь"
    with pytest.warns(UserWarning, match="Left as in the text: '²'"):
        assert Phonemizer(tagger).phonemize("²", "br") == "²"
    assert (read.words[1].readings, read.words[1].source, read.words[1].confidence) == ((), "none", 0)


@pytest.mark.parametrize(
    ("word", "native"),
    [
        ("Kelly", "quele"),
        ("rock", "roque"),
        ("links", "linques"),
        ("shopping", "choping"),
        ("Bangladesh", "bangladeche"),
        ("Sophia", "sofia"),
        ("Wagner", "vagner"),
        ("Neymar", "neimar"),
        ("Günther", "gunter"),
        ("Müller", "muler"),
        ("Brooklyn", "bruclin"),
        ("carro", "carro"),
        ("passo", "passo"),
        ("transhumância", "transhumância"),
        ("zoológico", "zoológico"),
    ],
)
def test_words_with_foreign_letters_are_spelled_as_native_ones(word, native, tagger):
    (read,) = Phonemizer(tagger).read([word], "br")
    assert read.words[0].word == word
    assert "".join(read.words[0].readings[0].phones) == f"ˈ{native}"
    assert Phonemizer(tagger, lexicon={word.lower(): [("x",)]}).phonemize(word, "pt") == "x"


def test_warnings_name_the_line_that_asked(tagger):
    phonemizer = Phonemizer(tagger)
    for ask in (lambda: phonemizer.phonemize("жизнь", "br"), lambda: phonemizer.read(["жизнь"], "br")):
        with pytest.warns(UserWarning, match="жизнь") as warned:
            ask()
        assert [each.filename for each in warned] == [__file__]


def test_what_is_too_long_for_a_word_is_not_read(tagger):
    with pytest.warns(UserWarning, match="too long"):
        assert Phonemizer(tagger).phonemize(f"a {65 * 'u'} {64 * 'u'}", "br") == f"ˈa {65 * 'u'} ˈ{64 * 'u'}"
    assert max(len(text) for texts, *_ in tagger.calls for text in texts) == 64


def test_numbers_that_stay_are_named(tagger, without_num2words):
    with pytest.warns(UserWarning, match="'12'; write them in words"):  # of a model of another language
        assert Phonemizer(SpellingTagger(tags=())).phonemize("les 12 amis") == "ˈles 12 ˈamis"
    with pytest.warns(UserWarning, match=r"'12', '2024'; pip install \"atenta\[numbers\]\""):
        assert Phonemizer(tagger).phonemize("as 12 de 2024", "br") == "ˈas 12 ˈde 2024"


@pytest.mark.parametrize(
    ("tags", "variant", "message"),
    [
        (("br", "pt"), None, r"variant=None; expected one of br, pt"),
        (("br", "pt"), "gl", r"variant='gl'; expected one of br, pt"),
        ((), "br", r"variant='br'; expected None"),
    ],
)
def test_variants_are_those_of_the_model(tags, variant, message):
    with pytest.raises(ValueError, match=message):
        Phonemizer(SpellingTagger(tags=tags)).phonemize("casa", variant)


def test_a_saved_model_is_read_with_what_its_folder_knows(tmp_path):
    restorer = make_letter_tagger()
    restorer.save_pretrained(tmp_path)
    save_readings(tmp_path, iter([("br", "de", ["d ʒ ɪ"])]))
    lexicon = tmp_path / "mine.tsv"
    lexicon.write_text("Kokoro\tk o\n", encoding="utf-8")
    phonemizer = Phonemizer.from_pretrained(tmp_path, lexicon=lexicon)
    assert phonemizer.variants == ("br", "pt")
    (read,) = phonemizer.read(["de kokoro casa"], "br")
    assert [word.readings[0].phones for word in read.words[:2]] == [phones("d ʒ ɪ"), phones("k o")]
    ((expected,),) = LetterTagger(restorer).write(["casa"], ["br"])
    assert read.words[2].readings[0].phones == expected.units
    assert 0 < read.words[2].confidence <= 1


def test_a_missing_lexicon_wrong_texts_and_models_that_write_no_phones_are_refused(tagger, tmp_path):
    with pytest.raises(TypeError, match=r"`texts\[1\]` is 3"):
        Phonemizer(tagger).phonemize(["casa", 3], "br")
    with pytest.raises(TypeError, match=r"expected a str, .*; for a file, give its text"):
        Phonemizer(tagger).phonemize(tmp_path, "br")
    with pytest.raises(TypeError, match="`phone_separator` is None"):
        Phonemizer(tagger).phonemize("casa", "br", phone_separator=None)
    with pytest.raises(ValueError, match="n_best=0"):
        Phonemizer(tagger).read(["casa"], "br", n_best=0)
    with pytest.raises(FileNotFoundError, match=r"mine\.tsv"):  # before the model is loaded
        Phonemizer.from_pretrained(tmp_path / "none", lexicon=tmp_path / "mine.tsv")
    save_head(AtentaEncoderForTokenClassification, tmp_path)
    with pytest.raises(ValueError, match="no character_variants"):
        Phonemizer.from_pretrained(tmp_path)
    make_restorer().save_pretrained(tmp_path / "accents")
    with pytest.raises(ValueError, match=r"restores texts.*finetune_letters"):
        Phonemizer.from_pretrained(tmp_path / "accents")
