"""Each metric against a plain computation or examples worked by hand, and properties that all metrics share."""

import math
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from atenta.hub.card_words import less_is_better
from atenta.recipes.metrics import METRICS, scores

TEXTS = (["não é", "la vai", "", "a b c d e", "ação"], ["não é", "lá vai ele", "vi", "a b x d e f", "acção"])
LABELS = (["é", "é", "b", "c", "b"], ["é", "b", "b", "é", "b"])
TAGS = (
    [["B-LEI", "O"], ["O"], ["B-LEI", "I-LEI", "O"], [], ["B-É", "I-É"]],
    [["B-LEI", "O"], ["B-LEI"], ["B-LEI", "O", "O"], [], ["B-É", "I-É"]],
)
EXAMPLES = {
    "accuracy": LABELS,
    "macro_f1": LABELS,
    "exact_match": TEXTS,
    "letters_kept": TEXTS,
    "word_accuracy": TEXTS,
    "character_error_rate": TEXTS,
    "word_error_rate": TEXTS,
    "phone_error_rate": TEXTS,
    "chrf": TEXTS,
    "bleu": TEXTS,
    "rouge_l": TEXTS,
    "bits_per_character": ([1.0, 2.5, 0.5, 10.0, 3.0], TEXTS[1]),
    "tag_accuracy": TAGS,
    "entity_f1": TAGS,
    "squad": (TEXTS[0], [[text, "o " + text] for text in TEXTS[1]]),
}
every_metric = pytest.mark.parametrize("name", METRICS)


def figures(name, predictions, references):
    return scores([name], predictions=predictions, references=references)


# All metrics


def test_every_metric_has_an_example():
    lacking = METRICS.keys() - EXAMPLES.keys()
    assert not lacking, f"{', '.join(lacking)}: add predictions and references to EXAMPLES, above"
    assert EXAMPLES.keys() == METRICS.keys(), "EXAMPLES, above, has metrics that METRICS of recipes/metrics.py lacks"


def decomposed(value):
    if isinstance(value, str):
        return unicodedata.normalize("NFD", value)
    return [decomposed(part) for part in value] if isinstance(value, list) else value


@every_metric
def test_texts_are_compared_in_nfc(name):
    predictions, references = EXAMPLES[name]
    expected = figures(name, predictions, references)
    assert decomposed(references) != references
    assert figures(name, decomposed(predictions), references) == expected
    assert figures(name, predictions, decomposed(references)) == expected


@every_metric
def test_figures_are_plain_numbers(name):
    for value in figures(name, *EXAMPLES[name]).values():
        assert type(value) in {int, float}
        assert math.isfinite(value)


@every_metric
def test_its_name_says_whether_less_is_better(name):
    """A card and a recipe that took it the wrong way would call the worse system the better one."""
    predictions, references = EXAMPLES[name]
    best = {"bits_per_character": [0.0] * 5, "squad": TEXTS[1]}.get(name, references)
    for score, figure in figures(name, best, references).items():
        other = figures(name, predictions, references)[score]
        assert figure != other
        assert (figure < other) == less_is_better(score), f"{score}: tell less_is_better of hub/card_words.py"


@every_metric
def test_other_numbers_of_examples_are_refused(name):
    predictions, references = EXAMPLES[name]
    with pytest.raises(ValueError, match=r"found no .*expected at least one"):
        figures(name, [], [])
    with pytest.raises(ValueError, match=r"predictions \(4\) and references \(5\)"):
        figures(name, predictions[1:], references)


def test_unknown_metric():
    with pytest.raises(ValueError, match=r"found the metric word_acuracy; expected some of accuracy, .*word_accuracy"):
        figures("word_acuracy", ["a"], ["a"])


# Labels and texts: plain computations on random texts, and what these do not reach worked by hand

WORDS = ["não", "nao", "Não", "é", "é!", "vi"]
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)


