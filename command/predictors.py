"""Predictors for each kind of model: they turn lines into texts, labels, tags, answers or filled masks."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from atenta.command.problems import Problems
from atenta.command.text_lines import part_tags
from atenta.engines.engine import Engine, EngineName, choose_engine, load_engine
from atenta.engines.kinds import KINDS, class_names, kind_of, prompt_separator, saved_options
from atenta.engines.onnx_models import ONNX_FOLDER, Quantization, default_quantization, file_name
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
from atenta.engines.token_search import log_softmax
from atenta.generation_options import default_length
from atenta.tokenization.text_windows import find_problems, join_windows


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
    engine: EngineName = "auto"
    quantization: Quantization | None = None
    device: str | None = None
    trust_remote_code: bool = False
    batch_size: int = 32
    generate: Mapping[str, Any] = field(default_factory=dict)
    keep_letters: bool = False
    min_confidence: float = 0.0
    ensemble: Sequence[str] = ()


@dataclass(frozen=True)
class Prediction:
    """The result for a line.

    Attributes:
        text: as text.
        rows: as rows of a table, without the line itself.
        record: as an object of JSON.
    """

    text: str
    rows: Sequence[Sequence[Any]]
    record: Mapping[str, Any]


class Predictor:
    """A kind of model and what it makes of lines.

    Attributes:
        columns: names of the columns of a row, after `text`.
        json_fields: the fields that a JSON line must have.
        record_fields: the fields of a record that are not those of its line.
        reads_pairs: whether a JSON line may have a second text, `text_pair`.
    """

    columns: Sequence[str] = ()
    json_fields: Sequence[str] = ("text",)
    record_fields: Sequence[str] = ()
    reads_pairs = False

    @cached_property
    def problems(self) -> Problems:
        """What is suspicious about outputs."""
        return Problems()

    def predict(self, fields: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        """Return the results for lines, each given by its fields and by `where` it is.

        Raises:
            ValueError: As in [`Predictor.predict_in_parts`].
        """
        return list(chain.from_iterable(self.predict_in_parts(fields)))

    def predict_in_parts(self, fields: Sequence[Mapping[str, Any]]) -> Iterator[list[Prediction]]:
        """Yield the results for lines: all at once or, if one of them is refused, those before it in parts.

        Raises:
            ValueError: If the model cannot read a line. The message begins with the place of the first such line.
        """
        try:
            pairs = [each["text_pair"] for each in fields if each.get("text_pair") is not None]
            if pairs and not self.reads_pairs:
                raise ValueError(f"found the text_pair {pairs[0]!r:.80}; expected none: the model reads single texts.")
            predictions = self._predict(fields)
        except ValueError as error:
            if len(fields) > 1:  # halves, until the line that is refused is alone
                middle = len(fields) // 2
                yield from self.predict_in_parts(fields[:middle])
                yield from self.predict_in_parts(fields[middle:])
                return
            place = fields[0]["where"] if fields else ""
            raise ValueError(str(error) if str(error).startswith(place) else f"{place}: {error}") from None
        yield predictions

    def _predict(self, fields: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        raise NotImplementedError


class TextPredictor(Predictor):
    """An encoder-decoder or a decoder: the generated texts, best first.

    Those of a decoder begin with the prompt, unless it was trained on prompts and answers: it gives the answer.
    """

    columns = ("output", "score")
    record_fields = ("outputs",)

    def __init__(self, generate: Callable[[list[Mapping[str, Any]], Problems], list[list[tuple[str, float]]]]) -> None:
        self._generate = generate

    def _predict(self, fields: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        return [
            Prediction(
                ranked[0][0] if ranked else "",
                [(text, f"{score:.6f}") for text, score in ranked],
                {"outputs": [{"text": text, "score": score} for text, score in ranked]},
            )
            for ranked in self._generate(list(fields), self.problems)
        ]


class LabelPredictor(Predictor):
    """A classifier of texts, or of pairs of texts: the most probable label."""

    columns = ("label", "probability")
    record_fields = ("label", "probabilities")

    def __init__(self, engine: Any) -> None:
        self._engine, self._labels = engine, class_names(engine.config)
        saved = saved_options(engine.config, "text-classification")
        self.reads_pairs = saved.get("text_pairs", True)  # older models do not say what they were trained on

    def _predict(self, fields: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        outputs: dict[int, Any] = {}  # by the number of the line: texts and pairs are read apart
        for is_pair in (False, True):
            of_kind = {n: each for n, each in enumerate(fields) if (each.get("text_pair") is not None) == is_pair}
            texts, pairs = ([each.get(name) for each in of_kind.values()] for name in ("text", "text_pair"))
            outputs |= zip(of_kind, self._engine.predict(texts, pairs if is_pair else None))
        found = []
        for number in range(len(fields)):
            probabilities = np.exp(log_softmax(outputs[number]["logits"]))
            labels = [self._labels[str(index)] for index in range(len(probabilities))]
            best = int(probabilities.argmax())
            record = {"label": labels[best], "probabilities": dict(zip(labels, map(float, probabilities)))}
            found.append(Prediction(labels[best], [(labels[best], f"{probabilities[best]:.6f}")], record))
        return found


class TagPredictor(Predictor):
    """A tagger of words, which white space parts: the tag of each, read at its first character, as in training.

    As text, each word has a line, as in CoNLL files.
    """

    columns = ("word", "tag", "probability")
    record_fields = ("tags", "probabilities")  # `words` are those of the line, if it has them

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def _predict(self, fields: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        rows = [each.get("words") or each["text"].split() for each in fields]
        encode, id2label = self._engine.tokenizer.encode, class_names(self._engine.config)
        outputs = iter(self._engine.predict([" ".join(words) for words in rows if words]))
        found = []
        for words in rows:
            tagged = []
            if words:
                probabilities = np.exp(log_softmax(next(outputs)["logits"]))
                lengths = [len(ids) - 2 for ids in encode(words)]  # without <bos> and <eos>
                firsts = np.cumsum([1, *(length + 1 for length in lengths[:-1])])  # a space parts two words
                for word, of_word in zip(words, probabilities[firsts]):
                    best = int(of_word.argmax())
                    tagged.append((word, id2label[str(best)], float(of_word[best])))
            text = "".join(f"{word}\t{tag}\n" for word, tag, _ in tagged)
            record = {name: [each[index] for each in tagged] for index, name in enumerate(("words", "tags"))}
            record["probabilities"] = [each[2] for each in tagged]
            found.append(Prediction(text, [(word, tag, f"{share:.6f}") for word, tag, share in tagged], record))
        return found


class CharacterPredictor(Predictor):
    """A tagger of characters: the restored text, and in JSON the probability of each character."""

    columns = ("restored",)
    record_fields = ("restored", "probabilities")

    def __init__(self, restorer: Any, min_confidence: float) -> None:
        self._restorer, self._min_confidence = restorer, min_confidence

    def _predict(self, fields: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        restored = self._restorer.restore([each["text"] for each in fields], self._min_confidence)
        return [
            Prediction(
                each.text, [(each.text,)], {"restored": each.text, "probabilities": each.probabilities.tolist()}
            )
            for each in restored
        ]


class AnswerPredictor(Predictor):
    """A model that answers questions: the part of the context, from lines of JSON."""

    columns = record_fields = ("answer", "start", "end", "score")
    json_fields = ("question", "context")

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def _predict(self, fields: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        rows = [{name: each[name] for name in self.json_fields} for each in fields]
        return [
            Prediction(each["answer"], [[each[name] for name in self.columns]], each) for each in self._answer(rows)
        ]


class MaskPredictor(Predictor):
    """An encoder that fills in masks: the text with the most probable character at each `<mask>`, all at once."""

    columns = ("filled",)
    record_fields = ("filled",)

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def _predict(self, fields: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        texts = [each["text"] for each in fields]
        tokenizer, found = self._engine.tokenizer, []
        for ids, outputs in zip(tokenizer.encode(texts), self._engine.predict(texts)):
            logits = outputs.get("logits", outputs.get("prediction_logits"))
            filled = [
                int(best) if token == tokenizer.mask_token_id else token for token, best in zip(ids, logits.argmax(-1))
            ]
            text = tokenizer.decode(filled)
            found.append(Prediction(text, [(text,)], {"filled": text}))
        return found


# Loading


def load_predictor(options: PredictOptions) -> Predictor:
    """Load a model as what its kind does.

    Raises:
        FileNotFoundError: If there is no such model.
        ValueError: If its kind is unknown or not served, or an option does not fit it.
        ImportError: If an engine is not installed.
    """
    folder = find_model(options.model, with_code=options.trust_remote_code)
    config = read_config(folder)
    if not is_ours(config):
        import atenta  # noqa: F401

        others = load_config(folder, trust_remote_code=options.trust_remote_code)
        if not others.is_encoder_decoder:
            name = ", ".join(others.architectures or [others.model_type])
            raise ValueError(f"{options.model} is {name}; expected one of atenta, or an encoder-decoder of others.")
        if options.engine == "onnx" or options.quantization:
            raise ValueError(f"{options.model} is not a model of atenta, and runs in torch: leave out the engine.")
        return _load_pipeline(options, folder)
    task = kind_of(config).task
    if task not in _SERVED:
        raise ValueError(
            f"{options.model} is {class_of(config)}, which has no answer for a line; expected a model that writes, "
            "labels, tags, restores, answers or fills. `load_engine(folder).predict(texts)` returns its outputs."
        )
    load, fitting = _SERVED[task]
    for name, flag in _FLAGS.items():
        is_set = options.engine == "onnx" if name == "engine" else getattr(options, name)
        if is_set and name not in fitting:
            raise ValueError(f"{options.model} is {class_of(config)}; {flag} is not for such a model: leave it out.")
    return load(options, folder)


def name_engine(options: PredictOptions) -> str:
    """Return which engine answers, with its file."""
    folder = find_model(options.model, with_code=options.trust_remote_code)
    config = read_config(folder)
    task = kind_of(config).task if is_ours(config) else None
    rounded = default_quantization(folder, options.engine) if task == "character-restoration" else None
    quantization = options.quantization or rounded
    has_engines = task is not None and "engine" in _SERVED[task][1]
    if not has_engines or choose_engine(folder, options.engine, quantization) == "torch":
        return f"torch, with {folder}"
    names = (file_name(stem, quantization) for stem in ("model", "decoder_model"))
    file = next(path for path in (folder / ONNX_FOLDER / name for name in names) if path.is_file())
    return f"onnxruntime, with {file}"


def _load_engine(options: PredictOptions, folder: Path) -> Engine:
    return load_engine(folder, options.engine, quantization=options.quantization)


def _load_restorer(options: PredictOptions, folder: Path) -> Predictor:
    from atenta import CharacterRestorer
    from atenta.phonemization.letter_tagger import LetterTagger, writes_units

    restorer = CharacterRestorer.from_pretrained(folder, engine=options.engine, quantization=options.quantization)
    if not writes_units(restorer.config):
        return CharacterPredictor(restorer, options.min_confidence)
    tagger = LetterTagger(restorer)
    if options.min_confidence:
        raise ValueError(f"{options.model} writes the units of words: leave out --min_confidence, of restored texts.")

    def write(fields: list[Mapping[str, Any]], problems: Problems) -> list[list[tuple[str, float]]]:
        written = tagger.write_tagged(*zip(*(part_tags(each, bool(tagger.tags)) for each in fields)))
        return [[(tagger.join(each.units), each.log_probability)] for each in written]

    return TextPredictor(write)


def _load_text_engine(options: PredictOptions, folder: Path) -> Predictor:
    """Load a model that generates, as an engine; in torch, an encoder-decoder is a pipeline of transformers."""
    is_prompt = kind_of(read_config(folder)).task == "text-generation"
    search: Mapping[str, Any] = options.generate
    if not is_prompt:
        if choose_engine(folder, options.engine, options.quantization) == "torch":
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
    model, tokenizer = load_weights(auto_class, folder, **trust), load_tokenizer(folder, **trust)
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


_FLAGS = {  # the options that not all kinds of model take, and what messages call them
    "keep_letters": "--keep_letters",
    "ensemble": "--ensemble",
    "generate": "an option of generation",
    "min_confidence": "--min_confidence",
    "engine": "--engine onnx",
    "quantization": "--quantization",
    "device": "--device",
}
_ENGINES = ("engine", "quantization")
# For each kind of model that has an answer for a line, what loads it and the options that it takes.
_SERVED: dict[str, tuple[Callable[[PredictOptions, Path], Predictor], Sequence[str]]] = {
    "text2text-generation": (_load_text_engine, ("keep_letters", "ensemble", "generate", "device", *_ENGINES)),
    "text-generation": (_load_text_engine, ("generate", *_ENGINES)),
    "character-restoration": (_load_restorer, ("min_confidence", *_ENGINES)),
    "question-answering": (lambda *loaded: AnswerPredictor(_pipeline("question-answering", *loaded)), ("device",)),
    "text-classification": (lambda *loaded: LabelPredictor(_load_engine(*loaded)), _ENGINES),
    "token-classification": (lambda *loaded: TagPredictor(_load_engine(*loaded)), _ENGINES),
    "fill-mask": (lambda *loaded: MaskPredictor(_load_engine(*loaded)), _ENGINES),
    "pretraining": (lambda *loaded: MaskPredictor(_load_engine(*loaded)), _ENGINES),
}
