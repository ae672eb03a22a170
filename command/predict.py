"""`atenta predict`: a saved model's results for each line, whatever kind of model it is."""

from atenta.recipes.terminal import allow_interrupts

import hashlib
import json
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from atenta.command.predictors import (
    AnswerPredictor,
    CharacterPredictor,
    LabelPredictor,
    MaskPredictor,
    Prediction,
    Predictor,
    TagPredictor,
    TextPredictor,
)
from atenta.command.text_lines import (
    InputLine,
    LineReader,
    LineWriter,
    check_output_file,
    chunks_of,
    lock_output_file,
    parse_json_line,
)
from atenta.engines.kinds import kind_of
from atenta.engines.saved_model import (
    class_of,
    find_model,
    is_ours,
    load_config,
    load_tokenizer,
    load_weights,
    read_config,
    read_generation_config,
)
from atenta.engines.search_options import SearchOptions
from atenta.generation_options import default_length
from atenta.recipes.tab_separated import tab_separated
from atenta.tokenization.text_windows import find_problems, join_windows, name_source

_CHUNK = 512  # lines that are read, predicted and written at once
_Chunk = list[tuple[InputLine, dict[str, Any]]]


@dataclass(frozen=True)
class PredictOptions:
    """The options of `atenta predict`.

    Attributes:
        model: folder, or name on the Hub.
        engine: `"auto"`, `"onnx"` or `"torch"`.
        quantization: `"int8"`, or `None` for float32.
        device: of torch, such as `"cpu"` or `"cuda:0"`; by default the first GPU, or else the CPU.
        trust_remote_code: whether the code of a model of others is run.
        batch_size: number of texts that the model reads together.
        generate: options of generation that were given, such as `num_beams`.
        keep_letters: whether the letters of a source stay.
        min_confidence: from which a character is restored.
        ensemble: further models of the same vocabulary.
    """

    model: str
    engine: str = "auto"
    quantization: str | None = None
    device: str | None = None
    trust_remote_code: bool = False
    batch_size: int = 32
    generate: Mapping[str, Any] = field(default_factory=dict)
    keep_letters: bool = False
    min_confidence: float = 0.0
    ensemble: Sequence[str] = ()


def predict_lines(
    options: PredictOptions,
    texts: Sequence[str],
    files: Sequence[Path],
    *,
    json_lines: bool = False,
    format: str | None = None,
    output: Path | None = None,
    resume: bool = False,
) -> None:
    """Predict lines and write the results in their order.

    Args:
        options: the model and how it is used.
        texts: texts; else the lines of the files, or of standard input.
        files: UTF-8 files.
        json_lines: whether each line is JSON: a text, or an object with its fields.
        format: `"text"`, `"tsv"` or `"jsonl"`; by default that of the kind of model.
        output: file to write; by default, standard output.
        resume: whether to go on with the file.

    Raises:
        ValueError: If a line cannot be read, or an option does not fit the model.
        OSError: If a file cannot be read or written, or there is no such model.
        ImportError: If an engine is not installed.
    """
    if output is not None:
        check_output_file(output, resume)
    _expect_search(options)
    predictor = load_predictor(options)
    allow_interrupts()
    written = format or predictor.format
    if predictor.json_fields != ("text",):
        json_lines = True
    about = {name: _plain(value) for name, value in vars(options).items() if name not in ("batch_size", "device")}
    about |= {"format": written, "json_lines": json_lines}
    if output is not None:
        about["files of the models"] = [_digest(name) for name in (options.model, *options.ensemble)]
    with lock_output_file(output), LineWriter(output, about, resume) as writer:
        reader = LineReader(texts, files, writer.done["lines"], writer.done["digest"])
        if written == "tsv" and not writer.done["bytes"]:
            writer.write(tab_separated(["text", *predictor.columns]))
        record_fields = predictor.record_fields if written == "jsonl" else ()
        lines = ((line, _fields(line, predictor, json_lines, record_fields)) for line in reader)
        for chunk in _with_bar(chunks_of(lines, _CHUNK)):
            rest = iter(chunk)
            placed = [{**fields, "where": line.where} for line, fields in chunk]
            for predictions in predictor.predict_in_parts(placed):
                given = list(islice(rest, len(predictions)))
                results = (
                    _format(line, fields, prediction, written, json_lines)
                    for (line, fields), prediction in zip(given, predictions)
                )
                writer.write("".join(results), given[-1][0])


def expect_device(name: str | None) -> None:
    """Expect that torch has a device.

    Raises:
        ValueError: If it has none of this name.
    """
    if name is None:
        return
    import torch

    try:
        torch.empty(0, device=name)
    except (AssertionError, RuntimeError) as error:  # the first without CUDA
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"--device {name} cannot be used; expected cpu, or a GPU such as cuda:0 ({reason:.60})"
        ) from None


