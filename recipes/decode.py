"""Transform texts with a saved encoder-decoder: `python recipes/decode.py outputs/accents "A acao comecou"`.

Sources are the arguments, the lines of --files, or the lines of the standard input; each gives one line of output.
Texts longer than those of training are decoded in windows, which are joined again. The script does not need the
atenta package: the folder, or the repository on the Hub, holds weights, tokenizer and code. Only ensembles
(--ensemble) need it.
"""

import argparse
import csv
import json
import re
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any

import torch
from tqdm.auto import tqdm
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

# White space that windows do not hold: all but single spaces between words.
GAP = re.compile(r"\A\s+|\s+\Z|\s{2,}|[^\S ]")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’»)\]]*\Z")
_SHOWN = 40  # characters of a source in a warning
_IMPOSSIBLE = -1e5  # a sum of log-probabilities below that of any output that the letters allow


def load_pretrained(name: str) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Load a model with the tokenizer and the code that are saved with it.

    Args:
        name: A folder, or a repository on the Hub whose code you trust.

    Raises:
        SystemExit: If there is no such model.
    """
    if Path(name).is_dir() and not Path(name, "config.json").is_file():
        sys.exit(f"{name} is not a model: there is no config.json in this folder")
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=True)
        model = AutoModelForSeq2SeqLM.from_pretrained(name, trust_remote_code=True)
    except OSError as error:
        sys.exit(f"{name} is neither a folder with a model nor a model on the Hub: {error}")
    return tokenizer, model.eval()


def load_ensemble(names: Sequence[str]) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Load several models, each with [`load_pretrained`], that choose each character together.

    Raises:
        ValueError: If two have different vocabularies.
        SystemExit: If there is no such model.
    """
    from atenta.recipes.decoding.ensemble import Ensemble, check_same_vocabulary

    tokenizers, models = zip(*map(load_pretrained, names))
    check_same_vocabulary(dict(zip(names, tokenizers)))
    return tokenizers[0], Ensemble(models).eval()


def cut_windows(text: str, limit: int, cost: Callable[[str], int] = len) -> list[tuple[str, str]]:
    """Cut a text into windows, at the ends of sentences or else of words.

    White space other than single spaces between words always ends a window. A window ends with the last sentence, or
    else the last word, that fits. A word that does not fit into a window of its own is cut.

    Args:
        text: Any text.
        limit: Highest cost of a window.
        cost: The cost of a text, which is the sum of those of its characters; by default their number.

    Returns:
        Each window and the white space that follows it; all of them joined are the text. Windows do not begin or end
        with white space; one is empty if the text does.
    """
    windows, start = [], 0
    for gap in [*GAP.finditer(text), None]:
        piece = list(_fill_windows(text[start : gap.start() if gap else None], limit, cost))
        *whole, last = piece or [("", "")]
        windows += [*whole, (last[0], gap[0] if gap else "")]
        start = gap.end() if gap else start
    return [pair for pair in windows if any(pair)] or [("", "")]


def join_windows(
    windows: Sequence[tuple[str, str]], outputs: Sequence[Sequence[tuple[str, float]] | None]
) -> list[tuple[str, float]]:
    """Join the outputs for the windows of a text: the best ones, the second best ones, and so on.

    Args:
        windows: The windows and the white space after each, as [`cut_windows`] returns them.
        outputs: The outputs for each window and their scores, best first, or None for a window that is empty.

    Returns:
        As many texts and scores as the window with the most outputs has; the last output of another window is
        repeated. A score is the mean of those of the windows, weighted by their numbers of characters and `<eos>`.
    """
    ranks = max((len(each) for each in outputs if each is not None), default=1)
    joined = []
    for rank in range(ranks):
        text, total, characters = "", 0.0, 0
        for (_, gap), ranked in zip(windows, outputs):
            if ranked is not None:
                output, score = ranked[min(rank, len(ranked) - 1)]
                text += output
                total += score * (len(output) + 1)
                characters += len(output) + 1
            text += gap
        joined.append((text, total / max(characters, 1)))
    return joined


