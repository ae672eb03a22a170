"""Tiny taggers of characters."""

from atenta import AtentaEncoderForTokenClassification, AtentaTokenizer, CharacterRestorer
from atenta.restoration.character_codes import base_characters
from support.models import tiny_model

VARIANTS = {"a": "aáàâã", "c": "cç", "e": "eéê", "A": "AÁ", "E": "EÉ"}
BASES = base_characters(VARIANTS)


def make_restorer(window_length=40, spellings=None, variants=VARIANTS, task_options=None, **options):
    """Return a restorer with random weights and the default alphabet."""
    tokenizer = AtentaTokenizer.from_alphabet(family="encoder")
    labels = sorted({variant for of_character in variants.values() for variant in of_character})
    model = tiny_model(
        AtentaEncoderForTokenClassification,
        vocab_size=len(tokenizer),
        position_embedding_type="rotary",
        id2label=dict(enumerate(labels)),
        label2id={label: index for index, label in enumerate(labels)},
        character_variants=variants,
        window_length=window_length,
        spellings_file="spellings.txt" if spellings else None,
        **options,
    )
    if task_options:
        model.config.task_specific_params = {"character-restoration": task_options}
    return CharacterRestorer(model, tokenizer, spellings)
