"""Pairs of equal length: variants, windows and labels, and scores counted by hand."""

import pytest

from atenta import AtentaEncoderConfig, AtentaTokenizer, Spellings
from atenta.recipes.tasks.characters import (
    RestorationTask,
    check_characters,
    count_errors,
    count_variants,
    encode_windows,
    score_restored,
    strip_texts,
    vary_case,
)
from atenta.restoration.character_codes import CharacterCodes, base_characters
from support.recipes import write_jsonl, write_lines

ROWS = [
    {"source": "a acao", "target": "a ação", "domain": ""},
    {"source": "e la", "target": "é lá", "domain": ""},
    {"source": "e ca", "target": "e cá", "domain": ""},
]
VARIANTS = {"a": "aáã", "c": "cç", "e": "eé"}
LABELS = "aceáãçé"


def columns(rows):
    return {name: [row[name] for row in rows] for name in ("source", "target", "domain")}


@pytest.fixture(scope="module")
def tokenizer():
    return AtentaTokenizer.from_alphabet(family="encoder")


@pytest.fixture(scope="module")
def codes(tokenizer):
    config = AtentaEncoderConfig(
        id2label=dict(enumerate(LABELS)), character_variants=VARIANTS, window_length=12, vocab_size=len(tokenizer)
    )
    return CharacterCodes(tokenizer, config, None)


def encode(rows, codes, tokenizer, length=12, seed=None):
    return encode_windows(
        columns(rows), codes, (tokenizer.bos_token_id, tokenizer.eos_token_id), length=length, seed=seed
    )


def read(encoded, tokenizer):
    """Sources and targets of the windows, as text."""
    sources = [tokenizer.decode(ids[1:-1]) for ids in encoded["input_ids"]]
    targets = [
        "".join(LABELS[label] if label >= 0 else each for each, label in zip(source, labels[1:-1], strict=True))
        for source, labels in zip(sources, encoded["labels"], strict=True)
    ]
    return sources, targets


def test_pairs_are_read_in_nfc_and_refused_if_of_other_lengths():
    with pytest.raises(ValueError, match=r"source of 1 characters and a target of 2.*seq2seq\.py"):
        check_characters({"source": "a", "target": "aa"})
    row = check_characters({"source": "acao", "target": "ac\u0327a\u0303o", "domain": "law"})
    assert row == {"source": "acao", "target": "ação", "domain": "law"}


@pytest.mark.parametrize(
    ("strip", "source"),
    [(["accents"], "Acao RAPIDA"), (["case"], "ação rápida"), (["accents", "case"], "acao rapida")],
)
def test_sources_are_made_from_texts(strip, source):
    made = strip_texts({"text": ["Ação RÁPIDA"]}, strip)
    assert made == {"source": [source], "target": ["Ação RÁPIDA"], "domain": [""]}


def test_variants_are_what_training_has_seen():
    capitals = {"A": "AÁÃ", "C": "CÇ", "E": "EÉ"}
    assert count_variants(ROWS, 1)[0] == {**capitals, **VARIANTS}
    assert count_variants(ROWS, 2) == ({"A": "AÁ", "a": "aá"}, {"ã": 1, "ç": 1, "é": 1})
    with pytest.raises(ValueError, match="min_variant_count"):
        count_variants(ROWS, 9)
    rows = [{"source": "VOCE voce", "target": "VOCÊ você"}, {"source": "ss", "target": "sß"}]
    assert count_variants(rows, 2)[0] == {"E": "EÊ", "e": "eê"}  # capitals and small letters count together
    assert count_variants(rows, 1)[0]["s"] == "sß"
    assert "S" not in count_variants(rows, 1)[0]  # the capital of ß is two letters
    assert count_variants([{"source": "ana", "target": "Ana"}], 1)[0] == {"a": "aA"}  # where case is restored


def test_rows_are_joined_and_long_ones_cut(codes, tokenizer):
    sources, targets = read(encode(ROWS, codes, tokenizer), tokenizer)
    assert sources == ["a acao\ne la", "e ca"]
    assert targets == ["a ação\né lá", "e cá"]
    sources, targets = read(encode(ROWS, codes, tokenizer, length=4), tokenizer)
    assert sources == ["a ac", "acao", "e la", "e ca"]
    assert targets == ["a aç", "ação", "é lá", "e cá"]


