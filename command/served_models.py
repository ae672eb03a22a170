"""What opens a saved model for `atenta predict`: the predictor of its kind, in the engine that is asked for."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unicodedata import normalize

from atenta.command.predictors import (
    AnswerPredictor,
    CharacterPredictor,
    LabelPredictor,
    MaskPredictor,
    Predictor,
    TagPredictor,
    TextPredictor,
)
from atenta.command.problems import Problems
from atenta.command.text_lines import part_tags
from atenta.engines.choice import IN_TORCH, EngineName, Quantization, choose_engine, first_files
from atenta.engines.engine import Engine, load_engine
from atenta.engines.kinds import KINDS, kind_of, prompt_separator
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
from atenta.generation_options import default_length
from atenta.tokenization.text_windows import find_problems, join_windows


@dataclass(frozen=True)
class PredictOptions:
    """The options of `atenta predict`.

    Attributes:
        model: folder, or name on the Hub.
        engine: a name of `engines/choice.py`.
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
    engine: EngineName = "auto"
    quantization: Quantization | None = None
    device: str | None = None
    trust_remote_code: bool = False
    batch_size: int = 32
    generate: Mapping[str, Any] = field(default_factory=dict)
    keep_letters: bool = False
    min_confidence: float = 0.0
    ensemble: Sequence[str] = ()

    @property
    def is_exported(self) -> bool:
        """Whether files are asked for that torch does not run."""
        return self.engine not in IN_TORCH or self.quantization is not None


def load_predictor(options: PredictOptions) -> Predictor:
    """Load a model as what its kind does.

    Raises:
        FileNotFoundError: If there is no such model.
        ValueError: If its kind is unknown or not served, or an option does not fit it.
        ImportError: If an engine is not installed.
    """
    folder = find_model(options.model, with_code=options.trust_remote_code)
    config = read_config(folder)
    if is_ours(config):
        class_name, kind = class_of(config), kind_of(config).name
        if kind not in _SERVED:
            raise ValueError(
                f"{options.model} is {class_name:.60}, of the kind {kind}, which has no answer for a line; expected "
                f"one of {', '.join(_SERVED)}. Its card has code that runs it."
            )
        load, fitting = _SERVED[kind]
    else:
        import atenta  # noqa: F401

        others = load_config(folder, trust_remote_code=options.trust_remote_code)
        class_name = ", ".join(others.architectures or [others.model_type])
        if not others.is_encoder_decoder:
            raise ValueError(
                f"{options.model} is {class_name:.60}; expected one of atenta, or an encoder-decoder of others."
            )
        load, fitting = _load_pipeline, ("ensemble", "generate", "device")
    for name in _NOT_FOR_ALL:
        is_set = options.engine not in IN_TORCH if name == "engine" else getattr(options, name)
        if is_set and name not in fitting:
            flag = "an option of generation" if name == "generate" else f"--{name}"
            raise ValueError(f"{options.model} is {class_name:.60}; {flag} is not for such a model: leave it out.")
    return load(options, folder)


def name_engine(options: PredictOptions) -> str:
    """Return which engine answers, with its file."""
    folder = find_model(options.model, with_code=options.trust_remote_code)
    config = read_config(folder)
    if is_ours(config) and "engine" in _SERVED[kind_of(config).name][1]:
        name, quantization = choose_engine(folder, options.engine, options.quantization)
        if name == "onnx":
            return f"onnxruntime, with {next(path for path in first_files(folder, quantization) if path.is_file())}"
    return f"torch, with {folder}"


def _load_engine(options: PredictOptions, folder: Path) -> Engine:
    return load_engine(folder, options.engine, quantization=options.quantization)


def _load_restorer(options: PredictOptions, folder: Path) -> Any:
    from atenta import CharacterRestorer

    return CharacterRestorer.from_pretrained(folder, engine=options.engine, quantization=options.quantization)


def _load_letters(options: PredictOptions, folder: Path) -> Predictor:
    from atenta.phonemization.letter_tagger import LetterTagger

    tagger = LetterTagger(_load_restorer(options, folder))

    def write(fields: list[Mapping[str, Any]], problems: Problems) -> list[list[tuple[str, float]]]:
        texts, tags = zip(*(part_tags(each, bool(tagger.tags)) for each in fields))
        words = [normalize("NFC", text) for text in texts]
        for word in words:
            if unknown := sorted({*word} - tagger.letters):
                problems.add(f"training did not have {', '.join(map(repr, unknown))}, which is left out", word)
            if len(word) > tagger.longest:
                raise ValueError(f"found {len(word)} letters in {word!r:.60}; expected at most {tagger.longest}.")
        written = tagger.write_tagged(words, tags)
        return [[(tagger.join(each.units), each.log_probability)] for each in written]

    return TextPredictor(write)