def _fill_windows(piece: str, limit: int, cost: Callable[[str], int]) -> Iterator[tuple[str, str]]:
    """Yield the windows of a text with single spaces, each with the space or nothing that follows it."""
    words = piece.split(" ")
    while words and words != [""]:
        total, fitting, ended = -1, 0, 0
        for number, word in enumerate(words, start=1):
            total += 1 + cost(word)
            if total > limit:
                break
            fitting = number
            if _SENTENCE_END.search(word):
                ended = number
        if fitting == len(words):
            yield " ".join(words), ""
            return
        if fitting:
            taken = ended or fitting
            yield " ".join(words[:taken]), " "
            del words[:taken]
        else:
            end = _longest_start(words[0], limit, cost)
            yield words[0][:end], ""
            words[0] = words[0][end:]


def _longest_start(word: str, limit: int, cost: Callable[[str], int]) -> int:
    """Return how many of a word's characters fit, at least one; a letter is not parted from its combining marks."""
    totals = accumulate(map(cost, word))
    end = sum(1 for _ in takewhile(lambda total: total <= limit, totals))
    while end > 1 and end < len(word) and unicodedata.combining(word[end]):
        end -= 1
    return max(end, 1)


@dataclass(frozen=True)
class _Window:
    """A part of a source that is decoded at once.

    Attributes:
        source: Index of the source.
        text: The part.
        gap: The white space after it.
        tags: Ids of the source's feature tags.
        ids: Ids that the encoder reads.
    """

    source: int
    text: str
    gap: str
    tags: Sequence[int]
    ids: Sequence[int]


@dataclass(frozen=True)
class _Output:
    """An output for a window: its text, its score, its number of tokens, and whether it ends with `<eos>`."""

    text: str
    score: float
    tokens: int
    finished: bool


def decode_texts(
    tokenizer: PreTrainedTokenizerBase,
    model: PreTrainedModel,
    sources: Sequence[str],
    batch_size: int = 64,
    num_beams: int = 1,
    keep_letters: bool = False,
) -> list[str]:
    """Return one output for each source. Outputs that were cut off or have an implausible length are named on stderr.

    Args:
        tokenizer: The model's tokenizer.
        model: An encoder-decoder.
        sources: Texts. If the model was trained with feature tags, they follow the text after a tab: `ser<TAB>V;3;PL`.
        batch_size: Number of windows decoded together.
        num_beams: Width of the beam search; 1 is greedy search.
        keep_letters: Whether an output must have the letters of its source; only their accents may change.

    Raises:
        ValueError: If a tag is unknown to the model.
    """
    ranked = _decode(tokenizer, model, sources, batch_size, keep_letters, num_beams=num_beams)
    return [outputs[0][0] for outputs in ranked]


def decode_texts_n_best(
    tokenizer: PreTrainedTokenizerBase,
    model: PreTrainedModel,
    sources: Sequence[str],
    batch_size: int = 64,
    keep_letters: bool = False,
    *,
    num_beams: int,
    num_return_sequences: int,
) -> list[tuple[str, str, float]]:
    """Return several outputs for each source, found by beam search. Arguments and errors: see [`decode_texts`].

    Args:
        num_return_sequences: Number of outputs for each source, at most `num_beams`, which must be at least 2. With
            `keep_letters` there are fewer if the letters allow fewer.

    Returns:
        Source, output and score, for each source its outputs, best first. The score is the sum of the output's
        log-probabilities, in nats, divided by its number of tokens, including `<eos>`, to the power of the
        `length_penalty` in the model's generation configuration (1 by default). If a source is cut into windows, their
        outputs are joined as in [`join_windows`].
    """
    search = {"num_beams": num_beams, "num_return_sequences": num_return_sequences}
    ranked = _decode(tokenizer, model, sources, batch_size, keep_letters, **search)
    return [(source, *output) for source, outputs in zip(sources, ranked) for output in outputs]