def _expect_search(options: PredictOptions) -> None:
    """Refuse options of generation that contradict each other or those of the model, whichever engine runs it."""
    SearchOptions(**options.generate)
    if not options.generate:
        return
    saved = read_generation_config(find_model(options.model, with_code=options.trust_remote_code))
    own = {name: value for name, value in saved.items() if name in SearchOptions.__dataclass_fields__}
    SearchOptions.from_saved(own, **options.generate)


def _digest(model: str) -> str:
    """Return the SHA-256 of what decides about a model's results."""
    folder, digest = find_model(model), hashlib.sha256()
    for pattern in ("*.json", "*.safetensors", "*.txt", "onnx/*"):
        for path in sorted(folder.glob(pattern)):
            if path.name not in ("metrics.json", "trainer_state.json"):
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else list(value) if isinstance(value, tuple) else value


def _with_bar(chunks: Iterator[_Chunk]) -> Iterator[_Chunk]:
    """Yield lists of lines; a bar on the terminal counts the lines."""
    from tqdm.auto import tqdm

    with tqdm(desc="predicting", unit="line", disable=None, delay=2, initial=0) as bar:
        for chunk in chunks:
            yield chunk
            bar.update(len(chunk))


def _fields(line: InputLine, predictor: Predictor, json_lines: bool, record_fields: Sequence[str]) -> dict[str, Any]:
    """Return the fields of a line, none of which may be one that its result is written in."""
    if not json_lines:
        return {"text": str(line)}
    fields = parse_json_line(line, *predictor.json_fields)
    if taken := [name for name in record_fields if name in fields]:
        raise ValueError(
            f"{line.where}: found the field {taken[0]!r} ({fields[taken[0]]!r:.60}), in which the result is written; "
            "expected none of this name: rename it, or choose another --format."
        )
    return fields


def _format(line: InputLine, fields: Mapping[str, Any], prediction: Prediction, format: str, json_lines: bool) -> str:
    if format == "jsonl":
        return json.dumps({**fields, **prediction.record}, ensure_ascii=False) + "\n"
    if format == "tsv":
        text = fields.get("text", fields.get("question"))
        return "".join(tab_separated([text, *row]) for row in prediction.rows)
    if json_lines:
        return json.dumps(prediction.text, ensure_ascii=False) + "\n"
    return prediction.text + line.line_end


def load_predictor(options: PredictOptions) -> Predictor:
    """Load a model as what its kind does.

    Raises:
        FileNotFoundError: If there is no such model.
        ValueError: If its kind is unknown, or an option does not fit it.
        ImportError: If an engine is not installed.
    """
    folder = find_model(options.model, with_code=options.trust_remote_code)
    config = read_config(folder)
    if not is_ours(config):
        return _load_other(options, folder)
    task = kind_of(config).task
    generates = task in ("text2text-generation", "text-generation")
    given = [
        name
        for name, is_given, fits in (
            ("--keep_letters", options.keep_letters, task == "text2text-generation"),
            ("--ensemble", options.ensemble, task == "text2text-generation"),
            ("an option of generation", options.generate, generates),
            ("--min_confidence", options.min_confidence, task == "character-restoration"),
            ("--engine onnx", options.engine == "onnx", task != "question-answering"),
            ("--quantization", options.quantization, task != "question-answering"),
            ("--device", options.device, task in ("text2text-generation", "question-answering")),
        )
        if is_given and not fits
    ]
    if given:
        raise ValueError(f"{options.model} is {class_of(config)}; {given[0]} is not for such a model: leave it out.")
    if task == "character-restoration":
        from atenta import CharacterRestorer

        chosen: Any = {"engine": options.engine, "quantization": options.quantization}
        return CharacterPredictor(CharacterRestorer.from_pretrained(folder, **chosen), options.min_confidence)
    if task == "question-answering":
        return AnswerPredictor(_pipeline("question-answering", folder, options))
    predictors = {
        "text-classification": LabelPredictor,
        "token-classification": TagPredictor,
        "fill-mask": MaskPredictor,
        "pretraining": MaskPredictor,
    }
    if not generates and task not in predictors:
        raise ValueError(
            f"{options.model} is {class_of(config)}, which has no answer for a line; expected a model that writes, "
            "labels, tags, restores, answers or fills. `load_engine(folder).predict(texts)` returns its outputs."
        )
    from atenta.engines.engine import choose_engine, load_engine

    name = choose_engine(folder, options.engine, options.quantization)  # type: ignore[arg-type]
    if task == "text2text-generation" and name == "torch":
        return _load_pipeline(options, folder)
    if options.ensemble or options.device:
        raise ValueError(f"--{'ensemble' if options.ensemble else 'device'} needs --engine torch.")
    engine = load_engine(folder, name, quantization=options.quantization)  # type: ignore[arg-type]
    if task in predictors:
        return predictors[task](engine)
    is_prompt = task == "text-generation"
    search = {**({} if is_prompt else default_length(read_generation_config(folder))), **options.generate}

    def generate(fields: list[Mapping[str, Any]]) -> list[list[tuple[str, float]]]:
        texts, tags = zip(*(_part_tags(each, bool(engine.tokenizer.tags), is_prompt) for each in fields))
        found = engine.search_windows(
            texts,
            tags=tags if engine.tokenizer.tags else None,
            keep_letters=options.keep_letters,
            batch_size=options.batch_size,
            **search,
        )
        prompts = texts if is_prompt else [""] * len(texts)
        if not is_prompt:
            _warn(engine, texts, found, options.keep_letters)
        joined = [join_windows(*each) for each in found]
        return [[(prompt + each.text, each.score) for each in ranked] for prompt, ranked in zip(prompts, joined)]

    return TextPredictor(generate)


