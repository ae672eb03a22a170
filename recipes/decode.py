"""Transform texts with a saved encoder-decoder: `python recipes/decode.py outputs/accents "A acao comecou"`.

Sources are the arguments, the lines of --files, or the lines of the standard input; each gives one line of output.
Texts longer than those of training are decoded in windows, which are joined again. The script does not need the
atenta package: the folder, or the repository on the Hub, holds weights, tokenizer and code. Only ensembles
(--ensemble) need it.
"""

import argparse
import csv
import io
import json
import re
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from huggingface_hub import file_exists, try_to_load_from_cache
from tqdm.auto import tqdm
from transformers import AutoConfig, AutoModelForSeq2SeqLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging

# White space that windows do not hold: all but single spaces between words.
GAP = re.compile(r"\A\s+|\s+\Z|\s{2,}|[^\S ]")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’»)\]]*\Z")
_HUB_NAME = re.compile(r"(?!outputs/)(\w[\w.-]*/)?\w[\w.-]*")  # other names are those of folders
_IMPOSSIBLE = -1e5  # a sum of log-probabilities below that of any output that the letters allow


def load_pretrained(name: str) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Load an encoder-decoder with the tokenizer and the code that are saved with it. The code is run.

    Args:
        name: A folder, or a repository on the Hub whose code you trust.

    Raises:
        SystemExit: If there is no such model, it is of another kind, or one of its files is damaged.
    """
    folder = Path(name)
    if not (folder / "config.json").is_file():
        in_folder = folder.parent != Path() and folder.parent.is_dir()  # on the Hub, it may be a stranger's
        if folder.exists() or in_folder or not _HUB_NAME.fullmatch(name):
            sys.exit(f"{name}: found no config.json there; expected the folder of a model, or a name on the Hub")
        try:
            if not (isinstance(try_to_load_from_cache(name, "config.json"), str) or file_exists(name, "config.json")):
                sys.exit(f"{name}: found no such folder here, and no such model on the Hub")
        except Exception as error:  # the errors of the library that asks the Hub differ from version to version
            sys.exit(f"{name}: found no such folder here, and the Hub cannot be reached ({_describe(error)})")
    part = "config.json"
    try:
        config = AutoConfig.from_pretrained(name, trust_remote_code=True)
        if config.is_encoder_decoder:
            part = "tokenizer"
            tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=True)
            part = "model"
            model, loaded = AutoModelForSeq2SeqLM.from_pretrained(
                name, trust_remote_code=True, use_safetensors=True, output_loading_info=True
            )
    except Exception as error:  # each library has errors of its own for a damaged file; those of tokenizers are plain
        sys.exit(f"{name}: cannot load the {part} ({_describe(error)}); expected an encoder-decoder as it was saved")
    if not config.is_encoder_decoder or loaded["missing_keys"]:
        found = _visible(", ".join(config.architectures or [config.model_type]))
        sys.exit(f"{name}: found {found}; expected an encoder-decoder that generates, such as seq2seq.py saves")
    return tokenizer, model.eval()


def _describe(error: Exception) -> str:
    """Return what an error of a library says, on one line."""
    return _visible(" ".join(f"{type(error).__name__}: {error}".split()))


def _visible(text: str) -> str:
    """Return the text with all control characters but tabs and line ends as Python writes them, for a terminal."""
    return re.sub(r"(?![\t\n]|\r\Z)[\x00-\x1f\x7f-\x9f]", lambda found: repr(found[0])[1:-1], text)


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
        fitting = _count_fitting((cost(word) + 1 for word in words), limit + 1)
        if fitting == len(words):
            yield " ".join(words), ""
            return
        if fitting:
            taken = next((n for n in range(fitting, 0, -1) if _SENTENCE_END.search(words[n - 1])), fitting)
            yield " ".join(words[:taken]), " "
            del words[:taken]
        else:
            end = _count_fitting(map(cost, words[0]), limit)
            while end > 1 and unicodedata.combining(words[0][end]):  # a letter is not parted from its marks
                end -= 1
            yield words[0][: max(end, 1)], ""
            words[0] = words[0][max(end, 1) :]


def _count_fitting(costs: Iterable[int], limit: int) -> int:
    return sum(1 for _ in takewhile(lambda total: total <= limit, accumulate(costs)))


@dataclass(frozen=True)
class _Window:
    """A part of a source that is decoded at once."""

    source: int  # its index
    text: str
    gap: str  # the white space after the text
    tags: Sequence[int]  # ids of the source's feature tags
    ids: Sequence[int]  # all that the encoder reads


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
    """Return the best output for each source. Arguments and errors: see [`decode_texts_n_best`]."""
    rows = decode_texts_n_best(tokenizer, model, sources, batch_size, keep_letters, num_beams=num_beams)
    return [output for _, output, _ in rows]


def decode_texts_n_best(
    tokenizer: PreTrainedTokenizerBase,
    model: PreTrainedModel,
    sources: Sequence[str],
    batch_size: int = 64,
    keep_letters: bool = False,
    *,
    num_beams: int = 1,
    num_return_sequences: int = 1,
) -> list[tuple[str, str, float]]:
    """Return the outputs for each source. Those that were cut off or have an implausible length are named on stderr.

    Args:
        tokenizer: The model's tokenizer.
        model: An encoder-decoder.
        sources: Texts. If the model was trained with feature tags, they follow the text after a tab: `ser<TAB>V;3;PL`.
        batch_size: Number of windows decoded together.
        keep_letters: Whether an output must have the letters of its source; only their accents may change.
        num_beams: Width of the beam search; 1 is greedy search.
        num_return_sequences: Number of outputs for each source, at most `num_beams`; fewer if the letters allow fewer.

    Returns:
        Source, output and score, for each source its outputs, best first. The score is the sum of the output's
        log-probabilities, in nats, divided by its number of tokens, including `<eos>`, to the power of the model's
        `length_penalty` (1 by default); it is 0 for greedy search. Windows are joined as in [`join_windows`].

    Raises:
        ValueError: If a tag is unknown to the model.
    """
    search = {"num_beams": num_beams, "num_return_sequences": num_return_sequences}
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
            print(f"warning: {_name(index, source)}: {problem}", file=sys.stderr)
    return [(source, *output) for index, source in enumerate(sources) for output in _join(of_source[index])]


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
    """Cut and encode the sources."""
    known, cut = _tags(tokenizer), window_cutter(tokenizer, window_length)
    windows = []
    for index, source in enumerate(sources):
        text, features = source.rsplit("\t", 1) if known and "\t" in source else (source, "")
        tags = [feature for feature in features.split(";") if feature]
        if unknown := [tag for tag in tags if tag not in known]:
            raise ValueError(f"{_name(index, source)}: found tag {unknown[0]!r}; expected {', '.join(known):.200}")
        of_tags = [known[tag] for tag in tags]
        windows += [_Window(index, part, gap, of_tags, of_tags + tokenizer(part).input_ids) for part, gap in cut(text)]
    return windows


def _tags(tokenizer: PreTrainedTokenizerBase) -> dict[str, int]:
    """Return the ids of the feature tags that the model was trained with, such as `PL`."""
    named = {str(token) for token in tokenizer.special_tokens_map.values() if not isinstance(token, list)}
    tags = [token for token in tokenizer.all_special_tokens if token not in named]
    return dict(zip([tag[1:-1] for tag in tags], tokenizer.convert_tokens_to_ids(tags)))


def _name(index: int, source: str) -> str:
    """Return what messages call a source: its number and its start, with escapes for what is not printable."""
    return f"source {index + 1}, {source if len(source) <= 40 else source[:39] + '…'!r}"


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
    outputs = list(map(_Output, tokenizer.batch_decode(ids, skip_special_tokens=True), scores, tokens, finished))
    each = len(outputs) // len(encoded)
    return [outputs[start : start + each] for start in range(0, len(outputs), each)]


def _problems(
    decoded: Sequence[tuple[_Window, Sequence[_Output] | None]],
    ratios: Sequence[float] | None,
    known: Collection[str] | None,
) -> Iterator[str]:
    """Yield what is suspicious about the best outputs of a source's windows: those that are not empty have outputs.

    The plausible `ratios` of output tokens to source tokens and the `known` characters are those of training, or None.
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
    """Return the source of a JSON line, for a model with tags followed by a tab and its tags."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None  # which is refused too
    fields = {"source": value} if isinstance(value, str) else value if isinstance(value, dict) else {}
    source, tags = fields.get("source"), fields.get("tags", "")
    if not (isinstance(source, str) and isinstance(tags, str)):
        raise ValueError(f"found {line.strip()!r:.80}; expected a JSON text, or an object with `source` and `tags`")
    if tags and not has_tags:
        raise ValueError(f"found the tags {tags!r}; expected none, because the model was trained without tags")
    return f"{source}\t{tags}" if has_tags else source


def _read_lines(options: argparse.Namespace) -> Iterator[tuple[str, bytes]]:
    """Yield where each source is and what it is: a text of the command line, or a line of the files or standard input.

    Only a line feed ends a line; a carriage return before it is left at the end of the source.
    """
    for number, source in enumerate(options.sources, start=1):
        yield f"text {number}", source.encode(errors="surrogateescape")
    for name in options.files or ([] if options.sources else [sys.stdin.fileno()]):
        with open(name, "rb", closefd=bool(options.files)) as lines:
            for number, line in enumerate(lines, start=1):
                yield f"{name if options.files else 'standard input'}, line {number}", line.removesuffix(b"\n")


def _read_sources(options: argparse.Namespace, has_tags: bool) -> Iterator[str]:
    for where, line in _read_lines(options):
        try:
            text = line.decode()
            source = _read_json(text, has_tags) if options.json_lines and not options.sources else text
            source.encode()  # an error for lone surrogates, which JSON may hold
        except UnicodeDecodeError as error:
            raise ValueError(f"{where}: found byte 0x{line[error.start]:02X}; expected a text in UTF-8") from None
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
        yield source


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "model",
        help="a folder with a model, or its name on the Hub. The Python code in it is run, whatever it does "
        "(transformers' trust_remote_code=True): name only models that you trust",
    )
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
        "--keep_letters", action="store_true", help="keep the letters of the source; only their accents may change"
    )
    parser.add_argument("--batch_size", type=int, default=64, help="number of texts decoded together (default: 64)")
    parser.add_argument("--num_beams", type=int, default=1, help="width of the beam search; 1: greedy (default: 1)")
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
    for name in ("batch_size", "num_beams", "num_return_sequences"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} is {getattr(options, name)}; expected 1 or more")
    asked, beams = options.num_return_sequences, options.num_beams
    if asked > beams:
        parser.error(f"--num_return_sequences {asked} asks for more outputs than --num_beams {beams} finds: raise it")
    if options.sources and options.files:
        parser.error("found texts and --files; expected one of them")
    if missing := [name for name in options.files or [] if not Path(name).is_file()]:
        parser.error(f"--files {missing[0]}: found no such file")
    return options


def _decode_lines(options: argparse.Namespace) -> Iterator[str]:
    """Yield the lines to print."""
    names = [options.model, *options.ensemble]
    tokenizers, models = zip(*map(load_pretrained, names))
    tokenizer, model = tokenizers[0], models[0]
    if options.ensemble:
        from atenta.recipes.decoding.ensemble import Ensemble, check_same_vocabulary

        check_same_vocabulary(dict(zip(names, tokenizers)))
        model = Ensemble(models).eval()
    if options.keep_letters and not hasattr(model, "letter_lock"):
        sys.exit(f"--keep_letters: {options.model} has no letter_lock; expected a model that atenta saved now")
    has_tags = bool(_tags(tokenizer))
    lines = list(_read_sources(options, has_tags))
    sources = lines if options.json_lines else [line.removesuffix("\r") for line in lines]
    search = {"num_beams": options.num_beams, "num_return_sequences": options.num_return_sequences}
    rows = decode_texts_n_best(tokenizer, model, sources, options.batch_size, options.keep_letters, **search)
    if options.num_return_sequences == 1:
        for line, (_, text, _) in zip(lines, rows):
            yield json.dumps(text, ensure_ascii=False) if options.json_lines else text + "\r" * line.endswith("\r")
        return
    writer = csv.writer(SimpleNamespace(write=str), delimiter="\t", lineterminator="")  # returns each row as a text
    for source, text, score in rows:
        if options.json_lines:
            given = dict(zip(("source", "tags"), source.rsplit("\t", has_tags)))
            yield json.dumps({**given, "output": text, "score": score}, ensure_ascii=False)
        else:
            yield writer.writerow((source, text, f"{score:.6f}"))


def main() -> None:
    """Decode the sources and print one line for each, or several with --num_return_sequences."""
    options = _read_options()
    logging.disable_progress_bar()  # of loading weights, which takes no time at these sizes
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # as the input, whatever the locale
    try:
        for line in _decode_lines(options):
            print(_visible(line) if sys.stdout.isatty() else line)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("Stopped. The output is incomplete.", file=sys.stderr)
        sys.exit(130)
    except OSError as error:
        sys.stdout = None  # which Python would try to flush once more
        sys.exit(1 if isinstance(error, BrokenPipeError) else _visible(str(error)))
    except ValueError as error:
        sys.exit(_visible(str(error)))


if __name__ == "__main__":
    main()