def _load_text_engine(options: PredictOptions, folder: Path) -> Predictor:
    """Load a model that generates, as an engine; in torch, an encoder-decoder is a pipeline of transformers."""
    is_prompt = kind_of(read_config(folder)).task == "text-generation"
    search: Mapping[str, Any] = options.generate
    if not is_prompt:
        if choose_engine(folder, options.engine, options.quantization)[0] == "torch":
            return _load_pipeline(options, folder)
        if options.ensemble or options.device:
            raise ValueError(f"--{'ensemble' if options.ensemble else 'device'} needs --engine torch.")
        search = {**default_length(read_generation_config(folder)), **search}
    engine = _load_engine(options, folder)
    has_tags, separator = bool(engine.tokenizer.tags), prompt_separator(engine.config)

    def generate(fields: list[Mapping[str, Any]], problems: Problems) -> list[list[tuple[str, float]]]:
        texts, tags = zip(*(part_tags(each, has_tags, is_prompt) for each in fields))
        found = engine.search_windows(
            [text + separator for text in texts],
            tags=tags if has_tags else None,
            keep_letters=options.keep_letters,
            batch_size=options.batch_size,
            **search,
        )
        if not is_prompt:
            _warn(engine, texts, found, options.keep_letters, problems)
        prompts = texts if is_prompt and not separator else [""] * len(texts)
        joined = [join_windows(*each) for each in found]
        return [[(prompt + each.text, each.score) for each in ranked] for prompt, ranked in zip(prompts, joined)]

    return TextPredictor(generate)


def _warn(
    engine: Any, sources: Sequence[str], found: Sequence[tuple[Any, Any]], keep_letters: bool, problems: Problems
) -> None:
    """Add what is suspicious about the outputs of an engine, as the pipeline warns of it."""
    ratios, characters = engine.config.get("length_ratios"), set(engine.tokenizer.tokens)
    for source, (windows, outputs) in zip(sources, found):
        for problem in find_problems(windows, outputs, characters, ratios, keep_letters):
            problems.add(problem, source)


def _pipeline(task: str, options: PredictOptions, folder: Path) -> Any:
    """Return a pipeline of transformers, whose declared tasks do not have those of this package."""
    import transformers

    auto_class = getattr(transformers, KINDS[task].auto_class)
    make: Any = transformers.pipeline
    trust = {"trust_remote_code": options.trust_remote_code}
    dtype: dict[str, Any] = {"dtype": "float32"} if is_ours(read_config(folder)) else {}  # as in all engines
    model, tokenizer = load_weights(auto_class, folder, **trust, **dtype), load_tokenizer(folder, **trust)
    return make(task, model, tokenizer=tokenizer, device=options.device, **trust)


def _load_pipeline(options: PredictOptions, folder: Path) -> Predictor:
    """Load an encoder-decoder, or an ensemble, into torch."""
    loaded = _pipeline("text2text-generation", options, folder)
    if options.ensemble:
        from transformers import pipeline

        from atenta.recipes.decoding.ensemble import Ensemble, check_same_vocabulary

        folders = [find_model(other, with_code=options.trust_remote_code) for other in options.ensemble]
        members = [loaded, *(_pipeline("text2text-generation", options, other) for other in folders)]
        names = (options.model, *options.ensemble)
        check_same_vocabulary({name: each.tokenizer for name, each in zip(names, members)})
        ensemble: Any = Ensemble([each.model for each in members]).eval()
        make: Any = pipeline
        loaded = make("text2text-generation", ensemble, tokenizer=loaded.tokenizer, device=options.device)
    keep = {"keep_letters": True} if options.keep_letters else {}

    def generate(fields: list[Mapping[str, Any]], problems: Problems) -> list[list[tuple[str, float]]]:
        texts = []
        for each in fields:
            text, tags = part_tags(each, bool(loaded.tags))
            texts.append(f"{text}\t{';'.join(tags)}" if tags or (loaded.tags and "\t" in text) else text)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", UserWarning)  # or equal ones of other lines are left out
            found = loaded(texts, batch_size=options.batch_size, return_scores=True, **keep, **options.generate)
        for warning in warned:
            problems.add(str(warning.message))
        rows = [each if isinstance(each, list) else [each] for each in found]
        return [[(each["generated_text"], each["score"]) for each in ranked] for ranked in rows]

    return TextPredictor(generate)


# The options that not all kinds of model take.
_NOT_FOR_ALL = ("keep_letters", "ensemble", "generate", "min_confidence", "engine", "quantization", "device")
_ENGINES = ("engine", "quantization")
_Load = Callable[[PredictOptions, Path], Predictor]
# For each kind of model that has an answer for a line, what loads it and the options that it takes.
_SERVED: dict[str, tuple[_Load, Sequence[str]]] = {
    "text2text-generation": (_load_text_engine, ("keep_letters", "ensemble", "generate", "device", *_ENGINES)),
    **dict.fromkeys(("text-generation", "prompt-answering"), (_load_text_engine, ("generate", *_ENGINES))),
    "character-restoration": (
        lambda options, folder: CharacterPredictor(_load_restorer(options, folder), options.min_confidence),
        ("min_confidence", *_ENGINES),
    ),
    "letters-to-units": (_load_letters, _ENGINES),
    "question-answering": (lambda *loaded: AnswerPredictor(_pipeline("question-answering", *loaded)), ("device",)),
    "text-classification": (lambda *loaded: LabelPredictor(_load_engine(*loaded)), _ENGINES),
    "token-classification": (lambda *loaded: TagPredictor(_load_engine(*loaded)), _ENGINES),
    **dict.fromkeys(("fill-mask", "pretraining"), (lambda *loaded: MaskPredictor(_load_engine(*loaded)), _ENGINES)),
}
