"""A pipeline of transformers from text to text, for encoder-decoders of this package and of others.

transformers 5 has dropped its own. It is saved with the models of this package, and runs without the package.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from transformers import LogitsProcessor, LogitsProcessorList, PreTrainedModel, PreTrainedTokenizerBase

from ..generation_options import default_length, end_ids
from ..tokenization.text_checks import check_outputs
from ..tokenization.text_windows import (
    GeneratedText,
    batches_of_similar_length,
    find_problems,
    generate_windows,
    join_windows,
    name_source,
    possible_outputs,
)
from .saved_pipeline import SavedPipeline

_WINDOWS_AT_ONCE = 16  # of one text


class TextToTextPipeline(SavedPipeline):
    """The pipeline `text2text-generation`: the texts that an encoder-decoder generates for a text.

    Its results are those of transformers 4. A text gives `[{"generated_text": …}]`; a list of texts gives a list of
    such dictionaries or, with `num_return_sequences` above 1, of lists of them, best first.

    Texts longer than the model's `window_length` are cut into windows, at the ends of sentences or words, and the
    outputs joined. Only models of this package have one, noted in training; those of others read each text at once.
    An empty text gives one empty text, even if several outputs are asked for.

    Options, of the call or the pipeline:

    - those of `generate`, such as `num_beams`, `num_return_sequences`, `do_sample` and `max_new_tokens`. The defaults
      are saved with the model; where it has no length, `max_new_tokens` is 256.
    - `return_scores`: adds `score`, Σ log p(token | source, previous tokens) / length ** `length_penalty`, in nats.
      The length is the number of tokens, `<eos>` included; the default penalty is 1. The score of a text in windows
      is their mean, weighted by their characters.
    - `keep_letters`: whether the letters of the source stay, and only their accents may change.
    - `truncation`: as for the tokenizer, for models of others that read a limited number of tokens, such as BART.
      Without it, longer texts are refused.
    - `batch_size`: number of texts that are generated together.

    For a model that was trained with feature tags they follow the text after a tab: `"ser\\tV;1;SG"`. The `prefix` of
    a configuration (T5) comes before each text.

    Warns:
        UserWarning: If an output was cut off at the largest length or has a length that training makes implausible, or
            a text has characters that training did not have.

    Example:

    ```python
    >>> from transformers import pipeline

    >>> restore = pipeline("text2text-generation", "outputs/accents", trust_remote_code=True)
    >>> restore("A acao comecou amanha")[0]["generated_text"]
    'A ação começou amanhã'
    ```
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.model.can_generate() or not self.model.config.is_encoder_decoder:
            raise ValueError(
                f"{type(self.model).__name__} is not an encoder-decoder that generates, as the pipeline {self.task!r} "
                "expects: load one with AutoModelForSeq2SeqLM."
            )
        first = getattr(self.model, "members", [self.model])[0]  # an ensemble reads as its first member does
        config, is_ours = first.config, hasattr(first, "letter_lock")
        self._window_length = getattr(config, "window_length", None)
        self._length_ratios = getattr(config, "length_ratios", None)
        # Models of others fail at positions that they do not have; ours say so themselves.
        self._longest_source = None if is_ours else getattr(config, "max_position_embeddings", None)
        self._prefix = getattr(config, "prefix", None) or ""
        # Only in our tokenizers is each character of training a token.
        self._characters = self.tokenizer.get_vocab().keys() if is_ours else None
        named = {str(token) for token in self.tokenizer.special_tokens_map.values() if not isinstance(token, list)}
        tags = [token for token in self.tokenizer.all_special_tokens if token not in named] if is_ours else []
        self.tags = dict(zip([tag[1:-1] for tag in tags], self.tokenizer.convert_tokens_to_ids(tags)))

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Generate texts; the class says what the options are and what is returned.

        Raises:
            TypeError: If an input is not a text.
            ValueError: If an option is not possible with this model, a tag is unknown to it, or a text is too long.
        """
        results = super().__call__(inputs, *args, **kwargs)
        options = self._forward_params | kwargs
        saved = options.get("generation_config") or self.model.generation_config
        each = options.get("num_return_sequences") or saved.num_return_sequences or 1
        if isinstance(results, list) and not isinstance(inputs, str) and each == 1:
            return [outputs[0] for outputs in results]
        return results

    # transformers declares these methods with any options, and lists fewer types than it accepts.
    def _sanitize_parameters(  # type: ignore[override]
        self,
        return_scores: bool | None = None,
        truncation: bool | str | None = None,
        keep_letters: bool | None = None,
        **generate_kwargs: Any,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        for name in ("return_tensors", "return_text", "return_type", "clean_up_tokenization_spaces"):
            if generate_kwargs.get(name):
                raise ValueError(f"{name}={generate_kwargs[name]!r} is no option here: the outputs are texts.")
            generate_kwargs.pop(name, None)
        if not isinstance(keep_letters, bool | None):
            raise ValueError(f"keep_letters={keep_letters!r:.60}; expected True or False.")
        if keep_letters and not hasattr(self.model, "letter_lock"):
            raise ValueError(f"keep_letters=True needs a model of atenta; {type(self.model).__name__} is none.")
        given = {"truncation": truncation, "keep_letters": keep_letters, "return_scores": return_scores}
        forward = {name: value for name, value in given.items() if value is not None} | generate_kwargs
        return {}, forward, {} if return_scores is None else {"return_scores": return_scores}

    def _forward(  # type: ignore[override]
        self,
        model_inputs: Mapping[str, Any],
        truncation: bool | str = False,
        keep_letters: bool = False,
        return_scores: bool = False,
        **generate_kwargs: Any,
    ) -> dict[str, Any]:
        given = model_inputs["text"]  # a list, if they are a batch
        texts = [given] if isinstance(given, str) else given
        sources, tags = zip(*map(self._part_tags, texts))

        def generate(indices: list[int], parts: list[str]) -> list[list[GeneratedText]]:
            encoded = self._encode([self._prefix + part for part in parts], truncation)
            encoded = [tags[index] + ids for index, ids in zip(indices, encoded)]
            outputs: list[list[GeneratedText]] = [[]] * len(encoded)
            for numbers in batches_of_similar_length(encoded, max(len(texts), _WINDOWS_AT_ONCE)):
                ids = {"input_ids": [encoded[number] for number in numbers]}
                batch = self.tokenizer.pad(ids, return_tensors="pt").to(self.device)
                options = {"output_scores": return_scores or keep_letters, **generate_kwargs}
                found = generate_batch(self.model, self.tokenizer, batch, keep_letters=keep_letters, **options)
                for number, ranked in zip(numbers, found):
                    outputs[number] = ranked
            return outputs

        rows = []
        cut = generate_windows(sources, self._window_length, self._characters, generate)
        for text, (windows, outputs) in zip(texts, cut):
            for problem in find_problems(windows, outputs, self._characters, self._length_ratios, keep_letters):
                warnings.warn(f"{name_source(text)}: {problem}", stacklevel=2)
            joined = join_windows(windows, outputs)
            rows.append([{"generated_text": each.text, "score": each.score} for each in joined])
        return {"outputs": rows[0] if isinstance(given, str) else rows}

    def postprocess(  # type: ignore[override]
        self, model_outputs: Mapping[str, Any], return_scores: bool = False
    ) -> list[dict[str, Any]]:
        """Return `generated_text` and, on request, `score` of each output."""
        names = ("generated_text", "score") if return_scores else ("generated_text",)
        return [{name: each[name] for name in names} for each in model_outputs["outputs"]]

    def _part_tags(self, text: str) -> tuple[str, list[int]]:
        """Return the source of a text, and the ids of its feature tags."""
        source, features = text.rsplit("\t", 1) if self.tags and "\t" in text else (text, "")
        tags = [feature for feature in features.split(";") if feature]
        if unknown := [tag for tag in tags if tag not in self.tags]:
            raise ValueError(f"Found tag {unknown[0]!r} in {text!r:.80}; expected {', '.join(self.tags):.200}")
        return source, [self.tags[tag] for tag in tags]

    def _encode(self, texts: Sequence[str], truncation: bool | str) -> list[list[int]]:
        """Return the ids of texts; a text that the model cannot read whole is cut or refused."""
        limit = self._longest_source
        shorter = (
            {} if limit is None or not truncation else {"max_length": min(limit, self.tokenizer.model_max_length)}
        )
        encoded = self.tokenizer(list(texts), truncation=truncation, **shorter).input_ids
        for text, ids in zip(texts, encoded):
            if limit is not None and len(ids) > limit:
                raise ValueError(
                    f"{name_source(text)} has {len(ids)} tokens, and {type(self.model).__name__} reads {limit} at "
                    "most: give it in parts, or cut it with truncation=True."
                )
        return encoded


class _FiniteScores(LogitsProcessor):
    """Refuses scores that are not finite, of which `generate` would make a text."""

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """Return the scores, (outputs, vocab_size), as they are."""
        check_outputs(scores.amax(-1).float().cpu().numpy())
        return scores


def generate_batch(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    batch: Mapping[str, torch.Tensor],
    *,
    keep_letters: bool = False,
    **options: Any,
) -> list[list[GeneratedText]]:
    """Return the outputs of `generate` for a batch of sources, best first.

    Args:
        model: an encoder-decoder.
        tokenizer: its tokenizer.
        batch: `input_ids` and `attention_mask`, (sources, length) each.
        keep_letters: whether an output must have the letters of its source.
        options: those of `generate`. Without `output_scores`, only beam search has scores, and others are 0.
    """
    saved = options.get("generation_config") or model.generation_config
    penalty = options.get("length_penalty", saved.length_penalty)
    penalty = 1 if penalty is None else penalty
    processors = [_FiniteScores(), *(options.pop("logits_processor", None) or ())]
    if keep_letters:  # which decide how long an output is
        processors += model.letter_lock(tokenizer, batch["input_ids"])
        options |= {"max_length": None, "max_new_tokens": batch["input_ids"].shape[1]}
    elif options.get("max_new_tokens") is not None:
        options.setdefault("max_length", None)  # or transformers warns that both are set
    elif not {"max_length", "max_new_tokens", "generation_config"} & options.keys():
        options |= default_length(saved.to_diff_dict())
    options = {"return_dict_in_generate": True, **options}
    output = model.generate(**batch, logits_processor=LogitsProcessorList(processors), **options)
    ids = output.sequences[:, 1:]  # without the token that every output starts with
    ends = torch.isin(ids, torch.tensor(end_ids(options.get("eos_token_id", saved.eos_token_id)), device=ids.device))
    # Beam search may pad with <eos>: what follows the first one is not part of the output.
    is_token = (ends.cumsum(-1) - ends.long() == 0) & (ids != tokenizer.pad_token_id)
    if "sequences_scores" in output:  # of beam search
        scores = output.sequences_scores
    elif "scores" in output:
        gains = model.compute_transition_scores(output.sequences, output.scores, normalize_logits=True)
        total = gains.masked_fill(~is_token[:, -gains.shape[1] :], 0).sum(-1)
        scores = total / is_token.sum(-1).clamp(min=1) ** penalty
    else:
        scores = torch.zeros(len(ids))
    written = ids.masked_fill(ends, tokenizer.pad_token_id)  # what ends an output may be a character
    texts = tokenizer.batch_decode(written, skip_special_tokens=True)
    lengths = is_token.sum(-1).tolist()
    found = list(map(GeneratedText, texts, scores.tolist(), ends.any(-1).tolist(), lengths))
    each = len(found) // len(batch["input_ids"])
    return [possible_outputs(found[start : start + each], penalty) for start in range(0, len(found), each)]
