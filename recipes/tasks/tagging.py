"""Tagging of words: tagged sentences, the tags of words as labels of characters, scores and a baseline."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from datasets import Features, List, Value
from transformers import PreTrainedTokenizerBase

from atenta.recipes.metrics import scores
from atenta.recipes.reading.file_formats import read_conll, read_conllu
from atenta.recipes.reading.records import expect_text
from atenta.recipes.reading.splits import RowFormat
from atenta.recipes.tasks.task import Answers, Baselines, Row, Task


def check_tagged_words(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a tagged sentence.

    Args:
        fields: `words` and `tags`, lists of texts, with one tag per word.

    Raises:
        ValueError: If there is no word, the numbers of words and tags differ, or a word or tag is blank or surrounded
            by white space.
    """
    words, tags = _expect_words(fields.get("words"), "word"), _expect_words(fields.get("tags"), "tag")
    if len(words) != len(tags):
        raise ValueError(f"found {len(words)} word(s) and {len(tags)} tag(s); expected one tag per word")
    return {"words": words, "tags": tags}


TAGGED_SENTENCES = RowFormat(
    Features({"words": List(Value("string")), "tags": List(Value("string"))}),
    check_tagged_words,
    columns=("words", "tags"),
)


def _expect_words(values: Any, name: str) -> list[str]:
    if not isinstance(values, list) or not values:
        hint = ", in JSON; files with a word and its tag on a line end in .conll" if isinstance(values, str) else ""
        raise ValueError(f"found {values!r:.80} as the {name}s; expected a list of at least one text{hint}")
    for number, value in enumerate(values, start=1):
        text = expect_text(value, f"{name} {number}")
        if text != text.strip():
            raise ValueError(f"found white space around the {name} {number}, {text!r}; expected none")
    return values


def encode_tagged(
    batch: Mapping[str, list], tokenizer: PreTrainedTokenizerBase, label2id: Mapping[str, int]
) -> dict[str, list]:
    """Encode the words of each row, joined by spaces, and label the first token of each word.

    Args:
        batch: Columns `words` and `tags`, with one tag per word.
        tokenizer: An encoder's tokenizer.
        label2id: The number of each tag.

    Returns:
        The output of the tokenizer and `labels`, which are -100 except at the first token of each word.

    Raises:
        ValueError: If `label2id` lacks a tag, or a word is empty.
    """
    if unknown := {tag for tags in batch["tags"] for tag in tags} - label2id.keys():
        raise ValueError(
            f"found the tag {', '.join(sorted(unknown))}; expected one of {', '.join(label2id)}: "
            "include the tags of every split, or train a new model, without --model_name_or_path."
        )
    # Words are normalized before they are joined, so that positions in the text are the tokenizer's own.
    normalize = tokenizer.backend_tokenizer.normalizer.normalize_str
    rows = [[normalize(word) for word in words] for words in batch["words"]]
    encoded = tokenizer([" ".join(words) for words in rows], split_special_tokens=True)
    labels = []
    for row, (words, tags) in enumerate(zip(rows, batch["tags"])):
        if not all(words):
            raise ValueError(f"found an empty word in {words!r}; expected at least one character in each.")
        lengths = np.array([len(word) + 1 for word in words])
        firsts = [encoded.char_to_token(row, int(start)) for start in np.cumsum(lengths) - lengths]
        of_row = np.full(len(encoded.input_ids[row]), -100)
        of_row[firsts] = [label2id[tag] for tag in tags]
        labels.append(of_row.tolist())
    return {**encoded, "labels": labels}


def tags_of_words(predictions: np.ndarray, labels: np.ndarray, id2label: Mapping[int, str]) -> list[list[str]]:
    """Return the tag of each word, read at its first token; with the labels as `predictions` these are the gold tags.

    Args:
        predictions: (rows, length), the number of a tag for each token.
        labels: (rows, length), the output of `encode_tagged`, padded with -100.
        id2label: The tag of each number.

    Returns:
        For each row, one tag per word.
    """
    return [[id2label[int(number)] for number in row[firsts]] for row, firsts in zip(predictions, labels != -100)]


def most_frequent_tags(train: Iterable[Row], rows: Iterable[Row]) -> list[list[str]]:
    """Return for each of a row's `words` its most frequent tag in the `words` and `tags` of training.

    Words that do not occur in training, with the same case and spelling, get the most frequent tag of all words.
    """
    tags_of_word: defaultdict[str, Counter[str]] = defaultdict(Counter)
    all_tags: Counter[str] = Counter()
    for row in train:
        all_tags.update(row["tags"])
        for word, tag in zip(row["words"], row["tags"]):
            tags_of_word[word][tag] += 1
    best_tag = {word: counts.most_common(1)[0][0] for word, counts in tags_of_word.items()}
    fallback = all_tags.most_common(1)[0][0]
    return [[best_tag.get(word, fallback) for word in row["words"]] for row in rows]


class TaggingTask(Task):
    """Tags of words. Its option is `tag_column`, the column of a CoNLL-U file that holds them."""

    kind = "token-classification"

    @property
    def row_format(self) -> RowFormat:
        """The format of tagged sentences, in CoNLL, CoNLL-U and tables."""
        column = self.options.get("tag_column", "upos")
        readers = {".conll": read_conll, ".conllu": partial(read_conllu, tag_column=column)}
        return self._with_known(replace(TAGGED_SENTENCES, readers=readers), "tags")

    def fields(self, row: Row) -> Row:
        """Return the words."""
        return {"text": "", "words": row["words"]}

    def answer(self, prediction: Any) -> list[str]:
        """Return the tags."""
        return prediction.record["tags"]

    def score(self, rows: Sequence[Row], answers: Answers) -> dict[str, float]:
        """Return the accuracy of tags and, if all right ones are of the form B-X, I-X and O, the F1 of entities."""
        gold = [row["tags"] for row in rows]
        entities = all(tag == "O" or tag[:2] in ("B-", "I-") for sentence in gold for tag in sentence)
        return scores(["entity_f1", "tag_accuracy"][not entities :], predictions=answers, references=gold)

    def baselines(self, train: Sequence[Row] | None = None) -> Baselines:
        """Return the one that counts the tags of each word."""
        return {} if train is None else {"most frequent tag of each word": partial(most_frequent_tags, train)}
