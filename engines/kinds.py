"""The kinds of model: what each does, what loads it, its task on the Hub, and its words and code on a card."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .saved_model import CONFIG, class_of

# Code on a card, in which `usage_example.py` replaces the names in capitals.
LOADED = """\
import torch
from transformers import AUTO_CLASS, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(NAME, trust_remote_code=True)
model = AUTO_CLASS.from_pretrained(NAME, trust_remote_code=True).eval()
"""
_PIPELINE = "from transformers import pipeline\n\n"
_CONTINUE = f"""\
{_PIPELINE}generate = pipeline("text-generation", model=NAME, trust_remote_code=True)
print(generate(EXAMPLE, max_new_tokens=50)[0]["generated_text"])
"""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of model.

    Attributes:
        name: No two kinds have the same. It is saved with a model if other kinds have the same head.
        task: name of its pipeline, if it has one, and of its options in `task_specific_params`.
        head: end of the names of its classes.
        auto_class: name of transformers' auto class that loads it.
        pipeline_tag: its task on the Hub; `None` if the Hub has none for it.
        is_of: says whether a model with this head is of this kind, if it was saved without the name of its kind. If
            it is missing, a kind whose name is that of its task takes the models that no other kind takes, and any
            other kind only those that were saved with its name.
        about: what it does, in the languages of cards; `NUM_LABELS` is the number of its labels.
        usage: Python that runs it, for its card.
        example: a text to try it with.
    """

    name: str
    task: str
    head: str
    auto_class: str
    about: Mapping[str, str]
    usage: str
    pipeline_tag: str | None = None
    is_of: Callable[[Mapping[str, Any]], bool] | None = None
    example: str = "um texto"


def saved_options(config: Mapping[str, Any], task: str) -> Mapping[str, Any]:
    """Return what a recipe saved with its model: the options of a pipeline's task in a `config.json`."""
    return (config.get("task_specific_params") or {}).get(task, {})


def prompt_separator(config: Mapping[str, Any]) -> str:
    """Return what separated prompts from answers in the training of a decoder: nothing for one that continues texts.

    Raises:
        ValueError: If it is not a text.
    """
    options = saved_options(config, "text-generation")
    separator = options.get("separator", "\n" if options.get("prompts") else "")  # earlier versions saved `prompts`
    if not isinstance(separator, str):
        raise ValueError(f"{CONFIG}: separator is {separator!r:.60}; expected a text.")
    return separator


def _tags_characters(config: Mapping[str, Any]) -> bool:
    return bool(config.get("character_variants"))


def writes_units(config: Mapping[str, Any]) -> bool:
    """Return whether a model is a tagger of characters that writes the units of words, rather than restored texts."""
    return _tags_characters(config) and "tag_characters" in saved_options(config, "character-restoration")


def _kind(name: str, head: str, task: str | None = None, auto_class: str | None = None, **others: Any) -> Kind:
    """Return a kind. Unless it is said otherwise, its task and that of the Hub are called as it is."""
    task = task or name
    names = {"name": name, "head": head, "task": task, "auto_class": auto_class or f"AutoModel{head}"}
    return Kind(**{"pipeline_tag": task, **names, **others})