def test_only_choices_outside_of_protected_spans_are_learnt(codes, tokenizer):
    (labels,) = encode([{"source": "a, ñ áa", "target": "ã, n áä", "domain": ""}], codes, tokenizer)["labels"]
    assert labels == [-100, LABELS.index("ã"), *[-100] * 7]
    protected = {"source": "e @cea", "target": "é @cea", "domain": ""}
    assert encode([protected], codes, tokenizer)["labels"] == [[-100, LABELS.index("é"), *[-100] * 6]]


def test_training_windows_keep_some_marks(codes, tokenizer):
    rows = ROWS * 100
    sources, targets = read(encode(rows, codes, tokenizer, seed=1), tokenizer)
    words = " ".join(targets).split()  # of line ends, some are spaces
    assert words == " ".join(row["target"] for row in rows).split()
    marked = sum(any(each in "áãçé" for each in source) for source in sources)
    assert 0.05 < marked / len(sources) < 0.2
    assert encode(rows, codes, tokenizer, seed=1) == encode(rows, codes, tokenizer, seed=1)
    assert encode(rows, codes, tokenizer, seed=1) != encode(rows, codes, tokenizer, seed=2)
    separators = "".join(sources)
    assert "\n" in separators
    assert len({len(source) for source in sources}) > 3  # some windows are shorter than they could be


def test_spellings_are_read_but_for_some_words_of_training(tokenizer):
    config = AtentaEncoderConfig(
        id2label=dict(enumerate(LABELS)), character_variants=VARIANTS, window_length=12, vocab_size=len(tokenizer)
    )
    spellings = Spellings.from_texts(base_characters(VARIANTS), [row["target"] for row in ROWS], fold_case=True)
    codes = CharacterCodes(tokenizer, config, spellings)
    encoded = encode([ROWS[0]], codes, tokenizer)
    assert read(encoded, tokenizer)[0] == ["a ação"]
    assert encoded["token_type_ids"] == [[0, 1, 0, 1, 1, 1, 1, 0]]
    assert encoded["labels"][0][4] == LABELS.index("ç")
    training = encode([ROWS[0]] * 300, codes, tokenizer, length=6, seed=0)
    bare = sum(source == "a acao" for source in read(training, tokenizer)[0])
    assert 0.03 < bare / 300 < 0.15


def test_some_rows_change_their_case():
    rows = [{"source": f"Acao {number}", "target": f"Ação {number}", "domain": "law"} for number in range(500)]
    varied = vary_case(columns(rows), seed=0)
    assert varied["domain"] == ["law"] * 500
    kinds = {"upper": 0, "lower": 0}
    for row, source, target in zip(rows, varied["source"], varied["target"], strict=True):
        assert target.lower() == row["target"].lower()
        assert source.lower() == row["source"].lower()
        kinds["upper"] += target.startswith("AÇÃO") and source.startswith("ACAO")
        kinds["lower"] += target.startswith("ação")
    assert 5 < kinds["upper"] < 40
    assert 5 < kinds["lower"] < 40


def test_scores():
    scored = score_restored(ROWS, ["a ação", "e lá", "e ca"], VARIANTS)
    # Choices are a, a, c, a in the first, e, a in the second, and e, c, a in the third; e and a are wrong.
    assert scored["choice_error_rate"] == pytest.approx(2 / 9)
    assert scored["word_accuracy"] == pytest.approx(4 / 6)
    assert scored["exact_match"] == pytest.approx(1 / 3)
    assert scored["letters_kept"] == 1


def test_errors_are_counted_by_what_training_has():
    bases = base_characters({**VARIANTS, "e": "eéê"})
    spellings = Spellings.from_texts(bases, ["e é gênero fase"], fold_case=True)
    rows = [{"target": "É gênero: Cá lá fáse"}]
    assert list(count_errors(rows, ["E género: Ca la fase"], spellings).values()) == [1, 1, 1, 1, 1]
    assert sum(count_errors(rows, ["É gênero: Cá lá fáse"], spellings).values()) == 0


def test_tables_are_of_texts_or_of_pairs(tmp_path):
    row_format = RestorationTask(strip=["accents"], sample_by="line").row_format
    texts = write_jsonl(tmp_path / "texts.jsonl", [{"text": "Não é.\nÉ."}, {"text": " "}])
    assert [fields["text"] for _, fields in row_format.read(str(texts))] == ["Não é.", "É.", " "]
    with pytest.raises(ValueError, match="empty text"):
        row_format.check({"text": " "})
    for lines in (("text", "Não é."), ("source,target", "Nao e.,Não é.")):
        ((_, fields),) = row_format.read(str(write_lines(tmp_path / "table.csv", *lines)))
        assert row_format.check(fields)["target"] == "Não é."
        assert row_format.check(fields)["source"] == "Nao e."
