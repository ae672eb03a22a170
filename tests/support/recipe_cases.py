"""A small run of each recipe that trains: its data and options, what it writes, and what it refuses.

Each test set has rows that training contradicts, so that no score is perfect.
"""

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaDecoderForSequenceClassification,
    AtentaEncoderForMaskedLM,
    AtentaEncoderForTokenClassification,
)
from atenta.recipes.retrieval import COMBINATIONS, EDITS, NGRAMS
from atenta.recipes.tasks.classification import ClassificationTask
from atenta.recipes.tasks.questions import QuestionTask
from atenta.recipes.tasks.tagging import TaggingTask
from atenta.recipes.tasks.transduction import PairTask
from atenta.tokenization.base_letters import strip_accents
from support.recipes import arguments, run_recorded, tiny

_LEARNING = {"max_steps": 60, "eval_steps": 30, "save_steps": 30, "logging_steps": 10, "hidden_size": 32}
_OF_CHARACTERS = {"uniform characters", "unigram characters", "6-gram characters"}

PAIRS = [("ser", "sou", "V;1;SG"), ("ver", "vês", "V;2;SG"), ("ir", "vão", "V;3;PL"), ("V<V>", "V<3>", "V;3;SG")]
TEST_PAIRS = [*PAIRS, ("ser", "é", "V;1;SG"), ("ver", "vês", "V;2;SG"), ("ir", "foi", "V;3;PL")]
SPOKEN = [
    ("casa", "ˈ k a z ə", "br"),
    ("caso", "k a z u", "pt"),
    ("saca", "ˈ s a k ə", "br"),
    ("taxi", "t a k s i", "pt"),
]
TEST_SPOKEN = [*SPOKEN, ("casa", "ˈ k a s ə", "br"), ("saco", "s a k u", "pt")]
VERSES = ["Ora direis ouvir estrelas", "Certo perdeste o senso", "E eu vos direi no entanto", "que para ouvi-las"]
TEST_VERSES = ["muita vez desperto", "e abro as janelas pálido de espanto"]
LABELS = [("casa", "nome"), ("rua", "nome"), ("lua", "nome"), ("cantar", "verbo"), ("falar", "verbo")]
TEST_LABELS = [*LABELS, ("casa", "verbo"), ("falar", "nome")]
TAGGED = [
    [("Machado", "B-PER"), ("de", "I-PER"), ("Assis", "I-PER"), ("escreveu", "O")],
    [("Vive", "O"), ("no", "O"), ("Rio", "B-LOC")],
    [("O", "O"), ("Rio", "B-LOC"), ("é", "O"), ("belo", "O")],
]
TEST_TAGGED = [
    *TAGGED,
    [("Rio", "B-PER"), ("escreveu", "O")],
    [("Assis", "B-LOC"), ("é", "O"), ("no", "O"), ("Rio", "B-LOC")],
]
CONTEXTS = [
    "Machado nasceu em 1839 no Rio, e Alencar nasceu em 1829 no Ceara.",
    "Eça nasceu em 1845 na Povoa, e Pessoa nasceu em 1888 em Lisboa.",
]
# Question, number of its context, accepted answers with their positions.
QUESTIONS = [
    ("Quando nasceu Machado?", 0, {"1839": 18}),
    ("Onde nasceu Alencar?", 0, {"Ceara": 59, "no Ceara": 56}),
    ("Quando nasceu Pessoa?", 1, {"1888": 48}),
    ("Onde nasceu Pessoa?", 1, {"Lisboa": 56}),
]
PROMPTS = [("Bom dia!", "Bom dia, senhor."), ("Quem é?", "Sou eu."), ("Vens?", "Já vou!")]
TEST_PROMPTS = [*PROMPTS, ("Boa noite!", "Até amanhã.")]
ACCENTED = ["Ela está lá.", "Esta ação é só dela.", "E a mãe não vem.", "Já é café com pão."]
TEST_ACCENTED = [*ACCENTED, "A ação não é dela.", "Está só, e não vem!"]
NAMES = ["oliveira", "nesterov", "waldemar", "mendonça", "figueira", "barbosa", "carvalho", "teixeira"]
TEST_NAMES = ["azevedo", "pereira"]


def lines(*rows: Sequence[str] | str) -> str:
    """Return lines of a text, or of a table whose cells are separated by tabs."""
    return "".join((row if isinstance(row, str) else "\t".join(row)) + "\n" for row in rows)