# Those that have a head in common: the ones that `is_of` tells come first, the more special before the others.
_KINDS = (
    _kind(
        name="feature-extraction",
        head="Model",
        auto_class="AutoModel",
        about={
            "en": "It turns each character of a text into a vector. Train it further on a task of yours.",
            "pt": "Transforma cada caractere de um texto num vetor. É um ponto de partida: treine-o numa tarefa sua.",
        },
        usage=f"""\
{LOADED}inputs = tokenizer([EXAMPLE], return_tensors="pt")
with torch.no_grad():
    print(model(**inputs).last_hidden_state.shape)
""",
    ),
    _kind(
        name="pretraining",
        head="ForPreTraining",
        pipeline_tag=None,
        about={
            "en": "It predicts masked characters and whether one text follows another. Train it further on a task of "
            "yours.",
            "pt": "Prevê caracteres mascarados e se um texto é a continuação de outro. É um ponto de partida: "
            "treine-o numa tarefa sua.",
        },
        usage=f"""\
{LOADED}inputs = tokenizer("Bom d<mask>a.", "Como está?", return_tensors="pt")
with torch.no_grad():
    outputs = model(**inputs)
masked = inputs.input_ids[0] == tokenizer.mask_token_id
print(tokenizer.decode(outputs.prediction_logits[0, masked].argmax(-1)))
print(f"the second text follows the first: {{outputs.seq_relationship_logits[0].softmax(-1)[0]:.3f}}")
""",
    ),
    _kind(
        name="fill-mask",
        head="ForMaskedLM",
        about={
            "en": "It predicts the characters that are masked in a text.",
            "pt": "Prevê os caracteres mascarados de um texto.",
        },
        usage=f"""\
{_PIPELINE}fill = pipeline("fill-mask", model=NAME, trust_remote_code=True)
for prediction in fill("Bom d<mask>a"):
    print(prediction["token_str"], round(prediction["score"], 3))
""",
    ),
    _kind(
        name="next-sentence-prediction",
        head="ForNextSentencePrediction",
        pipeline_tag=None,
        about={"en": "It tells whether one text follows another.", "pt": "Diz se um texto é a continuação de outro."},
        usage=f"""\
{LOADED}inputs = tokenizer("Está a chover.", "Levo o guarda-chuva.", return_tensors="pt")
with torch.no_grad():
    follows, does_not = model(**inputs).logits[0].softmax(-1).tolist()
print(f"the second text follows the first: {{follows:.3f}}")
""",
    ),
    _kind(
        name="text-classification",
        head="ForSequenceClassification",
        about={"en": "It gives a text one of NUM_LABELS labels.", "pt": "Dá a um texto um de NUM_LABELS rótulos."},
        usage=f"""\
{_PIPELINE}classify = pipeline("text-classification", model=NAME, trust_remote_code=True)
print(classify(EXAMPLE))
""",
        example="Gostei muito deste livro.",
    ),
    _kind(
        name="letters-to-units",
        task="character-restoration",
        head="ForTokenClassification",
        pipeline_tag="token-classification",
        is_of=writes_units,
        about={
            "en": "It writes what each letter of a word becomes.",
            "pt": "Escreve em que cada letra de uma palavra se transforma.",
        },
        usage="""\
from atenta import CharacterRestorer
from atenta.phonemization.letter_tagger import LetterTagger

tagger = LetterTagger(CharacterRestorer.from_pretrained(NAME))
print(tagger.write([EXAMPLE], [TAG], n_best=2))
""",
        example="palavra",
    ),
    _kind(
        name="character-restoration",
        head="ForTokenClassification",
        pipeline_tag="token-classification",
        is_of=_tags_characters,
        about={
            "en": "It restores characters that a text has lost, such as accents or capitals.",
            "pt": "Devolve a um texto os caracteres que ele perdeu, como acentos ou maiúsculas.",
        },
        usage=f"""\
{_PIPELINE}restore = pipeline("character-restoration", model=NAME, trust_remote_code=True)
print(restore(EXAMPLE)["restored_text"])
print(restore(EXAMPLE, min_confidence=0.99, return_probabilities=True))
""",
        example="A acao comecou amanha, nao e?",
    ),
    _kind(
        name="token-classification",
        head="ForTokenClassification",
        about={
            "en": "It tags the characters of a text, and so its words and names.",
            "pt": "Etiqueta os caracteres de um texto e, com eles, as palavras e os nomes.",
        },
        usage=f"""\
{_PIPELINE}tag = pipeline(
    "token-classification", model=NAME, trust_remote_code=True, aggregation_strategy="simple"
)
for span in tag(EXAMPLE):
    print(span["entity_group"], span["start"], span["end"])
""",
        example="Machado de Assis nasceu no Rio de Janeiro.",
    ),
    _kind(
        name="question-answering",
        head="ForQuestionAnswering",
        about={
            "en": "It finds the answer to a question in a text.",
            "pt": "Encontra num texto a resposta a uma pergunta.",
        },
        usage=f"""\
{_PIPELINE}answer = pipeline("question-answering", model=NAME, trust_remote_code=True)
print(answer(question="Onde nasceu Machado de Assis?", context="Machado de Assis nasceu no Rio de Janeiro."))
""",
    ),
    _kind(
        name="pair-votes",
        task="text-generation",
        head="PairVotesForCausalLM",
        auto_class="AutoModelForCausalLM",
        is_of=lambda config: True,
        about={
            "en": "It continues a text by votes of pairs of tokens.",
            "pt": "Continua um texto por votos de pares de tokens.",
        },
        usage=_CONTINUE,
        example="Era uma vez",
    ),
    _kind(
        name="prompt-answering",
        task="text-generation",
        head="ForCausalLM",
        is_of=lambda config: bool(prompt_separator(config)),
        about={
            "en": "It answers a prompt, which ends with a line break.",
            "pt": "Responde a um prompt, que termina numa quebra de linha.",
        },
        usage=_CONTINUE,
        example="Era uma vez",
    ),
    _kind(
        name="text-generation",
        head="ForCausalLM",
        about={
            "en": "It predicts the next character, and so continues a text.",
            "pt": "Prevê o próximo caractere e assim continua um texto.",
        },
        usage=_CONTINUE,
        example="Era uma vez",
    ),
    # The Hub has no such task, and would show code of another one for the nearest.
    _kind(
        name="text2text-generation",
        head="ForConditionalGeneration",
        pipeline_tag=None,
        auto_class="AutoModelForSeq2SeqLM",
        about={"en": "It turns one text into another.", "pt": "Transforma um texto em outro."},
        usage=f"""\
{_PIPELINE}transform = pipeline("text2text-generation", model=NAME, trust_remote_code=True)
print(transform(EXAMPLE)[0]["generated_text"])
""",
    ),
)
KINDS = {kind.name: kind for kind in _KINDS}