def _decode(
    tokenizer: PreTrainedTokenizerBase,
    model: PreTrainedModel,
    sources: Sequence[str],
    batch_size: int,
    keep_letters: bool,
    **search: int,
) -> list[list[tuple[str, float]]]:
    """Return the outputs of each source and their scores, best first."""
    config = getattr(model, "members", [model])[0].config  # an ensemble cuts as its first member does
    windows = _windows(tokenizer, sources, getattr(config, "window_length", None))
    filled = sorted((number for number, each in enumerate(windows) if each.text), key=lambda n: len(windows[n].ids))
    found: dict[int, list[_Output]] = {}
    with tqdm(total=len(filled), desc="decoding", unit="window", disable=None, delay=2) as bar:
        for start in range(0, len(filled), batch_size):
            numbers = filled[start : start + batch_size]
            outputs = _generate(tokenizer, model, [windows[n].ids for n in numbers], keep_letters, **search)
            found |= zip(numbers, outputs)
            bar.update(len(numbers))
    of_source = defaultdict(list)
    for number, window in enumerate(windows):
        of_source[window.source].append((window, found.get(number)))
    ratios = getattr(config, "length_ratios", None)
    # Only in our tokenizers is each character of training a token.
    known = tokenizer.get_vocab().keys() if hasattr(model, "letter_lock") and not keep_letters else None
    for index, source in enumerate(sources):
        for problem in _problems(of_source[index], ratios, known):
            shown = source if len(source) <= _SHOWN else source[: _SHOWN - 1] + "…"
            print(f"warning: source {index + 1}, {shown!r}: {problem}", file=sys.stderr)
    return [_join(of_source[index]) for index in range(len(sources))]


def window_cutter(
    tokenizer: PreTrainedTokenizerBase, window_length: int | None
) -> Callable[[str], list[tuple[str, str]]]:
    """Return a function that cuts a text with [`cut_windows`] as a model needs it.

    Args:
        tokenizer: The model's tokenizer.
        window_length: Number of tokens of the longest window, `<eos>` included, as in the model's configuration; with
            `None`, a text is never cut.
    """
    characters = tokenizer.get_vocab()

    def cost(text: str) -> int:
        return sum(1 if each in characters else len(each.encode()) for each in unicodedata.normalize("NFC", text))

    return lambda text: cut_windows(text, window_length - 1, cost) if window_length else [(text, "")]


def _windows(tokenizer: PreTrainedTokenizerBase, sources: Sequence[str], window_length: int | None) -> list[_Window]:
    """Cut and encode the sources.

    Raises:
        ValueError: If a tag is unknown to the model.
    """
    vocabulary, split_tags = tokenizer.get_vocab(), _has_tags(tokenizer)
    cut = window_cutter(tokenizer, window_length)
    windows = []
    for index, source in enumerate(sources):
        text, features = source.rsplit("\t", 1) if split_tags and "\t" in source else (source, "")
        tags = [f"<{feature}>" for feature in features.split(";") if feature]
        if unknown := [tag for tag in tags if tag not in vocabulary]:
            raise ValueError(f"{source!r}: {tokenizer.name_or_path} was trained without the tag {', '.join(unknown)}.")
        of_tags = [vocabulary[tag] for tag in tags]
        windows += [_Window(index, part, gap, of_tags, of_tags + tokenizer(part).input_ids) for part, gap in cut(text)]
    return windows


def _has_tags(tokenizer: PreTrainedTokenizerBase) -> bool:
    named = {str(token) for token in tokenizer.special_tokens_map.values() if not isinstance(token, list)}
    return bool(set(tokenizer.all_special_tokens) - named)