def jsonl(*rows: Mapping[str, Any]) -> str:
    """Return JSON objects, one in each line."""
    return lines(*(json.dumps(row, ensure_ascii=False) for row in rows))


def conll(sentences: Sequence[Sequence[tuple[str, str]]]) -> str:
    """Return sentences of words and tags as CoNLL."""
    return lines(*(line for sentence in sentences for line in (*(f"{word} {tag}" for word, tag in sentence), "")))


def squad(rows: Sequence[tuple[str, int, Mapping[str, int]]]) -> str:
    """Return rows like `QUESTIONS` as a SQuAD file with one paragraph for each."""
    paragraphs = []
    for number, (question, context, answers) in enumerate(rows):
        found = [{"text": text, "answer_start": start} for text, start in answers.items()]
        asked = {"id": f"question {number}", "question": question, "answers": found}
        paragraphs.append({"context": CONTEXTS[context], "qas": [asked]})
    return json.dumps({"data": [{"title": "", "paragraphs": paragraphs}]})


def accented(sentences: Sequence[str], *further: str) -> str:
    """Return sentences after themselves without accents."""
    return lines(*((strip_accents(sentence), sentence, *further) for sentence in sentences))


def misspelt(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return names after themselves without each of their letters."""
    return list(dict.fromkeys((f"{name[:at]}{name[at + 1 :]}", name) for name in names for at in range(len(name))))


@dataclass(frozen=True)
class Case:
    """A small run.

    Attributes:
        auto_class: The auto class that loads the model without the package.
        baselines: What the test is scored with besides the model.
        metric: A score that may choose the best checkpoint.
        files: Contents of the files of `train`, `validation` and perhaps `test`, by name.
        bad: The name and the content of a file with a malformed row, and what the message says after the file's name.
        other: A class of models that the recipe cannot start from, and the type that it expects.
        columns: Names of the first columns of `predictions.tsv`, and the texts in the column `gold`.
        score: Returns the scores of the rows of `predictions.tsv`.
        options: Options of the run.
        command: Whether the end names a command that predicts one text.
    """

    auto_class: str
    baselines: set[str]
    metric: str
    files: Mapping[str, str]
    bad: tuple[str, str, str]
    other: tuple[type[PreTrainedModel], str]
    columns: tuple[list[str], list[str]] | None = None
    score: Callable[[list[dict[str, str]]], Mapping[str, float]] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    command: bool = False


def _targets_and_outputs(rows: Sequence[Mapping[str, str]]) -> tuple[list[dict[str, str]], list[str]]:
    of_rows = [{"source": row["source"], "target": row["gold"]} for row in rows]
    return of_rows, [row.get("output 1", row.get("output", "")) for row in rows]


_verses = lines(*(line for verse in VERSES * 4 for line in (verse, "")))
_not_an_encoder = AtentaDecoderForCausalLM, "atenta_encoder"
_not_a_decoder = AtentaEncoderForMaskedLM, "atenta_decoder"
_not_two_stacks = AtentaDecoderForCausalLM, "atenta_encoder_decoder"

CASES = {
    "seq2seq": Case(
        "AutoModelForSeq2SeqLM",
        {"left as it is", "most frequent in training", "letters in context"},
        "word_accuracy",
        {
            "train.tsv": lines(*PAIRS * 4),
            "validation.jsonl": jsonl(*(dict(zip(("source", "target", "tags"), row)) for row in PAIRS)),
            "test.tsv": lines(("source", "target", "tags"), *TEST_PAIRS),
        },
        ("bad.tsv", "a\tb\nno tab here\n", ", line 2: found 1 column"),
        _not_two_stacks,
        (["source", "tags", "gold", "output 1", "score 1", "output 2", "score 2"], [row[1] for row in TEST_PAIRS]),
        score=lambda rows: PairTask(metrics=["word_accuracy", "exact_match", "chrf"]).score(
            *_targets_and_outputs(rows)
        ),
        options=_LEARNING
        | {"num_beams": 3, "num_return_sequences": 2, "metrics": ["word_accuracy", "exact_match", "chrf"]},
        command=True,
    ),
    "pretrain_denoising": Case(
        "AutoModelForSeq2SeqLM",
        {"left as it is"},
        "chrf",
        {"train.txt": _verses, "validation.txt": _verses},
        ("bad.jsonl", jsonl({"text": "a"}, {"text": 3}), ", line 2: found 3 (int) as the text"),
        _not_two_stacks,
        (["source", "gold", "output 1", "score 1"], VERSES * 4),
        score=lambda rows: PairTask(metrics=["chrf", "character_error_rate"]).score(*_targets_and_outputs(rows)),
        options={"sample_by": "paragraph", "noise_density": 0.2},
    ),
    "pretrain_masked": Case(
        "AutoModelForPreTraining",
        {"most frequent"},
        "masked_accuracy",
        {
            "train.jsonl": jsonl(*[{"text": "\n".join(VERSES)}] * 8),
            "validation.txt": lines(*VERSES),
            "test.txt": lines(*VERSES[::-1], *VERSES),
        },
        ("bad.jsonl", jsonl({"text": "a"}, {"text": 3}), ", line 2: found 3 (int) as the text"),
        _not_an_encoder,
        options={"max_length": 64},
    ),
    "pretrain_causal": Case(
        "AutoModelForCausalLM",
        _OF_CHARACTERS,
        "bits_per_character",
        {
            "train.txt": _verses,
            "validation.jsonl": jsonl(*({"text": verse} for verse in VERSES)),
            "test.csv": lines("text", '"{}\n\n{}"'.format(*TEST_VERSES)),
        },
        ("bad.csv", 'text\na\n" "\n', ", line 3: found"),
        _not_a_decoder,
        options={"sample_by": "paragraph", "max_length": 128, "prompt": "Ora ", "sample_length": 20},
        command=True,
    ),
    "finetune_classification": Case(
        "AutoModelForSequenceClassification",
        {"most frequent label", "n-grams of characters"},
        "accuracy",
        {
            "train.csv": lines("label,text", *(f'{label},"{text}"' for text, label in LABELS * 4)),
            "validation.jsonl": jsonl(*({"text": text, "label": label} for text, label in LABELS)),
            "test.tsv": lines(("text", "label"), *TEST_LABELS),
        },
        ("bad.csv", 'text,label\ncasa,nome\nrua," "\n', ", line 3: found an empty label"),
        (AtentaDecoderForSequenceClassification, "atenta_encoder"),  # it has such a head too
        (["text", "output", "gold"], [label for _, label in TEST_LABELS]),
        score=lambda rows: ClassificationTask().score(
            [{"label": row["gold"]} for row in rows], [row["output"] for row in rows]
        ),
        options=_LEARNING,
        command=True,
    ),
    "finetune_tagging": Case(
        "AutoModelForTokenClassification",
        {"most frequent tag of each word"},
        "precision",
        {"train.conll": conll(TAGGED * 4), "validation.conll": conll(TAGGED), "test.conll": conll(TEST_TAGGED)},
        ("bad.conll", "Rio B-LOC\nbelo\n", ", line 2: found 1 column(s) in 'belo'"),
        _not_an_encoder,
        (["words", "output", "gold"], [" ".join(tag for _, tag in sentence) for sentence in TEST_TAGGED]),
        score=lambda rows: TaggingTask().score(
            [{"tags": row["gold"].split()} for row in rows], [row["output"].split() for row in rows]
        ),
        options={**_LEARNING, "max_steps": 80, "eval_steps": 40, "save_steps": 40},
        command=True,
    ),
    "finetune_qa": Case(
        "AutoModelForQuestionAnswering",
        {"random span", "most similar sentence"},
        "exact_match",
        {"train.json": squad(QUESTIONS * 2), "validation.json": squad(QUESTIONS[:2]), "test.json": squad(QUESTIONS)},
        (
            "bad.json",
            squad([(QUESTIONS[0][0], 0, {"1839": 3}), QUESTIONS[1], ("Que fez?", 0, {"nasceu": 3})]),
            ", question question 2: found 'hado n' at answer_start 3",  # the other wrong one is corrected
        ),
        _not_an_encoder,
        (["question", "output", "gold"], [" | ".join(answers) for _, _, answers in QUESTIONS]),
        score=lambda rows: QuestionTask().score(
            [{"answers": {"text": row["gold"].split(" | ")}} for row in rows], [row["output"] for row in rows]
        ),
        options={**_LEARNING, "max_length": 64, "stride": 16, "max_answer_length": 12},
    ),
    "finetune_generation": Case(
        "AutoModelForCausalLM",
        _OF_CHARACTERS,
        "bits_per_character",
        {
            "train.tsv": lines(("prompt", "answer"), *PROMPTS * 4),
            "validation.tsv": lines(("prompt", "answer"), *PROMPTS),
            "test.jsonl": jsonl(*({"prompt": prompt, "answer": answer} for prompt, answer in TEST_PROMPTS)),
        },
        ("bad.jsonl", jsonl({"prompt": " ", "answer": "Sim."}), ", line 1: found an empty prompt"),
        _not_a_decoder,
        options={"max_length": 64},
        command=True,
    ),
    "finetune_characters": Case(
        "AutoModelForTokenClassification",
        {"left as it is", "most frequent spelling", "most frequent after the word before"},
        "choice_error_rate",
        {
            "train.tsv": accented(ACCENTED * 8),
            "validation.tsv": accented(ACCENTED),
            "test.tsv": accented(TEST_ACCENTED, "news"),
        },
        ("bad.tsv", "a\tá\nacao\tações\n", ", line 2"),
        (
            AtentaEncoderForTokenClassification,
            "an encoder, as pretrain_masked.py saves it, or one of the kind character-restoration",
        ),
        (["domain", "source", "gold"], TEST_ACCENTED),
        options={
            **{**_LEARNING, "max_length": 64, "min_spelling_count": 1, "min_variant_count": 1},
            "min_character_count": 1,
        },
    ),
    "finetune_letters": Case(
        "AutoModelForTokenClassification",
        {"left as it is", "most frequent in training", "letters in context"},
        "word_error_rate",
        {"train.tsv": lines(*SPOKEN * 8), "validation.tsv": lines(*SPOKEN), "test.tsv": lines(*TEST_SPOKEN)},
        ("bad.tsv", "a\tb\nno tab here\n", ", line 2: found 1 column"),
        (
            AtentaEncoderForTokenClassification,
            "an encoder, as pretrain_masked.py saves it, or one of the kind letters-to-units",
        ),
        (["source", "tags", "gold", "output"], [phones for _, phones, _ in TEST_SPOKEN]),
        score=lambda rows: PairTask(metrics=["phone_error_rate"]).score(*_targets_and_outputs(rows)),
        options=_LEARNING | {"max_length": 32, "metrics": ["phone_error_rate"], "several_targets": False},
    ),
    "train_embeddings": Case(
        "AutoModel",
        {"chance", NGRAMS, EDITS, *COMBINATIONS},
        "mean_reciprocal_rank",
        {
            "train.tsv": lines(("anchor", "positive"), *misspelt(NAMES)),
            "validation.tsv": lines(("anchor", "positive"), *misspelt(["machado"])),
            "test.tsv": lines(("anchor", "positive"), *misspelt(TEST_NAMES)),
        },
        ("bad.tsv", "anchor\tpositive\na\n", ", line 2"),
        _not_an_encoder,
        (["query", "output", "gold"], [name for _, name in misspelt(TEST_NAMES)]),
        options={
            **{"per_device_train_batch_size": 4, "max_length": 16, "metric_for_best_model": "mean_reciprocal_rank"},
            **{"edit_distance": True, "tfidf_sizes": [1, 2], "hard_negatives": True},
        },
    ),
}


@dataclass(frozen=True)
class Trained:
    """A finished run of a case.

    Attributes:
        name: The recipe.
        folder: The output folder.
        files: The options that name the data.
        command: All words of the command line after the recipe's name.
        done: What was printed.
    """

    name: str
    folder: Path
    files: Mapping[str, Path]
    command: list[str]
    done: subprocess.CompletedProcess[str]

    @property
    def case(self) -> Case:
        """The case."""
        return CASES[self.name]


def write_files(case: Case, folder: Path) -> dict[str, Path]:
    """Write the data of a case into a folder, and return the options that name them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in case.files.items():
        (folder / name).write_text(content, encoding="utf-8")
    return {f"{Path(name).stem}_file": folder / name for name in case.files}


def train_case(name: str, folder: Path, run: Callable[..., Any] = run_recorded) -> Trained:
    """Run a case in a folder, in this process by default."""
    case = CASES[name]
    files = write_files(case, folder / "data")
    command = tiny(name, **files, **case.options, output_dir=folder / "model")
    return Trained(name, folder / "model", files, command, run(name, folder, *command))


def refused_files(name: str, folder: Path, file: Path | None = None, **options: object) -> list[str]:
    """Return words of a command line: the data of a case, or a file in their place, its options and others."""
    case = CASES[name]
    files = {"train_file": file, "validation_file": file} if file else write_files(case, folder / "data")
    return arguments(**files, **{**case.options, **options})