@given(st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=5))
def test_figures_equal_plain_computations(rows):
    predictions, references = zip(*rows)
    labels = set(predictions) | set(references)
    right = {label: sum(p == r == label for p, r in rows) for label in labels}
    f1 = [2 * right[label] / (predictions.count(label) + references.count(label)) for label in labels]
    bare = [[unicodedata.normalize("NFD", text).translate({0x301: None, 0x303: None}) for text in row] for row in rows]
    characters = sum(Levenshtein.distance(*row) for row in rows) / sum(map(len, references))
    words = [(p.split(), r.split()) for p, r in rows]
    error_rate = sum(Levenshtein.distance(*row) for row in words) / sum(len(r) for _, r in words)
    expected = {
        "accuracy": sum(right.values()) / len(rows),
        "macro_f1": sum(f1) / len(labels),
        "exact_match": sum(right.values()) / len(rows),
        "letters_kept": sum(p == r for p, r in bare) / len(rows),
        "character_error_rate": characters,
        "word_error_rate": error_rate,
        "phone_error_rate": error_rate,
    }
    assert scores(expected, predictions=predictions, references=references) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "predictions", "references", "expected"),
    [
        ("exact_match", ["", "não  é", "não é ", "não é"], ["", *["não é"] * 3], 2 / 4),
        ("word_accuracy", ["é nada"], ["não é nada"], 2 / 3),  # a missing word does not affect the words after it
        ("word_accuracy", ["não é mais nada"], ["não é nada"], 1),  # additional words have no effect
        ("word_accuracy", ["   "], ["não é nada"], 0),
        ("word_accuracy", [" não\t é "], ["não é"], 1),
        ("word_accuracy", ["x", "b c d"], ["a", "b c d"], 3 / 4),  # over all words, not a mean of means
        ("character_error_rate", ["   "], ["não é nada"], 8 / 10),  # two of the spaces match
        ("character_error_rate", [" não é "], ["não\té"], 3 / 5),
        ("word_error_rate", ["não não não não"], ["não"], 3),
        ("word_error_rate", [" não\t é\n"], ["não é"], 0),
        ("phone_error_rate", ["t ʃ a w"], ["t͡ʃ a w"], 2 / 3),  # one phone of several characters
        # Of the n-grams of 1, 2, 3 and 4 characters of abcd, 3/4, 2/3, 1/2 and none are in abce, and vice versa.
        ("chrf", ["abcd"], ["abce"], 100 * (3 / 4 + 2 / 3 + 1 / 2 + 0) / 4),
        ("chrf", ["nãoénada"], ["não é nada"], 100),  # spaces are ignored
        ("chrf", ["NÃO É NADA"], ["não é nada"], 0),  # case counts
        # 3 of 4 words, 1 of 3 pairs; no n-gram of 3 (of 2) or 4 (of 1) words: half a match, then a quarter.
        ("bleu", ["a b x d"], ["a b c d"], 100 * (3 / 4 * 1 / 3 * (1 / 2) / 2 * (1 / 4) / 1) ** (1 / 4)),
        ("bleu", ["Olá, mundo! 1,5"], ["Olá , mundo ! 1,5"], 100),  # tokenisation 13a
        ("rouge_l", ["a ação é nova"], ["É nova a Ação!"], 2 * 2 / 8),
        ("rouge_l", ["", "a b c"], ["a", "a c"], (0 + 4 / 5) / 2),  # a mean over texts
        ("tag_accuracy", [["NOUN"], ["DET", "NOUN", "VERB"]], [["VERB"], ["DET", "NOUN", "VERB"]], 3 / 4),
    ],
)
def test_figure(name, predictions, references, expected):
    assert figures(name, predictions, references) == pytest.approx({name: expected})


@pytest.mark.parametrize("name", ["word_accuracy", "character_error_rate", "word_error_rate", "phone_error_rate"])
def test_reference_without_words(name):
    for reference in ("", "  "):
        with pytest.raises(ValueError, match=f"{reference!r} as reference 1"):
            figures(name, ["a", "b"], ["a", reference])


# Likelihoods


def bits(nats, texts):
    return figures("bits_per_character", nats, texts)


def test_bits_per_character():
    # Each of 4 characters and 2 words has a probability of 1/8: 3 bits per character, 6 per word.
    assert bits([2 * math.log(8), 2 * math.log(8)], ["éa", "a\n"]) == pytest.approx(
        {"bits_per_character": 3, "character_perplexity": 8, "word_perplexity": 64}
    )
    assert bits([0.0], ["a b"]) == {"bits_per_character": 0, "character_perplexity": 1, "word_perplexity": 1}
    assert bits([5000.0], ["a" * 1000])["word_perplexity"] == math.inf