def _generate(
    tokenizer: PreTrainedTokenizerBase,
    model: PreTrainedModel,
    encoded: Sequence[Sequence[int]],
    keep_letters: bool,
    **search: int,
) -> list[list[_Output]]:
    """Return the outputs of `generate` for a batch of windows, best first."""
    batch = tokenizer.pad({"input_ids": encoded}, return_tensors="pt")
    options: dict[str, Any] = {**search, "return_dict_in_generate": True, "output_scores": True}
    if keep_letters:
        options["logits_processor"] = model.letter_lock(tokenizer, batch["input_ids"])
        options["max_length"] = max(model.generation_config.max_length or 0, batch["input_ids"].shape[1] + 1)
    with torch.inference_mode():
        output = model.generate(**batch, **options)
    ids = output.sequences[:, 1:]
    ends = ids == tokenizer.eos_token_id
    finished = ends.any(-1).tolist()
    # Beam search may pad with <eos>: what follows the first one is not part of the output.
    tokens = ((ends.cumsum(-1) - ends.long() == 0) & (ids != tokenizer.pad_token_id)).sum(-1).tolist()
    scores = output.sequences_scores.tolist() if "sequences_scores" in output else [0.0] * len(ids)
    texts = tokenizer.batch_decode(ids, skip_special_tokens=True)
    outputs = list(map(_Output, texts, scores, tokens, finished))
    each = len(outputs) // len(encoded)
    return [outputs[start : start + each] for start in range(0, len(outputs), each)]


def _problems(
    decoded: Sequence[tuple[_Window, Sequence[_Output] | None]],
    ratios: Sequence[float] | None,
    known: Collection[str] | None,
) -> Iterator[str]:
    """Yield what is suspicious about the best outputs of a source's windows.

    Args:
        decoded: The windows, and the outputs for those that are not empty.
        ratios: Lowest and highest plausible ratio of output tokens to source tokens.
        known: The model's alphabet, or None if other characters are kept too.
    """
    characters = {each for window, _ in decoded for each in unicodedata.normalize("NFC", window.text)}
    if known is not None and (unknown := characters - set(known)):
        yield f"training did not have {', '.join(map(repr, sorted(unknown)))}, which the model may get wrong"
    for window, outputs in decoded:
        if outputs is None:
            continue
        output, source_tokens = outputs[0], len(window.ids) - len(window.tags)
        where = "" if len(decoded) == 1 else f"in the part {window.text!r}, "
        if not output.finished:
            yield f"{where}the output is cut off at {output.tokens} characters, the most that the model may write"
        elif ratios and not ratios[0] <= output.tokens / source_tokens <= ratios[1]:
            shortest, longest = (round(ratio * source_tokens) - 1 for ratio in ratios)
            yield (
                f"{where}the output has {output.tokens - 1} characters for {source_tokens - 1}; training suggests "
                + (f"{shortest}" if shortest == longest else f"{shortest} to {longest}")
            )


def _join(decoded: Sequence[tuple[_Window, Sequence[_Output] | None]]) -> list[tuple[str, float]]:
    """Return the outputs of a source and their scores, without outputs that the letters do not allow."""
    windows = [(window.text, window.gap) for window, _ in decoded]
    possible = [
        outputs and [(each.text, each.score) for each in outputs if each.score * each.tokens > _IMPOSSIBLE]
        for _, outputs in decoded
    ]
    return join_windows(windows, possible)


def _read_json(line: str, has_tags: bool) -> str:
    """Return the source of a JSON line, for a model with tags followed by a tab and its tags.

    Raises:
        ValueError: If the line has another form, or tags for a model without tags.
    """
    value = json.loads(line)
    fields = {"source": value} if isinstance(value, str) else value
    if not isinstance(fields, dict) or not all(
        isinstance(each, str) for each in (fields.get("source"), fields.get("tags", ""))
    ):
        raise ValueError(f"found {line.strip()!r:.80}; expected a JSON text, or an object with `source` and `tags`")
    if fields.get("tags") and not has_tags:
        raise ValueError(
            f"found the tags {fields['tags']!r}; expected none, because the model was trained without tags"
        )
    return fields["source"] + ("\t" + fields.get("tags", "") if has_tags else "")


