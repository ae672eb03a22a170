"""Words as tokens, for a model of words to compare with models of characters."""

from collections.abc import Iterable

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

PAD, BOS, EOS, UNKNOWN = SPECIAL = ("<pad>", "<bos>", "<eos>", "<unk>")


def make_word_tokenizer(texts: Iterable[str], vocab_size: int) -> PreTrainedTokenizerFast:
    """Return a tokenizer whose tokens are the most frequent words of texts.

    A word is a run of letters and digits, or a run of other characters without white space, after NFC; capitals count.
    A text is `<bos> words`, as a decoder reads it. Any other word is `<unk>`, and white space is lost: decoded words
    are joined by single spaces.

    Args:
        texts: read once.
        vocab_size: most tokens, the four special ones among them.

    Raises:
        ValueError: `vocab_size` is below 5.
    """
    expect_room_for_words(vocab_size)
    backend = Tokenizer(models.WordLevel(unk_token=UNKNOWN))
    backend.normalizer = normalizers.NFC()
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordLevelTrainer(vocab_size=vocab_size, special_tokens=list(SPECIAL), show_progress=False)
    backend.train_from_iterator(texts, trainer)
    backend.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A", special_tokens=[(BOS, backend.token_to_id(BOS))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token=PAD,
        bos_token=BOS,
        eos_token=EOS,
        unk_token=UNKNOWN,
        padding_side="left",
        split_special_tokens=True,
        model_input_names=["input_ids", "attention_mask"],
    )


def expect_room_for_words(vocab_size: int) -> None:
    """Check the option.

    Raises:
        ValueError: it is below 5.
    """
    if vocab_size <= len(SPECIAL):
        raise ValueError(f"--vocab_size is {vocab_size}; expected {len(SPECIAL) + 1} or more: {', '.join(SPECIAL)} …")
