"""Long documents cut into texts that a model can read whole."""

import re
from bisect import bisect_left

from transformers import PreTrainedTokenizerBase

# Up to where a text may go, from best to worst: the end of a line, of a sentence, of a word.
ENDS = [re.compile(end, re.DOTALL) for end in (r".*\n", r".*[.!?…][\"'”’»)]*\s", r".*\s")]
LONGEST_CHARACTER = 4  # bytes in UTF-8, each of them a token where the alphabet lacks the character


def cut(document: str, tokenizer: PreTrainedTokenizerBase, max_tokens: int) -> list[str]:
    """Cut a document into consecutive texts of at most `max_tokens` tokens, special tokens not counted.

    A text takes in as many lines as it can hold; of a line too long for it as many sentences, of such a sentence as
    many words, of such a word as many characters. Nothing is lost but white space at both ends of the texts, and
    texts of white space alone.

    Returns:
        The texts in NFC.

    Raises:
        ValueError: `max_tokens` is below 4, which one character may need.
    """
    if max_tokens < LONGEST_CHARACTER:
        raise ValueError(
            f"--max_length leaves {max_tokens} tokens to a text; expected {LONGEST_CHARACTER} or more, which one "
            "character outside the alphabet may need: raise it."
        )
    document = tokenizer.backend_tokenizer.normalizer.normalize_str(document)
    offsets = tokenizer(
        document, add_special_tokens=False, split_special_tokens=True, return_offsets_mapping=True, verbose=False
    ).offset_mapping
    starts = [start for start, _ in offsets]  # of tokens; the bytes of one character start at one place
    texts, start = [], 0
    while start < len(document):
        beyond = bisect_left(starts, start) + max_tokens  # the first token that a text would not hold
        end = _end(document, start, starts[beyond]) if beyond < len(starts) else len(document)
        texts.append(document[start:end].strip())
        start = end
    return [text for text in texts if text]


def _end(document: str, start: int, limit: int) -> int:
    # White space at the limit itself will be stripped: it may be the one that a text ends with.
    matches = (end.match(document, start, limit + 1) for end in ENDS)
    return next((match.end() for match in matches if match), limit)
