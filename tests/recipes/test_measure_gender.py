"""Tests of the measure of gender: its figures, counts, table, picture and command."""

import math
import sys
from collections import Counter

import pytest

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForMaskedLM,
    AtentaTokenizer,
)
from atenta.recipes import measure_gender as command
from atenta.recipes.measure_gender import (
    ARTICLES,
    FRAMES,
    NOUNS,
    Noun,
    count_gender,
    draw_gender,
    gender_table,
    measure_gender,
    right_controls,
)
from support.models import nats_at_once, tiny_model
from support.recipes import assert_picture
from support.saved import save_with_tokenizer

ARTIST = Noun("artista", "artista", "one form")
JUDGE = Noun("juiz", "juíza", "two forms")
BOOK = Noun("livro", "livro", "masculine")
HOUSE = Noun("casa", "casa", "feminine")


@pytest.fixture(scope="module")
def tokenizer():
    return AtentaTokenizer.from_alphabet(family="decoder")


@pytest.fixture(scope="module")
def decoder(tokenizer):
    return tiny_model(AtentaDecoderForCausalLM, vocab_size=len(tokenizer))


@pytest.fixture(scope="module")
def bits_of_all_nouns(decoder, tokenizer):
    return measure_gender(decoder, tokenizer)


def test_each_noun_is_listed_once_with_the_forms_of_its_group():
    assert max(Counter(form for noun in NOUNS for form in set(noun[:2])).values()) == 1
    assert all((noun.masculine != noun.feminine) is (noun.group == "two forms") for noun in NOUNS)
    groups = Counter(noun.group for noun in NOUNS)
    assert groups["masculine"] == groups["feminine"] > 0


def test_bits_are_the_difference_of_the_losses_of_both_sentences(decoder, tokenizer):
    pairs = [
        (frame.format(f"{masculine} juiz"), frame.format(f"{feminine} juíza"))
        for frame in FRAMES
        for masculine, feminine in ARTICLES
    ]
    masculine, feminine = (nats_at_once(decoder, tokenizer(of_gender).input_ids) for of_gender in zip(*pairs))
    expected = (feminine - masculine) / len(pairs) / math.log(2)
    assert measure_gender(decoder, tokenizer, [JUDGE]) == {JUDGE: pytest.approx(expected, abs=1e-4)}


def test_nouns_are_sorted_by_group_and_from_masculine_to_feminine(bits_of_all_nouns):
    assert [noun.group for noun in bits_of_all_nouns] == [noun.group for noun in NOUNS]
    for group in ("one form", "two forms", "masculine", "feminine"):
        values = [value for noun, value in bits_of_all_nouns.items() if noun.group == group]
        assert values == sorted(values, reverse=True)


def test_nouns_are_counted_after_articles_and_contractions_in_any_spelling():
    texts = [
        "O artista e a ARTISTA; uma\nartista. Ao artista, da artista, artista só, os artistas.",
        "A jui\u0301za viu o juiz, a juiz, o juíza; na casa.",
    ]
    assert count_gender(texts, [ARTIST, JUDGE, HOUSE, BOOK]) == {
        ARTIST: (2, 3),
        JUDGE: (1, 1),
        HOUSE: (0, 1),
        BOOK: (0, 0),
    }


def test_the_table_has_groups_bits_probabilities_and_counts():
    bits = {ARTIST: 1.0, JUDGE: -2.0, BOOK: 0.0}
    lines = gender_table(bits).splitlines()
    assert [line.split() for line in lines if line.startswith(("artista", "juiz", "livro"))] == [
        ["artista", "+1.0", "0.67"],
        ["juiz", "/", "juíza", "-2.0", "0.20"],
        ["livro", "+0.0", "0.50"],
    ]
    assert [line for line in lines if line.endswith(":")] == [
        "professions with one form:",
        "professions with two forms:",
        "masculine things (control):",
    ]
    assert lines[-1] == "controls with their own gender: 0 of 1"  # 0 is on no side
    assert right_controls({BOOK: 0.1, HOUSE: -0.1, ARTIST: -5.0}) == (2, 2)
    counted = gender_table(bits, {ARTIST: (12, 3), JUDGE: (1, 0), BOOK: (0, 0)}).splitlines()
    assert counted[0].split() == ["bits", "P(masculine)", "masculine", "feminine", "in", "texts"]
    assert counted[3].split() == ["artista", "+1.0", "0.67", "12", "3"]


def test_the_picture_has_a_bar_per_noun_and_a_legend_of_the_groups():
    figure = draw_gender({ARTIST: 1.5, JUDGE: -2.0, HOUSE: -3.0})
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["artista", "juiz / juíza", "casa"]
    assert [bar.get_width() for bar in axes.patches] == [1.5, -2.0, -3.0]
    assert axes.yaxis_inverted()
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["professions with one form", "professions with two forms", "feminine things (control)"]
    colours = [patch.get_facecolor() for patch in legend.get_patches()]
    assert colours == [bar.get_facecolor() for bar in axes.patches]


def test_the_table_in_portuguese(portuguese):
    bits = {ARTIST: 1.5, HOUSE: -0.5}
    table = gender_table(bits, {ARTIST: (12, 3), HOUSE: (0, 7)}).splitlines()
    assert table[0].split() == ["bits", "P(masculino)", "masculino", "feminino", "nos", "textos"]
    assert table[2:4] == ["profissões de uma forma:", "artista   +1,5          0,74         12         3"]
    assert table[-1] == "controles com o seu gênero: 1 de 1"


@pytest.fixture
def run(monkeypatch, capsys):
    """A function that runs the command in this process, and returns what it prints."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["measure_gender.py", *map(str, arguments)])
        command.main()
        return capsys.readouterr().out

    return run


def test_the_command_prints_the_table_and_draws_the_picture(bits_of_all_nouns, run, tmp_path):
    save_with_tokenizer(AtentaDecoderForCausalLM, tmp_path / "model")
    text, picture = tmp_path / "text.txt", tmp_path / "new" / "gender.png"
    text.write_text("o médico, a médica, a médica", encoding="utf-8")
    printed = run("--model", tmp_path / "model", "--text_files", text, "--picture", picture)
    assert printed == f"{gender_table(bits_of_all_nouns, count_gender([text.read_text('utf-8')]))}\n{picture}\n"
    assert_picture(picture)


@pytest.mark.parametrize("model_class", [AtentaEncoderForMaskedLM, AtentaEncoderDecoderForConditionalGeneration])
def test_another_kind_of_model_is_refused(model_class, run, tmp_path):
    save_with_tokenizer(model_class, tmp_path)
    with pytest.raises(SystemExit, match=r"holds Atenta\w+; expected a causal language model"):
        run("--model", tmp_path)


@pytest.mark.parametrize(("content", "message"), [(None, "found no file"), (b"a\xe3o", "is not UTF-8 text")])
def test_an_unreadable_text_is_refused_before_the_model_is_loaded(content, message, run, capsys, tmp_path):
    text = tmp_path / "text.txt"
    if content is not None:
        text.write_bytes(content)
    with pytest.raises(SystemExit):
        run("--model", "nowhere", "--text_files", text)
    assert message in capsys.readouterr().err