def kind_of(config: Mapping[str, Any], class_name: str | None = None) -> Kind:
    """Return the kind of a saved model, from its `config.json`.

    Args:
        config: the configuration.
        class_name: name of the model's class; by default the one that `architectures` has.

    Raises:
        ValueError: If its class is of no kind, or the name that was saved is that of none with its head.
    """
    class_name = class_of(config) if class_name is None else class_name
    of_head = [kind for kind in _KINDS if class_name.endswith(kind.head)]
    if not of_head:
        heads = ", ".join(dict.fromkeys(kind.head for kind in _KINDS))
        raise ValueError(
            f"{CONFIG} has {class_name} in architectures; expected a class whose name ends in one of {heads}."
        )
    saved = next(filter(None, (saved_options(config, kind.task).get("kind") for kind in of_head)), None)
    for kind in of_head:
        if saved:
            is_it = saved == kind.name
        elif kind.is_of is not None:
            is_it = kind.is_of(config)
        else:
            is_it = kind.name == kind.task
        if is_it:
            return kind
    expected = ", ".join(kind.name for kind in of_head)
    raise ValueError(f"{CONFIG}: the kind of {class_name} is {saved!r:.60}; expected one of {expected}.")


def auto_class_of(class_name: str) -> str:
    """Return the name of transformers' auto class that loads a class of models; those of a head have the same."""
    return kind_of({}, class_name).auto_class


def class_names(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of classes by their numbers, as in a `config.json`, which lacks those of a model by default."""
    return config.get("id2label") or {"0": "LABEL_0", "1": "LABEL_1"}