def _warn(engine: Any, sources: Sequence[str], found: Sequence[tuple[Any, Any]], keep_letters: bool) -> None:
    """Print what is suspicious about the outputs of an engine, as the pipeline warns of it."""
    ratios, characters = engine.config.get("length_ratios"), set(engine.tokenizer.tokens)
    for source, (windows, outputs) in zip(sources, found):
        for problem in find_problems(windows, outputs, characters, ratios, keep_letters):
            print(f"warning: {name_source(source)}: {problem}", file=sys.stderr)


def _part_tags(fields: Mapping[str, Any], has_tags: bool, is_prompt: bool = False) -> tuple[str, list[str]]:
    """Return the source of a line and its feature tags, which follow a tab, or are a field of JSON."""
    text, tags = fields["text"], fields.get("tags")
    if tags and not has_tags:
        raise ValueError(f"{fields['where']}: found the tags {tags!r}; expected none: the model was trained without.")
    if not has_tags:
        if "\t" in text and not is_prompt:
            _warn_of_tab(fields["where"].partition(", line ")[0])
        return text, []
    if tags is None and "\t" in text:
        text, tags = text.rsplit("\t", 1)
    names = tags.split(";") if isinstance(tags, str) else tags or []
    return text, [name for name in names if name]


@cache
def _warn_of_tab(source: str) -> None:
    """Print that tabs are read as text, once for each file: they may part sources from targets."""
    print(
        f"warning: {source}: tabs are read as part of the texts, because the model has no tags; of a file of pairs, "
        "give the sources alone (`cut -f1`)",
        file=sys.stderr,
    )


def _pipeline(task: str, folder: Path, options: PredictOptions) -> Any:
    """Return a pipeline of transformers, whose declared tasks do not have those of this package."""
    from transformers import AutoModelForQuestionAnswering, AutoModelForSeq2SeqLM, pipeline

    auto_classes = {"question-answering": AutoModelForQuestionAnswering, "text2text-generation": AutoModelForSeq2SeqLM}
    trust = {"trust_remote_code": options.trust_remote_code}
    make: Any = pipeline
    model, tokenizer = load_weights(auto_classes[task], folder, **trust), load_tokenizer(folder, **trust)
    return make(task, model, tokenizer=tokenizer, device=options.device, **trust)


def _load_pipeline(options: PredictOptions, folder: Path) -> Predictor:
    """Load an encoder-decoder, or an ensemble, into torch."""
    loaded = _pipeline("text2text-generation", folder, options)
    if options.ensemble:
        from transformers import pipeline

        from atenta.recipes.decoding.ensemble import Ensemble, check_same_vocabulary

        others = [
            _pipeline("text2text-generation", find_model(other, with_code=options.trust_remote_code), options)
            for other in options.ensemble
        ]
        names = [options.model, *options.ensemble]
        check_same_vocabulary(dict(zip(names, [each.tokenizer for each in (loaded, *others)])))
        members = Ensemble([each.model for each in (loaded, *others)]).eval()
        make: Any = pipeline
        loaded = make("text2text-generation", members, tokenizer=loaded.tokenizer, device=options.device)
    keep = {"keep_letters": True} if options.keep_letters else {}

    def generate(fields: list[Mapping[str, Any]]) -> list[list[tuple[str, float]]]:
        texts = []
        for each in fields:
            text, tags = _part_tags(each, bool(loaded.tags))
            texts.append(f"{text}\t{';'.join(tags)}" if tags or (loaded.tags and "\t" in text) else text)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", UserWarning)  # or equal ones of other lines are left out
            found = loaded(texts, batch_size=options.batch_size, return_scores=True, **keep, **options.generate)
        for each in warned:
            print(f"warning: {each.message}", file=sys.stderr)
        rows = [each if isinstance(each, list) else [each] for each in found]
        return [[(each["generated_text"], each["score"]) for each in ranked] for ranked in rows]

    return TextPredictor(generate)


def _load_other(options: PredictOptions, folder: Path) -> Predictor:
    """Load an encoder-decoder of others."""
    import atenta  # noqa: F401

    config = load_config(folder, trust_remote_code=options.trust_remote_code)
    if not config.is_encoder_decoder:
        kind = ", ".join(config.architectures or [config.model_type])
        raise ValueError(f"{options.model} is {kind}; expected a model of atenta, or an encoder-decoder of others.")
    if options.engine == "onnx" or options.quantization:
        raise ValueError(f"{options.model} is not a model of atenta, and runs in torch: leave out the engine.")
    return _load_pipeline(options, folder)
