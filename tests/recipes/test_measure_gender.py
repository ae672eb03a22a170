import math
import sys

import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.trainers import WordLevelTrainer
from transformers import PreTrainedTokenizerFast

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForMaskedLM,
    AtentaPairVotesConfig,
    AtentaPairVotesForCausalLM,
    AtentaTokenizer,
)
from atenta.recipes import measure_gender as command
from atenta.recipes.measure_gender import ARTICLES, FRAMES, count_gender, gender_table, measure_gender, right_controls
from atenta.recipes.samples.nouns import NOUNS, Noun
from support.models import tiny_model

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


def fit_words(sentences):
    """A model of words that has read the sentences, and its tokenizer."""
    backend = Tokenizer(WordLevel(unk_token="<unk>"))
    backend.pre_tokenizer = Whitespace()
    backend.train_from_iterator(sentences, WordLevelTrainer(special_tokens=["<unk>"], show_progress=False))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>")
    config = AtentaPairVotesConfig(vocab_size=len(tokenizer))
    return AtentaPairVotesForCausalLM(config).fit(tokenizer(sentences).input_ids).eval(), tokenizer


def test_bits_are_the_difference_of_the_losses_that_the_model_itself_gives_both_sentences(decoder, tokenizer):
    def nats(sentence):
        ids = tokenizer(sentence, return_tensors="pt").input_ids
        return decoder(ids, labels=ids).loss.item() * (ids.shape[1] - 1)

    pairs = [
        (frame.format(f"{masculine} juiz"), frame.format(f"{feminine} juíza"))
        for frame in FRAMES
        for masculine, feminine in ARTICLES
    ]
    expected = sum(nats(feminine) - nats(masculine) for masculine, feminine in pairs) / len(pairs) / math.log(2)
    assert measure_gender(decoder, tokenizer, [JUDGE]) == {JUDGE: pytest.approx(expected, abs=1e-4)}


def test_a_model_has_the_gender_that_it_has_read_whatever_its_tokens_are():
    read = [
        frame.format(phrase)
        for frame in FRAMES
        for phrase in ("o artista", "um artista", "o livro", "um livro", "a juíza", "uma juíza", "a casa", "uma casa")
    ]
    bits = measure_gender(*fit_words(read), [JUDGE, HOUSE, BOOK, ARTIST])
    assert bits[ARTIST] > 0 > bits[JUDGE]
    assert right_controls(bits) == (2, 2)


def test_exchanged_forms_have_the_opposite_sign(decoder, tokenizer):
    swapped = [(pair[1], pair[0]) for pair in ARTICLES]
    bits = measure_gender(decoder, tokenizer, [JUDGE])[JUDGE]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "ARTICLES", swapped)
        other = Noun(JUDGE.feminine, JUDGE.masculine, JUDGE.group)
        assert measure_gender(decoder, tokenizer, [other])[other] == pytest.approx(-bits)


def test_nouns_come_by_group_and_from_masculine_to_feminine(decoder, tokenizer):
    bits = measure_gender(decoder, tokenizer)
    groups = ["one form", "two forms", "masculine", "feminine"]
    assert [noun.group for noun in bits] == [noun.group for noun in NOUNS]
    for group in groups:
        values = [value for noun, value in bits.items() if noun.group == group]
        assert values == sorted(values, reverse=True)


def test_no_gradient_is_kept(decoder, tokenizer):
    measure_gender(decoder, tokenizer, [BOOK])
    assert all(parameter.grad is None for parameter in decoder.parameters())
    assert torch.is_grad_enabled()


def test_nouns_are_counted_behind_articles_and_contractions_in_any_spelling():
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


def test_controls_are_right_on_their_own_side_alone():
    assert right_controls({BOOK: 0.1, HOUSE: -0.1, ARTIST: -5.0}) == (2, 2)
    assert right_controls({BOOK: -0.1, HOUSE: 0.1}) == (0, 2)
    assert right_controls({BOOK: 0.0, HOUSE: 0.0}) == (0, 2)


def test_the_table_has_groups_bits_probabilities_and_counts():
    bits = {ARTIST: 1.0, JUDGE: -2.0, BOOK: 0.0}
    lines = gender_table(bits).splitlines()
    assert [line.split() for line in lines if line.startswith(("artista", "juiz", "livro"))] == [
        ["artista", "+1.0", "0.67"],
        ["juiz", "/", "juíza", "-2.0", "0.20"],
        ["livro", "+0.0", "0.50"],
    ]
    assert [line for line in lines if line.endswith(":")] == ["one form:", "two forms:", "masculine:"]
    assert lines[-1] == "controls with their own gender: 0 of 1"
    counted = gender_table(bits, {ARTIST: (12, 3), JUDGE: (1, 0), BOOK: (0, 0)}).splitlines()
    assert counted[0].split() == ["bits", "P(masculine)", "masculine", "feminine", "in", "texts"]
    assert counted[3].split() == ["artista", "+1.0", "0.67", "12", "3"]


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command in this process; returns what it printed."""

    def in_process(*arguments):
        monkeypatch.setattr(sys, "argv", ["measure_gender.py", *map(str, arguments)])
        command.main()
        return capsys.readouterr().out

    return in_process


def save(folder, model, tokenizer):
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_the_command_prints_the_table_and_draws_the_picture(decoder, tokenizer, run, tmp_path):
    folder = save(tmp_path / "model", decoder, tokenizer)
    text = tmp_path / "text.txt"
    text.write_text("o médico, a médica, a médica", encoding="utf-8")
    printed = run("--model", folder, "--text_files", text, "--picture", tmp_path / "new" / "gender.png")
    table = gender_table(measure_gender(decoder, tokenizer), count_gender([text.read_text("utf-8")]))
    assert printed == f"{table}\n{tmp_path / 'new' / 'gender.png'}\n"
    assert (tmp_path / "new" / "gender.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("model_class", "family"),
    [(AtentaEncoderForMaskedLM, "encoder"), (AtentaEncoderDecoderForConditionalGeneration, "encoder-decoder")],
)
def test_a_model_of_another_kind_is_refused_by_name(model_class, family, run, tmp_path):
    tokenizer = AtentaTokenizer.from_alphabet(family=family)
    folder = save(tmp_path, tiny_model(model_class, vocab_size=len(tokenizer)), tokenizer)
    with pytest.raises(SystemExit, match=r"holds Atenta\w+; expected a causal language model"):
        run("--model", folder)


@pytest.mark.parametrize(("content", "message"), [(None, "there is no file"), (b"a\xe3o", "is no text in UTF-8")])
def test_a_text_that_cannot_be_read_is_told_before_the_model_is_loaded(content, message, run, capsys, tmp_path):
    text = tmp_path / "text.txt"
    if content is not None:
        text.write_bytes(content)
    with pytest.raises(SystemExit):
        run("--model", "nowhere", "--text_files", text)
    assert message in capsys.readouterr().err