@pytest.mark.parametrize(
    ("nats", "texts", "message"),
    [
        ([0.5, -0.5], ["a", "b"], r"found -0\.5 nats for text 1; expected a negative log-likelihood, 0 or more"),
        ([1.0, 1.0], ["", " \n"], "found no word in 2 references"),
    ],
)
def test_wrong_nats_or_texts(nats, texts, message):
    with pytest.raises(ValueError, match=message):
        bits(nats, texts)


# Tags


def entities(sentences):
    """Return the entities as conlleval reads them: sentence, first word, last word and type."""
    found = []
    for number, tags in enumerate(sentences):
        for place, tag in enumerate(tags):
            if tag == "O":
                continue
            if tag[0] == "B" or place == 0 or tags[place - 1][1:] != tag[1:]:
                found.append([number, place, place, tag[2:]])
            found[-1][2] = place
    return set(map(tuple, found))


TAGGED = st.lists(st.tuples(*[st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"])] * 2), max_size=6)


@given(st.lists(TAGGED, min_size=1, max_size=4).filter(any))
def test_entity_f1(sentences):
    predictions, references = ([[row[side] for row in rows] for rows in sentences] for side in (0, 1))
    predicted, wanted = entities(predictions), entities(references)
    right = len(predicted & wanted)
    assert figures("entity_f1", predictions, references) == pytest.approx(
        {
            "precision": right / max(len(predicted), 1),
            "recall": right / max(len(wanted), 1),
            "f1": 2 * right / max(len(predicted) + len(wanted), 1),
        }
    )


def test_a_predicted_tag_of_no_entity_counts_as_outside():
    """Training may have tags that the test lacks, misspelt ones too."""
    references = [["B-PER", "I-PER", "O"]]
    for tag in ("PER", "B-", "b-PER"):
        assert figures("entity_f1", [["B-PER", "I-PER", tag]], references)["f1"] == 1
        assert figures("entity_f1", [["B-PER", tag, "O"]], references)["f1"] == 0


@pytest.mark.parametrize(
    ("name", "predictions", "references", "found"),
    [
        *(("entity_f1", [["O", "O"]], [["O", tag]], f"the tag '{tag}'; expected O") for tag in ("PER", "B-", "S-PER")),
        *(
            (name, *tags)
            for name in ("tag_accuracy", "entity_f1")
            for tags in (
                ([["O"], ["O"]], [["O"], ["O", "O"]], "1 tags in prediction 1 and 2 in its reference"),
                ([[], []], [[], []], "no tags in 2 references"),
            )
        ),
        ("squad", ["a", "b"], [["a"], []], "no accepted answer as reference 1"),
    ],
)
def test_malformed_tags_and_references(name, predictions, references, found):
    with pytest.raises(ValueError, match=f"found {found}"):
        figures(name, predictions, references)


# Answers


def test_squad_keeps_quotation_marks_that_are_not_in_ascii():
    assert figures("squad", ["as «aulas»"], [["as aulas"]]) == {"exact_match": 0, "f1": 2 * 1 / (2 + 2)}


def normalised(text):
    kept = "".join(character for character in text.lower() if character not in "!?,.'")
    return [word for word in kept.split() if word not in {"a", "an", "the"}]


def common(words, others):
    """The number of words that can be paired with an equal word."""
    others = list(others)
    return sum(1 for word in words if word in others and not others.remove(word))


words = st.sampled_from(["a", "The", "AN", "thea", "rio", "rio!", "Rio,", "'é'", "d'água", "?"])
answers = st.lists(words, max_size=6).map(" ".join)


@settings(max_examples=25)
@given(st.lists(st.tuples(answers, st.lists(answers, min_size=1, max_size=3)), min_size=1, max_size=4))
def test_squad_equals_a_plain_computation(questions):
    exact_match = f1 = 0
    for prediction, accepted in questions:
        answer = normalised(prediction)
        exact_match += any(answer == normalised(text) for text in accepted)
        shares = [(common(answer, normalised(text)), len(answer) + len(normalised(text))) for text in accepted]
        f1 += max(2 * both / words if both else 0 for both, words in shares)
    assert figures("squad", *zip(*questions)) == pytest.approx(
        {"exact_match": exact_match / len(questions), "f1": f1 / len(questions)}
    )
