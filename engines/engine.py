"""A saved model with its tokenizer, in onnxruntime or torch: texts in, texts or scores out."""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import chain, islice
from typing import Any, Protocol, assert_never, runtime_checkable

import numpy as np

from ..generation_options import check_saved_options, is_whole
from ..tokenization.base_letters import number_base_letters
from ..tokenization.text_checks import Texts, check_outputs, list_of_texts
from ..tokenization.text_windows import (
    GeneratedText,
    TextWindow,
    batches_of_similar_length,
    cut_text,
    generate_windows,
    join_windows,
    possible_outputs,
)
from .choice import ONNX_FOLDER, EngineName, Quantization, choose_engine, file_name
from .feedback import progress, warn_of_files
from .onnx_models import OnnxGenerator, OnnxHead, count_cores
from .saved_model import class_of, find_model, is_ours, learned_positions, read_config, read_generation_config
from .search_options import SearchOptions
from .text_ids import TextIds
from .token_search import LetterLock, SearchInputs, TokenModel, search_tokens, stream_tokens

_BATCH_TOKENS = 1024  # in a batch of `predict`, padding included: few, which stay in a core's cache


@runtime_checkable
class Head(Protocol):
    """A model that maps ids to scores or vectors."""

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the outputs by name, float32.

        Args:
            inputs: `input_ids`, `attention_mask` and, for an encoder with segments, `token_type_ids`, (batch, length)
                int64 each.
        """


@runtime_checkable
class Generator(Protocol):
    """A model that generates."""

    def begin(self) -> TokenModel:
        """Return the model with an empty cache, for the texts of one batch."""


class Engine:
    """A saved model with its tokenizer; [`load_engine`] makes it. Any number of threads may use it at once.

    Attributes:
        name: `"onnx"` or `"torch"`.
        config: the saved configuration.
        tokenizer: text as ids and back.
        can_generate: whether the model generates text; otherwise it has scores or vectors to predict.
    """

    def __init__(
        self,
        name: str,
        model: Head | Generator,
        tokenizer: TextIds,
        config: Mapping[str, Any],
        generation_config: Mapping[str, Any],
        threads: int = 1,
    ) -> None:
        self.name, self.config, self.tokenizer = name, config, tokenizer
        self.can_generate = isinstance(model, Generator)
        self._model, self._generation_config, self._threads = model, generation_config, threads
        self._reads_sources = bool(config.get("is_encoder_decoder"))  # a decoder reads prompts, which are not cut
        self._characters = frozenset(tokenizer.tokens)
        self._longest, self._window_length = learned_positions(config), config.get("window_length")

    def __repr__(self) -> str:
        return f"<Engine: {class_of(self.config)} in {self.name}>"

    def generate(
        self,
        texts: str | Texts,
        *,
        tags: Sequence[Any] | None = None,
        keep_letters: bool = False,
        batch_size: int = 32,
        **options: Any,
    ) -> str | list[str]:
        """Return the text that the model generates for each text: the target of a source, or what follows a prompt.

        Texts of similar lengths are generated together, and the answers come in the order of the texts. Sources longer
        than the `window_length` that was saved with the model are cut at the ends of sentences or words, and their
        outputs joined. A source that is empty or only white space gives itself; an empty prompt is continued.

        Args:
            texts: a text, or several: a list or tuple, or a column of datasets, pandas or NumPy.
            tags: the feature tags of each text, such as `["V", "PL"]`, for models that were trained with them; those
                of one text if one is given.
            keep_letters: whether the letters of a source stay, and only their accents may change.
            batch_size: number of texts that are generated at once.
            options: those of [`SearchOptions`], such as `num_beams` and `max_new_tokens`, which are named as in
                transformers' `generate`. Others are as saved with the model.

        Returns:
            A text for a text, a list for a list.

        Raises:
            TypeError: If an input is not a text.
            ValueError: If the model does not generate, an option is unknown or out of range, a tag is unknown to the
                model, or a text has a lone surrogate or is longer than the positions that the model has learned.

        Warns:
            UserWarning: If an encoder-decoder's output was cut off at the largest length, a text names a file, or no
                tags are given to a model that was trained with them.
        """
        is_one = isinstance(texts, str)
        given = list_of_texts([texts] if isinstance(texts, str) else texts)
        tags = [tags] if is_one and tags is not None else tags
        warn_of_files(given)
        if tags is None and self.tokenizer.tags:
            warnings.warn(
                f"This model was trained with feature tags, such as {', '.join(islice(self.tokenizer.tags, 3))}: give "
                "those of each text as `tags`, a list for each. Tabs are read as a part of texts.",
                stacklevel=2,
            )
        found = self.n_best(given, tags=tags, keep_letters=keep_letters, batch_size=batch_size, **options)
        best = [outputs[0] for outputs in found]
        cut = sum(not each.finished for each in best)
        if cut and self._reads_sources:
            warnings.warn(
                f"{cut} of {len(best)} outputs reached the largest length without <eos>, and were cut off there. "
                "Raise max_new_tokens, or cut the texts into parts.",
                stacklevel=2,
            )
        return best[0].text if is_one else [each.text for each in best]

    def n_best(
        self,
        texts: Texts,
        *,
        tags: Sequence[Sequence[str]] | None = None,
        keep_letters: bool = False,
        batch_size: int = 32,
        **options: Any,
    ) -> list[list[GeneratedText]]:
        """Return the `num_return_sequences` best texts, or samples, for each text, with their scores.

        The arguments are those of [`Engine.generate`].

        Returns:
            For each text, the generated ones, best first; fewer than asked for if `keep_letters` allows no more.

        Raises:
            TypeError: As in [`Engine.generate`].
            ValueError: As in [`Engine.generate`], or if `batch_size` is below 1.
        """
        found = self.search_windows(texts, tags=tags, keep_letters=keep_letters, batch_size=batch_size, **options)
        return [join_windows(*each) for each in found]

    def search_windows(
        self,
        texts: Texts,
        *,
        tags: Sequence[Sequence[str]] | None = None,
        keep_letters: bool = False,
        batch_size: int = 32,
        **options: Any,
    ) -> list[tuple[list[TextWindow], list[Sequence[GeneratedText] | None]]]:
        """Return the windows of each text and their outputs, best first, which [`Engine.n_best`] joins.

        Arguments and errors are those of [`Engine.n_best`]. A window that is empty has `None` as its outputs; a prompt
        is one window, and is continued even if it is empty.
        """
        if not is_whole(batch_size, 1):
            raise ValueError(f"batch_size={batch_size!r:.60}; expected 1 or more.")
        generator, search = self._generator(keep_letters), self._search_options(options)
        texts = list_of_texts(texts)
        of_texts = self._tag_ids(tags, len(texts))

        def generate(indices: list[int], parts: list[str]) -> list[list[GeneratedText]]:
            encoded = [of_texts[index] + ids for index, ids in zip(indices, self._encode(parts))]
            return self._search(generator, search, encoded, keep_letters, batch_size)

        if self._reads_sources:
            return generate_windows(texts, self._window_length, self._characters, generate)
        found = generate([*range(len(texts))], texts)
        return [([TextWindow(text, "")], [ranked]) for text, ranked in zip(texts, found)]

    def _search(
        self,
        generator: Generator,
        search: SearchOptions,
        encoded: Sequence[Sequence[int]],
        keep_letters: bool,
        batch_size: int,
    ) -> list[list[GeneratedText]]:
        size = max(1, min(batch_size, -(-len(encoded) // self._threads)))  # so that each thread has some of them
        found: list[list[GeneratedText]] = [[]] * len(encoded)

        def search_batch(numbers: list[int]) -> None:
            inputs, wanted = self._inputs([encoded[number] for number in numbers], search, keep_letters)
            for number, limit, outputs in zip(numbers, wanted, search_tokens(generator.begin(), inputs)):
                decoded = [
                    GeneratedText(
                        self.tokenizer.decode(each.token_ids),
                        each.score,
                        each.finished,
                        len(each.token_ids) + each.finished,
                    )
                    for each in outputs
                ]
                found[number] = possible_outputs(decoded, search.length_penalty)
                if any(not each.finished and each.tokens < limit for each in found[number]):
                    raise self._lacks_positions()

        self._side_by_side(search_batch, batches_of_similar_length(encoded, size))
        return found

    def stream(
        self, text: str, *, tags: Sequence[str] | None = None, keep_letters: bool = False, **options: Any
    ) -> Iterator[str]:
        """Return an iterator over the text that the model generates, character by character, as it is found.

        Args:
            text: a source or a prompt.
            tags: its feature tags, as in [`Engine.generate`].
            keep_letters: as in [`Engine.generate`].
            options: as in [`Engine.generate`], without beams, also for a model that is saved with them.

        Raises:
            TypeError: As in [`Engine.generate`].
            ValueError: As in [`Engine.generate`], or with beams; while it is read, if the output needs more positions
                than the model has learned.
        """
        generator = self._generator(keep_letters)
        search = self._search_options({"num_beams": 1, "num_return_sequences": 1} | options)
        list_of_texts([text])  # raises if it is not a text
        (of_text,) = self._tag_ids(None if tags is None else [tags], 1)
        windows = [TextWindow(text, "")]
        if self._reads_sources:
            windows = cut_text(text, self._window_length and self._window_length - 1, self._characters)
        encoded = self._encode([part for part, gap in windows])
        inputs = [self._inputs([of_text + ids], search, keep_letters) for ids in encoded]
        first = stream_tokens(generator.begin(), inputs[0][0])  # refuses beams now, not when it is first asked
        found = chain([first], (stream_tokens(generator.begin(), each) for each, _ in inputs[1:]))

        def limited(token_ids: Iterator[int], limit: int, wanted: int) -> Iterator[int]:
            count = 0
            for token_id in token_ids:
                count += 1
                yield token_id
            if count == limit < wanted:
                raise self._lacks_positions()

        def stream_windows() -> Iterator[str]:
            for (part, gap), token_ids, (each, wanted) in zip(windows, found, inputs):
                if part or not self._reads_sources:
                    yield from self.tokenizer.stream(limited(token_ids, each.limits.item(), wanted.item()))
                yield from gap

        return stream_windows()

    def predict(self, texts: Texts, text_pairs: Texts | None = None) -> list[dict[str, np.ndarray]]:
        """Return the outputs of the model's head for each text: scores, or vectors.

        Args:
            texts: texts, as in [`Engine.generate`].
            text_pairs: the second text of each, for models of pairs.

        Returns:
            For each text, arrays by the names that the model gives its outputs, such as `logits` or
            `last_hidden_state`: (length, …) if there is one for each token, special tokens included, or one for the
            text.

        Raises:
            TypeError: If an input is not a text.
            ValueError: If the model generates instead, has no segments for pairs or its outputs are not finite, or a
                text has a lone surrogate or is longer than the positions that the model has learned.
        """
        if not isinstance(self._model, Head):
            raise ValueError(f"{class_of(self.config)} generates text and has no other outputs; use `generate`.")
        firsts = list_of_texts(texts)
        seconds = None if text_pairs is None else list_of_texts(text_pairs, "text_pairs")
        if seconds is not None and self.config.get("type_vocab_size") == 1:
            raise ValueError("The model has type_vocab_size=1, no segment for a second text; expected none.")
        encoded = self._encode(firsts, seconds)
        in_order = iter(sorted(range(len(encoded)), key=lambda index: len(encoded[index]), reverse=True))
        batches = [[first, *islice(in_order, max(0, _BATCH_TOKENS // len(encoded[first]) - 1))] for first in in_order]
        found: list[dict[str, np.ndarray]] = [{}] * len(encoded)

        def run_batch(numbers: list[int]) -> None:
            pairs = None if seconds is None else [seconds[number] for number in numbers]
            inputs = self.tokenizer.inputs([firsts[number] for number in numbers], pairs)
            for name, values in self._model.run(inputs).items():
                of_tokens = values.ndim == 3 or name in ("start_logits", "end_logits")
                for number, mask, value in zip(numbers, inputs["attention_mask"], values):
                    found[number] = found[number] | {name: value[mask == 1] if of_tokens else value}
                    check_outputs(found[number][name])

        self._side_by_side(run_batch, batches)
        return found

    def _side_by_side(self, work: Callable[[list[int]], None], batches: Sequence[list[int]]) -> None:
        """Do the work of each batch, given by the numbers of its texts, several at once."""
        if len(batches) == 1:
            return work(batches[0])
        with ThreadPoolExecutor(self._threads) as pool, progress(len(batches), "batch") as count:
            for _ in pool.map(work, batches):
                count(1)

    @cached_property
    def _base_letters(self) -> list[int]:
        return number_base_letters(self.tokenizer.tokens)

    def _encode(self, texts: Sequence[str], text_pairs: Sequence[str] | None = None) -> list[list[int]]:
        """Return the ids of texts, none of them longer than the positions that the model has learned."""
        encoded = self.tokenizer.encode(texts, text_pairs)
        if self._longest is not None and (length := max(map(len, encoded), default=0)) > self._longest:
            raise ValueError(
                f"A text has {length} tokens; expected at most the {self._longest} positions that this model has "
                "learned (max_position_embeddings). Shorten it."
            )
        return encoded

    def _tag_ids(self, tags: Sequence[Sequence[str]] | None, count: int) -> list[list[int]]:
        if tags is None:
            return [[] for _ in range(count)]
        known = self.tokenizer.tags
        if isinstance(tags, str) or len(tags) != count or any(isinstance(each, str) for each in tags):
            example = [*islice(known, 2)]
            expected = f"one such list for each of {count} texts" if count > 1 else "for one text"
            raise ValueError(f"tags={tags!r:.80}; expected a list of tags, such as {example}, {expected}.")
        if unknown := [tag for of_text in tags for tag in of_text if not isinstance(tag, str) or tag not in known]:
            expected = f"some of {', '.join(known):.200}" if known else "none, because this model has no tags"
            raise ValueError(f"Found the tag {unknown[0]!r}; expected {expected}.")
        return [[known[tag] for tag in of_text] for of_text in tags]

    def _generator(self, keep_letters: bool) -> Generator:
        if not isinstance(self._model, Generator):
            raise ValueError(f"{class_of(self.config)} does not generate text; use `predict`.")
        if not isinstance(keep_letters, bool):
            raise ValueError(f"keep_letters={keep_letters!r:.60}; expected True or False.")
        if keep_letters and not self._reads_sources:
            raise ValueError(
                f"keep_letters=True needs a source whose letters to keep, and {class_of(self.config)} continues "
                "prompts; leave it out."
            )
        return self._model

    def _search_options(self, options: Mapping[str, Any]) -> SearchOptions:
        saved = {"eos_token_id": self.tokenizer.eos_token_id} | dict(self._generation_config)
        return SearchOptions.from_saved(saved, **options)

    def _inputs(
        self, encoded: Sequence[Sequence[int]], search: SearchOptions, keep_letters: bool
    ) -> tuple[SearchInputs, np.ndarray]:
        """Return the inputs of a search over some texts, and the limits that the positions of the model may lower.

        A text that has ended would otherwise be read on beside others, beyond what the model has learned.
        """
        input_ids, attention_mask = self.tokenizer.pad(encoded, "right" if self._reads_sources else "left")
        limits = search.new_token_limits([1 if self._reads_sources else len(ids) for ids in encoded])
        lock = None
        if keep_letters:
            lock = LetterLock(self._base_letters, self.tokenizer.special_ids, self.tokenizer.eos_token_id, input_ids)
            limits = np.maximum(limits, lock.lengths)
        wanted = limits
        if self._longest is not None:
            read = 1 if self._reads_sources else attention_mask.sum(-1)
            limits = np.minimum(limits, self._longest + 1 - read)
        return SearchInputs(input_ids, attention_mask, search, limits, lock), wanted

    def _lacks_positions(self) -> ValueError:
        return ValueError(
            f"An output needs more than the {self._longest} positions that this model has learned "
            "(max_position_embeddings). Shorten the text, or lower max_new_tokens."
        )


def load_engine(
    folder: str | os.PathLike,
    engine: EngineName = "auto",
    *,
    quantization: Quantization | None = None,
    threads: int | None = None,
) -> Engine:
    """Load a saved model with its tokenizer into an engine.

    Args:
        folder: folder of a saved model; or its name on the Hub; for onnxruntime, with the files of `atenta export`.
        engine: `"onnx"`, `"torch"`, or `"auto"`: onnxruntime if it is installed and has its files, else torch.
        quantization: `"int8"` for the ONNX files that were exported so; by default those in float32, if there are any.
        threads: number of threads. In onnxruntime, each generates for some of the texts; by default, as many as the
            process has cores. In torch, they share each product; by default, its own setting.

    Raises:
        FileNotFoundError: If there is no such folder, or it has no model, no tokenizer or, with `"onnx"`, no ONNX
            files.
        ImportError: If the engine is not installed.
        ValueError: If the engine is unknown, `threads` is below 1, or a file is damaged or of another version.
    """
    if threads is not None and not is_whole(threads, 1):
        raise ValueError(f"threads={threads!r:.60}; expected 1 or more.")
    folder = find_model(folder)
    config = read_config(folder)
    if not is_ours(config):
        raise ValueError(
            f"{folder}/config.json: model_type is {config.get('model_type')!r:.60}; expected one of atenta."
        )
    generation_config = read_generation_config(folder)
    check_saved_options(generation_config, config, str(folder))
    tokenizer = TextIds(folder)
    tokenizer.check_model(config)
    model: Head | Generator
    name, quantization = choose_engine(folder, engine, quantization)
    match name:
        case "onnx":
            files = folder / ONNX_FOLDER
            is_head = (files / file_name("model", quantization)).is_file()
            model = OnnxHead(files, quantization) if is_head else OnnxGenerator(files, config, quantization)
            batches_at_once = threads or count_cores()
        case "torch":
            import torch

            from .torch_models import TorchGenerator, TorchHead, load_model

            if threads is not None:
                torch.set_num_threads(threads)
            loaded = load_model(folder)
            model = TorchGenerator(loaded) if loaded.can_generate() else TorchHead(loaded)
            batches_at_once = 1
        case _:
            assert_never(name)
    return Engine(name, model, tokenizer, config, generation_config, batches_at_once)