def _read_sources(options: argparse.Namespace, has_tags: bool) -> Iterator[str]:
    """Yield the sources of the command line, of the files, or of the standard input.

    Only a line feed ends a line; a carriage return before it is left at the end of the source.
    """
    if options.sources:
        yield from options.sources
        return
    for name in options.files or [sys.stdin.fileno()]:
        with open(name, encoding="utf-8", newline="\n", closefd=bool(options.files)) as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    yield _read_json(line, has_tags) if options.json_lines else line.removesuffix("\n")
                except ValueError as error:
                    raise ValueError(
                        f"{name if options.files else 'standard input'}, line {number}: {error}"
                    ) from None


def main() -> None:
    """Decode the sources and print one line for each, or several with --num_return_sequences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a folder with a model, or its name on the Hub")
    parser.add_argument(
        "sources",
        nargs="*",
        help="texts to decode, each followed by a tab and its feature tags if the model was trained with tags; "
        "default: the lines of --files or of the standard input",
    )
    parser.add_argument("--files", nargs="+", metavar="FILE", help="UTF-8 files whose lines are decoded, in order")
    parser.add_argument(
        "--json_lines",
        action="store_true",
        help="read each line as a JSON text, or an object with `source` and `tags`, and write each output as a JSON "
        "text, or several as objects with `source`, `output` and `score`: for texts with line breaks",
    )
    parser.add_argument(
        "--keep_letters",
        action="store_true",
        help="keep the letters of the source, and let only their accents change: for models that restore accents",
    )
    parser.add_argument("--batch_size", type=int, default=64, help="number of texts decoded together (default: 64)")
    parser.add_argument("--num_beams", type=int, default=1, help="width of the beam search; 1 is greedy (default: 1)")
    parser.add_argument(
        "--num_return_sequences",
        type=int,
        default=1,
        metavar="N",
        help="number of outputs for each source, best first; above 1, each is printed as a line "
        "source<TAB>output<TAB>score, with quotes as in CSV around fields that hold a tab or a quote (default: 1)",
    )
    parser.add_argument(
        "--ensemble",
        nargs="+",
        default=[],
        metavar="MODEL",
        help="further models with the same vocabulary; the probabilities of all models are averaged at each "
        "character. Give the sources before this option",
    )
    options = parser.parse_args()
    if options.num_return_sequences > options.num_beams:
        parser.error(
            f"--num_return_sequences {options.num_return_sequences} asks for more outputs than --num_beams "
            f"{options.num_beams} can find: raise --num_beams"
        )
    if options.sources and options.files:
        parser.error("found texts and --files; expected one of them")
    if missing := [name for name in options.files or [] if not Path(name).is_file()]:
        parser.error(f"--files {missing[0]}: found no such file")
    if options.ensemble:
        tokenizer, model = load_ensemble([options.model, *options.ensemble])
    else:
        tokenizer, model = load_pretrained(options.model)
    if options.keep_letters and not hasattr(model, "letter_lock"):
        sys.exit(
            f"--keep_letters: {options.model} has no letter_lock; expected an encoder-decoder that atenta saved now"
        )
    has_tags = _has_tags(tokenizer)
    try:
        lines = list(_read_sources(options, has_tags))
    except ValueError as error:
        sys.exit(str(error))
    sources = lines if options.json_lines else [line.removesuffix("\r") for line in lines]
    arguments = (tokenizer, model, sources, options.batch_size)
    if options.num_return_sequences > 1:
        rows = decode_texts_n_best(
            *arguments,
            options.keep_letters,
            num_beams=options.num_beams,
            num_return_sequences=options.num_return_sequences,
        )
        if options.json_lines:
            for source, text, score in rows:
                given = dict(zip(("source", "tags"), source.rsplit("\t", 1))) if has_tags else {"source": source}
                print(json.dumps({**given, "output": text, "score": score}, ensure_ascii=False))
        else:
            writer = csv.writer(sys.stdout, delimiter="\t", lineterminator="\n")
            writer.writerows((source, text, f"{score:.6f}") for source, text, score in rows)
    else:
        texts = decode_texts(*arguments, options.num_beams, options.keep_letters)
        for line, text in zip(lines, texts):
            print(json.dumps(text, ensure_ascii=False) if options.json_lines else text + "\r" * line.endswith("\r"))


if __name__ == "__main__":
    main()
